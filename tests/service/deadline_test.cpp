// Deadlines that are time points of std::chrono.
#include <chrono>
#include <latch>
#include <stdexcept>

#include <gtest/gtest.h>

#include <foliot/core/clock.hpp>
#include <foliot/service/sleep.hpp>
#include <foliot/service/timer.hpp>

#include "fixture.hpp"

namespace foliot::test {
namespace {

using namespace std::chrono_literals;
using steady_clock = std::chrono::steady_clock;
using wall_time = std::chrono::system_clock::time_point;  // tidy: allow(seam-clock) the type

TEST(Deadlines, OfSteadyClockAreThoseOfTheMonotonicClock) {
  timer_service timers;
  const steady_clock::time_point due = monotonic_clock::to_steady(timers.now()) + 1ms;
  std::latch fired(2);
  instant first;
  instant second;
  const timer made(timers, due, [&](const firing& now) {
    first = now.deadline;
    fired.count_down();
  });
  timer armed(timers, [&](const firing& now) {
    second = now.deadline;
    fired.count_down();
  });
  EXPECT_EQ(armed.reset_at(due), reset_result::idle);
  fired.wait();
  EXPECT_EQ(first, monotonic_clock::from_steady(due));
  EXPECT_EQ(second, monotonic_clock::from_steady(due));
  EXPECT_TRUE(sleep_until(timers, due + 1ms));
  EXPECT_GE(timers.now(), monotonic_clock::from_steady(due + 1ms));
}

TEST(Deadlines, OfSystemClockAreThoseOfTheWallClock) {
  service_options options;
  options.clock = service_clock::wall;
  timer_service timers(options);
  const wall_time passed(1s);  // 1970
  std::latch fired(1);
  const timer made(timers, passed, [&] { fired.count_down(); });
  fired.wait();
  EXPECT_TRUE(sleep_until(timers, passed));
}

TEST(Deadlines, OfAnotherClockAreRefusedAndNothingChanges) {
  virtual_clock clock;
  timer_service timers(clock);
  int fired = 0;
  timer idle(timers, 1s, [&] { ++fired; });
  const steady_clock::time_point steady(5s);
  const wall_time system(5s);
  EXPECT_THROW(idle.reset_at(steady), std::invalid_argument);
  EXPECT_THROW(idle.reset_at(system), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(timer(timers, steady, [&] { ++fired; })), std::invalid_argument);
  EXPECT_THROW(sleep_until(timers, steady), std::invalid_argument);
  EXPECT_TRUE(idle.pending());
  EXPECT_EQ(timers.counters().pending, 1u);
  clock.advance(10s);
  EXPECT_EQ(fired, 1);
}

}  // namespace
}  // namespace foliot::test
