// Beside a transaction that stays open, what looks for delayed and buried jobs does not walk over all those that have
// gone.
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include <foliot/jobs/calls.hpp>
#include <foliot/jobs/postgresql_store.hpp>

#include "connection.hpp"
#include "jobs/postgresql/statements.hpp"
#include "one_node.hpp"

namespace foliot::jobs {
namespace {

using namespace std::chrono_literals;
using foliot_test::postgresql_connection;

class PostgresqlGone : public foliot_test::postgresql_one_node {
 protected:
  PostgresqlGone() {
    pin_.sql("BEGIN ISOLATION LEVEL REPEATABLE READ");
    pin_.sql("SELECT 1");                                             // from now on PostgreSQL keeps all rows that go
    other_.sql("SELECT pg_advisory_lock(1718578282::bigint << 32)");  // the node takes no turn meanwhile
    other_.sql(foliot_test::plans_of_nodes);
    other_.sql("SET plan_cache_mode = force_generic_plan");
  }

  /// How many entries of gone rows this call meets in the lasting partition, in the order of the delayed jobs of a
  /// tube.
  int met_by(const std::string& call) {
    const std::string met = "SELECT foliot.gone_met_in('foliot.delayed_9_tube_due_id_idx')";
    other_.sql("BEGIN");
    const int before = std::stoi(other_.sql(met));
    EXPECT_NE(other_.sql("SELECT foliot." + call), "NULL");
    const int after = std::stoi(other_.sql(met));
    other_.sql("ROLLBACK");
    return after - before;
  }

  postgresql_connection pin_{database_};
};

/// To its snapshot, a job that has gone on meanwhile would be nowhere.
TEST_F(PostgresqlGone, WhatACheckLooksAtIsNotTruncated) {
  postgresql_connection check(database_);
  check.sql("BEGIN ISOLATION LEVEL REPEATABLE READ");
  check.sql(detail::statements::keep_partitions.text);
  other_.sql("SET lock_timeout = '50ms'");
  for (const std::string each : {"job_0", "ready_0", "ready_9", "delayed_0", "delayed_9", "reserved_0", "buried"}) {
    EXPECT_EQ(other_.sql("SELECT foliot.clear_part('foliot." + each + "')"), "NULL") << each;
  }
}

TEST_F(PostgresqlGone, BuriedJobsLeaveNothingBehind) {
  execute_one(*node_, put{.tube = "a", .body = "x"});
  const claimed_job mine = execute_one(*node_, claim{.tubes = {"a"}}).jobs.at(0);
  ASSERT_EQ(execute_one(*node_, bury{mine.token}).what, holder_answer::kind::done);
  other_.sql(
      "INSERT INTO foliot.buried SELECT i, 1, 0, 0, 0, 0, 0, 0, 0, 0, nextval('foliot.burial') "
      "FROM generate_series(1000001, 1002000) i");
  other_.sql("DELETE FROM foliot.buried WHERE id > 1000000");
  const auto size = [&] { return std::stoi(other_.sql("SELECT pg_relation_size('foliot.buried')")); };
  const auto age = [&] {
    other_.sql(
        "SELECT setval('foliot.buried_empty_since', last_value - 2000) FROM foliot.buried_empty_since "
        "WHERE last_value > 0");
  };
  for (int i = 0; i < 3; ++i) {
    rotate();
    age();
  }
  EXPECT_GT(size(), 65536);
  EXPECT_EQ(execute_one(*node_, kick{.tube = "a", .count = 10}).changed, 1U);
  for (int i = 0; size() > 0 && i < 1000; ++i) {
    rotate();
    age();
  }
  EXPECT_EQ(size(), 0);
  const claimed_job again = execute_one(*node_, claim{.tubes = {"a"}}).jobs.at(0);
  ASSERT_EQ(execute_one(*node_, bury{again.token}).what, holder_answer::kind::done);
  rotate();
  EXPECT_EQ(execute_one(*node_, kick{.tube = "a", .count = 10}).changed, 1U);
  expect_right();
}

// They were due later than in a minute when they were put, as those that are left.
TEST_F(PostgresqlGone, DelayedJobsThatHaveBecomeReadyAreNotWalkedOver) {
  constexpr int left = 30;
  for (int i = 0; i < left; ++i) execute_one(*node_, put{.tube = "a", .body = "x", .due = 1h});
  other_.sql(
      "INSERT INTO foliot.delayed SELECT i, 1, 0, i, 0, 0, 0, 0, 0, 0, 9 FROM generate_series(1000001, 1002000) i");
  other_.sql("DELETE FROM foliot.delayed WHERE id > 1000000");
  other_.sql("SELECT setval('foliot.due_floor', 0)");
  EXPECT_GE(met_by("lock_delayed(1, 9223372036854775807, 1, 0)"), 2000);
  rotate();
  EXPECT_EQ(met_by("kick(NULL, 'a', 1, 0)"), 0);
  EXPECT_EQ(met_by("peek_first('a', 0)"), 0);
  const std::string in_two_hours = "(extract(epoch FROM now())::bigint + 7200) * 1000";
  EXPECT_EQ(met_by("lock_due(" + in_two_hours + ", 32)"), 0);
  EXPECT_EQ(other_.sql("SELECT cardinality(ids) FROM foliot.lock_due(" + in_two_hours + ", 32)"), "32");
  EXPECT_EQ(execute_one(*node_, kick{.tube = "a", .count = 2 * left}).changed, left);
  expect_right();
}

// Their due times are ahead, so the floor of due times is no help.
TEST_F(PostgresqlGone, DelayedJobsThatWereKickedLeaveNothingBehind) {
  const job_id one = execute_one(*node_, put{.tube = "a", .body = "x", .due = 1h}).id;
  EXPECT_EQ(execute_one(*node_, kick{.tube = "a", .count = 10}).changed, 1U);
  const auto size = [&] { return std::stoi(other_.sql("SELECT pg_relation_size('foliot.delayed_9')")); };
  EXPECT_GT(size(), 0);
  for (int i = 0; size() > 0 && i < 1000; ++i) {
    rotate();
    other_.sql(
        "SELECT setval('foliot.delayed_9_empty_since', last_value - 2000) FROM foliot.delayed_9_empty_since "
        "WHERE last_value > 0");
  }
  EXPECT_EQ(size(), 0);
  const job_id other = execute_one(*node_, put{.tube = "a", .body = "x", .due = 1h}).id;
  EXPECT_EQ(execute_one(*node_, peek_first{.tube = "a", .state = job_state::delayed}).job->id, other);
  EXPECT_EQ(execute_one(*node_, claim{.tubes = {"a"}}).jobs.at(0).job.id, one);
  expect_right();
}

}  // namespace
}  // namespace foliot::jobs
