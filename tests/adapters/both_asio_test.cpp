// The timers for Asio and for Boost.Asio in one program.
#include <foliot/adapters/asio_timer.hpp>

#include <asio/io_context.hpp>

#include <gtest/gtest.h>

#include <chrono>

#include "both_asio.hpp"

namespace foliot::test {
namespace {

TEST(BothAsio, OneProgramHasTimersOfBoth) {
  std::vector<int> outcomes;
  asio::io_context context;
  asio_timer soon(context, std::chrono::microseconds(1));
  asio_timer hour(context, std::chrono::hours(1));
  hour.async_wait([&](asio::error_code error) { outcomes.push_back(error ? -2 : 2); });
  soon.async_wait([&](asio::error_code error) {
    outcomes.push_back(error ? -1 : 1);
    EXPECT_EQ(with_boost_asio(), (std::vector{1, -2})) << "in a handler of the other library";
    hour.cancel();
  });
  context.run();
  EXPECT_EQ(outcomes, (std::vector{1, -2}));
}

}  // namespace
}  // namespace foliot::test
