// How the reservations of a node end: all together with its session, or one by one when their time is over.
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <foliot/core/clock.hpp>
#include <foliot/jobs/calls.hpp>
#include <foliot/jobs/postgresql_store.hpp>

#include "postgresql_connection.hpp"
#include "postgresql_server.hpp"

namespace foliot::jobs {
namespace {

using namespace std::chrono_literals;
using foliot_test::postgresql_connection;
using foliot_test::postgresql_server;

class PostgresqlSessions : public ::testing::Test {
 protected:
  [[nodiscard]] std::unique_ptr<postgresql_store> open(const std::string& node) const {
    postgresql_options options;
    options.database = database_;
    options.node = node;
    options.node_timeout = 1h;
    options.give_up_after = 30s;
    return std::make_unique<postgresql_store>(options);
  }
  std::string sql(const std::string& statement) { return other_.sql(statement); }

  postgresql_server& server_ = postgresql_server::instance();
  const std::string database_ = [this] {
    std::string made = server_.new_database();
    postgresql_store::migrate(made);
    return made;
  }();
  postgresql_connection other_{database_};
};

// One statement for all of them could take longer than an answer is waited for, and would never succeed.
TEST_F(PostgresqlSessions, ASessionWithManyReservationsEndsInPieces) {
  constexpr std::size_t many = 7000;
  const auto first = open("same");
  std::vector<operation> puts(many, put{.tube = "a", .body = "x", .ttr = 1h});
  first->execute(puts);
  ASSERT_EQ(execute_one(*first, claim{.tubes = {"a"}, .count = many}).jobs.size(), many);
  const auto second = open("same");
  // One when the node was announced, and one in its first batch.
  EXPECT_EQ(sql("SELECT count(*) FROM foliot.reserved"), std::to_string(many - std::size_t{2} * 2048));
  EXPECT_THROW(first->execute({}), store_failure);
  std::size_t batches = 0;
  do {
    second->execute({});
    ++batches;
    const check_result right = second->check();
    ASSERT_TRUE(right) << right.error();
  } while (second->next().expiry <= monotonic_clock::instance().now());
  EXPECT_EQ(batches, 3U);  // two pieces, and a look for more
  EXPECT_EQ(sql("SELECT count(*) FROM foliot.node"), "1");
  ASSERT_EQ(execute_one(*second, claim{.tubes = {"a"}, .count = many}).jobs.size(), many);
  second->close();
  EXPECT_EQ(sql("SELECT count(*) FROM foliot.ready"), std::to_string(many));
  EXPECT_EQ(sql("SELECT count(*) FROM foliot.node"), "0");
}

// By the database's clock a reservation is over a little earlier than by its node's.
TEST_F(PostgresqlSessions, AReservationThatIsOverByTheDatabaseAloneEndsLater) {
  const auto a = open("a");
  execute_one(*a, put{.tube = "a", .body = "x", .ttr = 200ms});
  const reservation old = execute_one(*a, claim{{"a"}}).jobs.at(0).token;
  sql("UPDATE foliot.reserved SET expires = 0");
  EXPECT_EQ(execute_one(*a, finish{old}).what, holder_answer::kind::not_held);
  std::vector<claimed_job> got;
  while (got.empty()) got = execute_one(*a, claim{{"a"}}).jobs;
  EXPECT_EQ(got[0].job.counters.timeouts, 1U);
}

}  // namespace
}  // namespace foliot::jobs
