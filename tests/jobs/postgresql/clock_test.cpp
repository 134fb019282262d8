// The clock of the database is set, or a standby with another clock takes over.
#include <gtest/gtest.h>

#include <string>

#include <foliot/jobs/calls.hpp>
#include <foliot/jobs/postgresql_store.hpp>

#include "database.hpp"
#include "jobs/kit/jobs.hpp"

namespace foliot::jobs {
namespace {

using namespace std::chrono_literals;
using holder = holder_answer::kind;

class PostgresqlClock : public foliot_test::postgresql_database {
 protected:
  /// The clock of the database shows this much more than the system's.
  void set(const std::string& offset) {
    const std::string now = "extract(epoch FROM now() + interval '" + offset + "')";
    sql("CREATE OR REPLACE FUNCTION foliot.time_of(given bigint[]) RETURNS bigint[] LANGUAGE sql STABLE AS $$ SELECT "
        "coalesce("
        "given, ARRAY[floor(" +
        now + " * 1000), ceil(" + now + " * 1000), " + now + " * 1000000000]::bigint[]) $$");
  }
  claimed_job put_and_claim() {
    foliot_test::put_one(store_);
    return foliot_test::claim_one(store_);
  }

  postgresql_store store_{options("one")};
};

// The holder is refused before its TTR is over, and nobody else gets the job until it is.
TEST_F(PostgresqlClock, AStepForwardEndsReservationsButGivesThemToNobody) {
  const claimed_job mine = put_and_claim();
  set("2 h");
  EXPECT_EQ(execute_one(store_, finish{mine.token}).what, holder::not_held);
  EXPECT_TRUE(execute_one(store_, claim{.tubes = {"a"}}).jobs.empty());
  set("0");  // and back
  EXPECT_EQ(execute_one(store_, finish{mine.token}).what, holder::done);
}

TEST_F(PostgresqlClock, AStepBackKeepsReservationsAndReadyJobs) {
  const claimed_job mine = put_and_claim();
  execute_one(store_, put{.tube = "a", .body = "ready"});
  execute_one(store_, put{.tube = "b", .body = "delayed", .due = 1h});
  set("-2 h");
  EXPECT_EQ(execute_one(store_, claim{.tubes = {"a"}}).jobs.size(), 1U);
  EXPECT_EQ(execute_one(store_, finish{mine.token}).what, holder::done);
  set("-1 min");
  EXPECT_TRUE(execute_one(store_, claim{.tubes = {"b"}}).jobs.empty());
  set("2 h");
  store_.execute({});
  EXPECT_EQ(execute_one(store_, claim{.tubes = {"b"}}).jobs.size(), 1U);
}

// What a node has left in the future would keep it alive until then.
TEST_F(PostgresqlClock, ANodeThatDiesAfterAStepBackIsNoticed) {
  postgresql_store other(options("two"));
  const auto send_heartbeat = [this](const char* node) {
    return sql(std::string("SELECT foliot.beat((SELECT session FROM foliot.node WHERE name = '") + node +
               "'), 0, 0, NULL)");
  };
  execute_one(other, put{.tube = "a", .body = "x", .ttr = 24h});
  ASSERT_EQ(execute_one(other, claim{.tubes = {"a"}}).jobs.size(), 1U);
  set("10 h");
  send_heartbeat("one");
  send_heartbeat("two");
  set("0");
  std::string ended = "f";
  for (int minutes = 0; minutes <= 160 && ended == "f"; minutes += 20) {  // the timeout is an hour
    set(std::to_string(minutes) + " min");
    ended = send_heartbeat("one");
  }
  EXPECT_EQ(ended, "t");
  EXPECT_EQ(sql("SELECT count(*) FROM foliot.ready"), "1");
}

}  // namespace
}  // namespace foliot::jobs
