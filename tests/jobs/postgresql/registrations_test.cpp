// How the reservations of a node end: all together with its registration, or one by one when their time is over.
#include <gtest/gtest.h>

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <latch>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <foliot/core/clock.hpp>
#include <foliot/jobs/calls.hpp>
#include <foliot/jobs/postgresql_store.hpp>

#include "connection.hpp"
#include "database.hpp"
#include "jobs/postgresql/postgresql_node.hpp"

namespace foliot::jobs {
namespace {

using namespace std::chrono_literals;

using PostgresqlRegistrations = foliot_test::postgresql_database;

// One statement for all of them could take longer than an answer is waited for, and would never succeed.
TEST_F(PostgresqlRegistrations, ARegistrationWithManyReservationsEndsInPieces) {
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

// The reservations of a registration that has ended are over, also while their rows are still there.
TEST_F(PostgresqlRegistrations, AReservationOfARegistrationThatIsBeingEndedHoldsNothing) {
  constexpr std::size_t many = 10'000;  // each batch of the second node ends 2048
  const auto first = open("same");
  std::vector<operation> puts(many, put{.tube = "a", .body = "x", .ttr = 1h});
  first->execute(puts);
  const reservation last = execute_one(*first, claim{.tubes = {"a"}, .count = many}).jobs.back().token;
  const auto second = open("same");
  const std::string row = "SELECT count(*) FROM foliot.reserved WHERE id = " + std::to_string(last.id);
  EXPECT_EQ(execute_one(*second, finish{last}).what, holder_answer::kind::not_held);
  EXPECT_EQ(execute_one(*second, touch{last}).what, holder_answer::kind::not_held);
  EXPECT_EQ(sql(row), "1") << "the registration had ended before it was asked";
}

// By the database's clock a reservation is over a little earlier than by its node's.
TEST_F(PostgresqlRegistrations, AReservationThatIsOverByTheDatabaseAloneEndsLater) {
  const auto a = open("a");
  execute_one(*a, put{.tube = "a", .body = "x", .ttr = 200ms});
  const reservation old = execute_one(*a, claim{{"a"}}).jobs.at(0).token;
  sql("UPDATE foliot.reserved SET expires = 0");
  EXPECT_EQ(execute_one(*a, finish{old}).what, holder_answer::kind::not_held);
  std::vector<claimed_job> got;
  while (got.empty()) got = execute_one(*a, claim{{"a"}}).jobs;
  EXPECT_EQ(got[0].job.counters.timeouts, 1U);
}

/// Cuts a connection so that the server does not see it.
class unseen_cut {
 public:
  unseen_cut() = default;
  unseen_cut(const unseen_cut&) = delete;
  unseen_cut& operator=(const unseen_cut&) = delete;
  ~unseen_cut() { ::close(held_); }
  void operator()(int socket) {
    held_ = ::dup(socket);
    std::array<int, 2> dead{};
    if (::socketpair(AF_UNIX, SOCK_STREAM, 0, dead.data()) != 0) throw std::runtime_error("socketpair");
    ::close(dead[1]);
    ::dup2(dead[0], socket);
    ::close(dead[0]);
  }

 private:
  int held_ = -1;
};

/// A node that meets something in its next exchange.
class PostgresqlLostConnection : public PostgresqlRegistrations {
 protected:
  PostgresqlLostConnection() { execute_one(*node_, put{.tube = "a", .body = "x", .ttr = 1h}); }

  detail::exchange_point meets_at_ = detail::exchange_point::sent;
  std::function<void(int)> next_exchange_;
  const std::unique_ptr<postgresql_store> node_ = detail::postgresql_node::as_store(
      std::make_unique<detail::postgresql_node>(options("a"), [this](int socket, detail::exchange_point at) {
        if (next_exchange_ && at == meets_at_) std::exchange(next_exchange_, nullptr)(socket);
      }));
};

// The transaction that the lost connection has left open has locked the job: a claim would pass over it.
TEST_F(PostgresqlLostConnection, IsEndedBeforeTheNodeGoesOn) {
  unseen_cut cut;
  next_exchange_ = std::ref(cut);
  EXPECT_EQ(execute_one(*node_, claim{{"a"}}).jobs.size(), 1U);
}

// What a node has left open must not be in the way of the others for ever: it may have been stopped.
TEST_F(PostgresqlLostConnection, IsEndedByTheServer) {
  std::latch is_stopped(1);
  std::latch goes_on(1);
  meets_at_ = detail::exchange_point::answered;  // it has locked the job
  next_exchange_ = [&](int) {
    is_stopped.count_down();
    goes_on.wait();
  };
  std::vector<claimed_job> got_late;
  std::jthread stopped([&] { got_late = execute_one(*node_, claim{{"a"}}).jobs; });
  is_stopped.wait();
  const auto other = open("b");
  std::vector<claimed_job> got;
  while (got.empty()) got = execute_one(*other, claim{{"a"}}).jobs;
  goes_on.count_down();
  stopped.join();
  EXPECT_TRUE(got_late.empty());
}

}  // namespace
}  // namespace foliot::jobs
