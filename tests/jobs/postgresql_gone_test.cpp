// Beside a transaction that stays open, what looks for delayed and buried jobs does not walk over all those that have
// gone.
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include <foliot/jobs/calls.hpp>
#include <foliot/jobs/postgresql_store.hpp>

#include "postgresql_connection.hpp"
#include "postgresql_one_node.hpp"

namespace foliot::jobs {
namespace {

using namespace std::chrono_literals;
using foliot_test::postgresql_connection;

class PostgresqlGone : public foliot_test::postgresql_one_node {
 protected:
  PostgresqlGone() {
    pin_.sql("BEGIN ISOLATION LEVEL REPEATABLE READ");
    pin_.sql("SELECT 1");  // from now on PostgreSQL keeps all rows that go
  }

  void turn() { other_.sql("SELECT setval('foliot.last_turn', 1), foliot.rotate()"); }

  postgresql_connection pin_{database_};
};

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
    turn();
    age();
  }
  EXPECT_GT(size(), 65536);
  EXPECT_EQ(execute_one(*node_, kick{.tube = "a", .count = 10}).changed, 1U);
  for (int i = 0; size() > 0 && i < 1000; ++i) {
    turn();
    age();
  }
  EXPECT_EQ(size(), 0);
  const claimed_job again = execute_one(*node_, claim{.tubes = {"a"}}).jobs.at(0);
  ASSERT_EQ(execute_one(*node_, bury{again.token}).what, holder_answer::kind::done);
  turn();
  EXPECT_EQ(execute_one(*node_, kick{.tube = "a", .count = 10}).changed, 1U);
  expect_right();
}

}  // namespace
}  // namespace foliot::jobs
