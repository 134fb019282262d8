// Puts of which all happen or none, over PostgreSQL: what refuses one of them after others were put, and several
// databases.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <variant>
#include <vector>

#include <foliot/jobs/calls.hpp>
#include <foliot/jobs/database_map.hpp>
#include <foliot/jobs/postgresql_store.hpp>

#include "clock_node.hpp"
#include "connection.hpp"
#include "two_databases.hpp"

namespace foliot::jobs {
namespace {

using namespace std::chrono_literals;
using foliot_test::postgresql_connection;
using kind = put_all_answer::kind;

put plain(const std::string& body) { return {.tube = "a", .body = body}; }
put keyed(on_existing existing) { return {.tube = "a", .key = "k", .body = "x", .existing = existing}; }

class PostgresqlPutAll : public foliot_test::postgresql_clock_node {
 protected:
  PostgresqlPutAll() : postgresql_clock_node(2s) {}
  std::string rows() { return sql("SELECT count(*) FROM foliot.job"); }
};

// What was before it in its batch has happened, and its refusal is true after that.
TEST_F(PostgresqlPutAll, ARefusalRollsBackItsOwnPutsAlone) {
  const std::string before = process();
  std::vector<operation> batch{keyed(on_existing::keep), put_all{{plain("no"), keyed(on_existing::refuse)}},
                               cancel{job_key{"a", "k"}}, put_all{{plain("1"), keyed(on_existing::refuse)}},
                               plain("2")};
  const execution done = (*node_).execute(batch);
  ASSERT_EQ(done.answers.size(), batch.size());
  const job_id first = std::get<put_answer>(done.answers[0]).id;
  const auto& refused = std::get<put_all_answer>(done.answers[1]);
  EXPECT_EQ(refused.what, kind::refused);
  EXPECT_EQ(refused.place, 1U);
  EXPECT_EQ(refused.why, (put_answer{put_answer::kind::exists, first}));
  EXPECT_EQ(std::get<change_answer>(done.answers[2]), (change_answer{change_answer::kind::done, first}));
  EXPECT_EQ(std::get<put_all_answer>(done.answers[3]).what, kind::done);
  EXPECT_EQ(done.ready_tubes, std::vector<std::string>{"a"});
  EXPECT_EQ(rows(), "3");
  EXPECT_EQ(process(), before) << "the connection is as good as before";
  expect_right();
}

TEST_F(PostgresqlPutAll, NoneIsPutWhereThereIsNoRoomForOne) {
  sql("CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.body = 'big' THEN "
      "RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END IF; RETURN NEW; END $$");
  sql("CREATE TRIGGER refuse BEFORE INSERT ON foliot.job FOR EACH ROW EXECUTE FUNCTION public.refuse()");
  for (int round = 0; round < 2; ++round) {  // the second one finds that new jobs are refused
    std::vector<operation> batch{put_all{{plain("small"), plain("big"), plain("small")}}, plain("alone")};
    const execution done = (*node_).execute(batch);
    const auto& refused = std::get<put_all_answer>(done.answers.at(0));
    EXPECT_EQ(refused.what, kind::refused);
    EXPECT_EQ(refused.why, put_answer{put_answer::kind::no_space});
    EXPECT_EQ(std::get<put_answer>(done.answers.at(1)), put_answer{put_answer::kind::no_space});
  }
  EXPECT_EQ(rows(), "0");
  expect_right();
}

TEST_F(PostgresqlPutAll, NoneIsPutWhereOneWaitsForALock) {
  const job_id id = execute_one(*node_, keyed(on_existing::keep)).id;
  postgresql_connection shop(database_);
  shop.sql("BEGIN");
  shop.sql("SELECT FROM foliot.job WHERE id = " + std::to_string(id) + " FOR UPDATE");
  std::vector<operation> batch{put_all{{plain("no"), keyed(on_existing::replace)}}, plain("yes")};
  const execution done = (*node_).execute(batch);
  EXPECT_TRUE(std::holds_alternative<passed_over_answer>(done.answers.at(0)));
  EXPECT_EQ(std::get<put_answer>(done.answers.at(1)).what, put_answer::kind::inserted);
  EXPECT_EQ(rows(), "2");
  shop.sql("COMMIT");
  const put_all_answer later = execute_one(*node_, put_all{{plain("yes"), keyed(on_existing::replace)}});
  ASSERT_EQ(later.what, kind::done);
  EXPECT_EQ(later.puts.at(1).what, put_answer::kind::replaced);
  EXPECT_EQ(rows(), "3");
  expect_right();
}

TEST_F(PostgresqlPutAll, AConnectionThatBreaksWhileItRollsBackIsMadeAgain) {
  const job_id id = execute_one(*node_, keyed(on_existing::keep)).id;
  const std::string before = process();
  node_.break_at({2});  // the statements were sent, then the rollback
  const put_all_answer done = execute_one(*node_, put_all{{plain("no"), keyed(on_existing::refuse)}});
  EXPECT_EQ(done.what, kind::refused);
  EXPECT_EQ(done.why, (put_answer{put_answer::kind::exists, id}));
  EXPECT_NE(process(), before);
  EXPECT_EQ(rows(), "1");
}

class PostgresqlPutAllOverTwo : public foliot_test::two_databases {
 protected:
  static put there_without_key() { return {.tube = "there", .body = "x"}; }
};

TEST_F(PostgresqlPutAllOverTwo, TubesInBothAreRefusedWithTheirNames) {
  const auto node = open("a");
  const auto old = open("b");
  database_map map(first_);
  map.add(second_);
  map.move("there", 1);
  const put here{.tube = "here", .body = "x"};
  const put there{.tube = "there", .key = "k", .body = "x"};
  put_all_answer several{kind::several_databases};
  several.tubes = {{"here"}, {"there"}};
  static_cast<void>(execute_one(*node, count_all{}));  // shows that the map has changed
  EXPECT_EQ(execute_one(*node, put_all{{there, here, here}}), several);
  EXPECT_EQ(execute_one(*node, count_all{}).counts.all(), 0U);
  const put_all_answer done = execute_one(*node, put_all{{there, there_without_key()}});
  ASSERT_EQ(done.what, kind::done);
  EXPECT_EQ(done.puts.at(0).id % 64, 1U);
  EXPECT_EQ(done.puts.at(1).id % 64, 1U);

  // A node with an old map puts both where they are, or is told that they are apart.
  map.move("here", 1);
  EXPECT_EQ(execute_one(*node, put_all{{here, there_without_key()}}).what, kind::done);
  EXPECT_EQ(execute_one(*old, put_all{{here, there_without_key()}}).what, kind::done);
  EXPECT_EQ(ask(first_, "SELECT count(*) FROM foliot.job"), "0");
  EXPECT_EQ(ask(second_, "SELECT count(*) FROM foliot.job"), "6");
  const check_result right = node->check();
  EXPECT_TRUE(right) << right.error();
}

}  // namespace
}  // namespace foliot::jobs
