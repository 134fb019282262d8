// Batches that another transaction is in the way of: a node rolls them back, and executes them again over the same
// connection.
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <foliot/jobs/calls.hpp>
#include <foliot/jobs/postgresql_store.hpp>

#include "clock_node.hpp"
#include "connection.hpp"

namespace foliot::jobs {
namespace {

using namespace std::chrono_literals;
using foliot_test::postgresql_connection;

class PostgresqlConflict : public foliot_test::postgresql_clock_node {
 protected:
  /// From now on inserts into this table fail with this error, the first `times` times.
  void refuse_inserts(const std::string& table, const std::string& state, int times) {
    sql("CREATE SEQUENCE public.refused; GRANT USAGE ON SEQUENCE public.refused TO foliot_node");
    sql("CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "IF nextval('public.refused') <= " +
        std::to_string(times) + " THEN RAISE EXCEPTION 'in the way' USING ERRCODE = '" + state +
        "'; END IF; RETURN NEW; END $$");
    sql("CREATE TRIGGER refuse BEFORE INSERT ON " + table + " FOR EACH ROW EXECUTE FUNCTION public.refuse()");
  }
  std::string refused() { return sql("SELECT last_value FROM public.refused"); }
};

class PostgresqlConflictOf : public PostgresqlConflict, public ::testing::WithParamInterface<const char*> {};

// The first batch: what comes behind the put was not prepared before, and is not prepared by the attempt that fails.
TEST_P(PostgresqlConflictOf, ABatchIsExecutedAgainOverItsConnection) {
  refuse_inserts("foliot.job", GetParam(), 1);
  const std::string before = process();
  std::vector<operation> batch{put{.tube = "a", .body = "x", .ttr = 1h}, claim{{"a"}}, count_all{}, list_tubes{}};
  const execution done = (*node_).execute(batch);
  EXPECT_EQ(process(), before);
  EXPECT_EQ(refused(), "2") << "it was tried twice";
  EXPECT_EQ(std::get<put_answer>(done.answers.at(0)).what, put_answer::kind::inserted);
  const claim_answer& claimed = std::get<claim_answer>(done.answers.at(1));
  ASSERT_EQ(claimed.jobs.size(), 1U);
  EXPECT_EQ(claimed.jobs[0].job.counters.reserves, 1U);
  EXPECT_EQ(std::get<count_answer>(done.answers.at(2)).counts.reserved, 1U);
  EXPECT_EQ(execute_one(*node_, finish{claimed.jobs[0].token}).what, holder_answer::kind::done);
  EXPECT_EQ(process(), before);
  EXPECT_EQ(sql("SELECT count(*) FROM foliot.job"), "0");
}

// The answer to a commit is not here, so what has become of it is asked over another connection.
TEST_P(PostgresqlConflictOf, ACommitThatFailsIsLookedUpOverAnotherConnection) {
  sql("CREATE SEQUENCE public.refused; GRANT USAGE ON SEQUENCE public.refused TO foliot_node");
  sql("CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
      "IF nextval('public.refused') = 1 THEN RAISE EXCEPTION 'in the way' USING ERRCODE = '" +
      std::string(GetParam()) + "'; END IF; RETURN NULL; END $$");
  sql("CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON foliot.job DEFERRABLE INITIALLY DEFERRED FOR EACH ROW "
      "EXECUTE FUNCTION public.refuse()");
  const std::string before = process();
  execute_one(*node_, put{.tube = "a", .body = "x"});
  EXPECT_EQ(refused(), "2");
  EXPECT_NE(process(), before);
  EXPECT_EQ(execute_one(*node_, count_all{}).counts.ready, 1U);
}

INSTANTIATE_TEST_SUITE_P(EachState, PostgresqlConflictOf, ::testing::Values("55P03", "40P01", "40001"));

TEST_F(PostgresqlConflict, ManyInARowKeepTheConnection) {
  refuse_inserts("foliot.job", "40P01", 20);
  const std::string before = process();
  execute_one(*node_, put{.tube = "a", .body = "x"});
  EXPECT_EQ(refused(), "21");
  EXPECT_EQ(process(), before);
  EXPECT_EQ(execute_one(*node_, count_all{}).counts.ready, 1U);
}

// No error of a made-up kind: a lock that another transaction has.
TEST_F(PostgresqlConflict, ABatchPassesOverALockedJobOverItsConnection) {
  const job_id id = execute_one(*node_, put{.tube = "a", .body = "x"}).id;
  const std::string before = process();
  postgresql_connection shop(database_);
  shop.sql("BEGIN");
  shop.sql("SELECT FROM foliot.job WHERE id = " + std::to_string(id) + " FOR UPDATE");
  std::vector<operation> batch{cancel{id}};
  EXPECT_TRUE(std::holds_alternative<passed_over_answer>((*node_).execute(batch).answers.at(0)));
  EXPECT_EQ(process(), before);
  shop.sql("COMMIT");
  EXPECT_EQ(execute_one(*node_, cancel{id}).what, change_answer::kind::done);
}

TEST_F(PostgresqlConflict, AConnectionThatBreaksWhileItRollsBackIsMadeAgain) {
  refuse_inserts("foliot.job", "40P01", 1);
  const std::string before = process();
  node_.break_at({2});  // the statements were sent, then the rollback
  execute_one(*node_, put{.tube = "a", .body = "x"});
  EXPECT_NE(process(), before);
  EXPECT_EQ(execute_one(*node_, count_all{}).counts.ready, 1U);
}

/// The commit of a batch is in doubt, and the question whether it has happened meets a lock.
TEST_F(PostgresqlConflict, AQuestionIsAskedAgainOverItsConnection) {
  for (const int breaks_at : {2, 3}) {  // the commit is not sent; its answer is lost
    SCOPED_TRACE(breaks_at);
    std::optional<postgresql_connection> locking(database_);
    std::string asking;
    node_.break_at({breaks_at});
    node_.at_exchange = [&](int number) {
      if (number == 3) {  // the server ends the transaction, whether by its commit or not
        locking->sql("BEGIN");
        locking->sql("LOCK TABLE foliot.batch IN EXCLUSIVE MODE");
      } else if (number == 4) {  // the node has connected again
        asking = process();
      } else if (number == 6) {  // it has asked in vain, and rolls back
        locking.reset();
      }
    };
    execute_one(*node_, put{.tube = "a", .body = "body " + std::to_string(breaks_at)});
    node_.at_exchange = {};
    EXPECT_FALSE(locking.has_value());
    EXPECT_EQ(process(), asking);
    EXPECT_EQ(sql("SELECT count(*) FROM foliot.job WHERE body = 'body " + std::to_string(breaks_at) + "'::bytea"), "1");
  }
}

}  // namespace
}  // namespace foliot::jobs
