// A move that was killed while jobs were on their way: whatever is asked of them gets the truth, or is to be asked
// again.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <foliot/jobs/calls.hpp>
#include <foliot/jobs/database_map.hpp>
#include <foliot/jobs/postgresql_store.hpp>

#include "connection.hpp"
#include "two_databases.hpp"

namespace foliot::jobs {
namespace {

using namespace std::chrono_literals;
using foliot_test::postgresql_connection;

/// The job with the key "k" of the tube "t" is on its way from the first database to the second one.
class PostgresqlMapKilled : public foliot_test::two_databases {
 protected:
  void SetUp() override {
    database_map(first_).add(second_);
    job_ = execute_one(*node_, keyed(on_existing::keep)).id;
    over_first_.sql("SELECT foliot.plan_move('t', 1::smallint)");
    const std::string above = over_first_.sql("SELECT foliot.leave('t')");
    over_second_.sql("SELECT foliot.join('t', " + above + ")");
    piece_ = over_first_.sql("SELECT s.piece FROM foliot.send_piece('t', 256, 1000000) s");
  }
  /// The next step of the move, after which it was killed.
  void arrive() {
    const auto sent = [&](const std::string& column) {
      return "(" + over_first_.sql("SELECT quote_literal(s." + column + ") FROM foliot.sent_piece() s") + ")";
    };
    over_second_.sql("SELECT foliot.take_piece(0, " + piece_ + ", 't', ARRAY[" + sent("key") + "]::bytea[], ARRAY[" +
                     sent("body") + "]::bytea[], " + sent("numbers") + ")");
  }
  static put keyed(on_existing existing) { return {.tube = "t", .key = "k", .body = "x", .existing = existing}; }
  std::optional<job> peek_at(job_name name) { return execute_one(*node_, peek{std::move(name)}).job; }
  void expect_puts_to_be_passed_over() {
    for (const on_existing each : {on_existing::keep, on_existing::replace, on_existing::refuse}) {
      EXPECT_THROW(execute_one(*node_, keyed(each)), store_unavailable);
    }
  }

  postgresql_connection over_first_{first_};
  postgresql_connection over_second_{second_};
  const std::unique_ptr<postgresql_store> node_ = open("a", 5s);
  const job_key key_{"t", "k"};
  job_id job_ = 0;
  std::string piece_;
};

TEST_F(PostgresqlMapKilled, AJobThatIsInNeitherDatabaseIsToBeAskedForAgain) {
  expect_puts_to_be_passed_over();
  EXPECT_THROW(peek_at(job_), store_unavailable);
  EXPECT_THROW(peek_at(key_), store_unavailable);
  EXPECT_THROW(execute_one(*node_, cancel{key_}), store_unavailable);
  EXPECT_TRUE(execute_one(*node_, claim{{"t"}}).jobs.empty());
  database_map(first_).move("t", 1);
  EXPECT_EQ(execute_one(*node_, keyed(on_existing::keep)), (put_answer{put_answer::kind::kept, job_}));
  EXPECT_EQ(peek_at(key_)->id, job_);
}

TEST_F(PostgresqlMapKilled, AJobThatHasArrivedIsWhereItIs) {
  arrive();
  expect_puts_to_be_passed_over();
  EXPECT_EQ(peek_at(job_)->state, job_state::ready);
  const auto got = execute_one(*node_, claim{{"t"}}).jobs;
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(peek_at(job_)->state, job_state::reserved);
  EXPECT_EQ(peek_at(key_)->state, job_state::reserved);
  EXPECT_EQ(execute_one(*node_, release{got[0].token}).what, holder_answer::kind::done);
  EXPECT_EQ(execute_one(*node_, cancel{key_}), (change_answer{change_answer::kind::done, job_}));
  database_map(first_).move("t", 1);
  EXPECT_EQ(peek_at(key_), std::nullopt);
}

TEST_F(PostgresqlMapKilled, AJobThatWasFinishedThereKeepsNoPut) {
  arrive();
  const auto got = execute_one(*node_, claim{{"t"}}).jobs;
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(execute_one(*node_, finish{got[0].token}).what, holder_answer::kind::done);
  expect_puts_to_be_passed_over();
  EXPECT_THROW(peek_at(job_), store_unavailable);
  EXPECT_THROW(peek_at(key_), store_unavailable);
  database_map(first_).move("t", 1);
  EXPECT_EQ(peek_at(job_), std::nullopt);
  EXPECT_EQ(execute_one(*node_, keyed(on_existing::keep)).what, put_answer::kind::inserted);
}

// As if another process moved that tube.
TEST_F(PostgresqlMapKilled, AnotherTubeWaitsForThePieceThatIsOnItsWay) {
  execute_one(*node_, put{.tube = "u", .body = "x"});
  int told = 0;
  database_map(first_).move("u", 1, [&](const database_map::progress& so_far) {
    if (++told == 2) {
      EXPECT_EQ(so_far.jobs, 0U);
      database_map(first_).move("t", 1);
    }
    return true;
  });
  EXPECT_EQ(execute_one(*node_, keyed(on_existing::keep)), (put_answer{put_answer::kind::kept, job_}));
  EXPECT_EQ(over_second_.sql("SELECT count(*) FROM foliot.ready"), "2");
}

TEST_F(PostgresqlMapKilled, AnotherTubeSaysWhichMoveItWaitsForInVain) {
  execute_one(*node_, put{.tube = "u", .body = "x"});
  try {
    database_map(first_).move("u", 1);
    ADD_FAILURE() << "the piece of the tube t has not moved";
  } catch (const store_failure& error) {
    EXPECT_NE(std::string(error.what()).find("jobs of the tube 't' have been on their way from"), std::string::npos)
        << error.what();
  }
}

TEST_F(PostgresqlMapKilled, AnApplicationIsToldThatTheTubeIsElsewhere) {
  for (const std::string arguments :
       {"'t', 'x', key => 'k'", "'t', 'x', key => 'k', existing => 'refuse'", "'t', 'x'"}) {
    const std::string error = over_first_.error_of(std::string("SELECT foliot.put(") + arguments + ")");
    EXPECT_NE(error.find("in another database"), std::string::npos) << arguments << ": " << error;
  }
  for (const std::string& call : {"cancel(" + std::to_string(job_) + ")", std::string("cancel_by_key('t', 'k')")}) {
    const std::string error = over_first_.error_of("SELECT foliot." + call);
    EXPECT_NE(error.find("on its way to another database: try again"), std::string::npos) << call << ": " << error;
  }
}

}  // namespace
}  // namespace foliot::jobs
