// Deadlines that are time points of std::chrono::steady_clock.
#include <atomic>
#include <chrono>
#include <stdexcept>

#include <gtest/gtest.h>

#include <foliot/core/clock.hpp>
#include <foliot/runtime/callback_timer.hpp>
#include <foliot/runtime/context.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/ticker.hpp>
#include <foliot/runtime/timer.hpp>
#include <foliot/runtime/with_timeout.hpp>

namespace foliot::runtime {
namespace {

using namespace std::chrono_literals;
using steady_clock = std::chrono::steady_clock;

steady_clock::time_point in(duration from_now) { return monotonic_clock::to_steady(now() + from_now); }

task<> never_ends() { co_await sleep(duration::forever()); }

TEST(Deadlines, OfSteadyClockAreThoseOfARuntimeOnRealTime) {
  run([]() -> task<> {
    const auto due = in(1ms);
    const instant same = monotonic_clock::from_steady(due);
    timer made(due);
    const instant first = co_await made;
    EXPECT_EQ(first, same);
    made.reset_at(due);
    const instant again = co_await made;
    EXPECT_EQ(again, same);
    ticker beat(due, 1h);
    EXPECT_EQ(beat.reset_at(due + 1ms, 1h), reset_result::superseded);
    co_await sleep_until(due + 1ms);
    EXPECT_GE(now(), same + 1ms);
    const auto ended = co_await with_deadline(never_ends(), in(1ms));
    EXPECT_FALSE(ended);
    const cancel_context within = with_deadline(background(), due);
    EXPECT_EQ(within.deadline(), same);
    std::atomic<bool> called = false;  // the runtime may call on another thread
    callback_timer calls([&called] { called = true; });
    calls.reset_at(due);
    while (!called) co_await sleep(1ms);
  });
}

TEST(Deadlines, OfSteadyClockAreRefusedOnVirtualTimeAndNothingChanges) {
  virtual_clock clock;
  run_options options;
  options.clock = &clock;
  run(
      []() -> task<> {
        const steady_clock::time_point steady(5s);
        timer idle(1s);
        EXPECT_THROW(idle.reset_at(steady), std::invalid_argument);
        EXPECT_THROW(static_cast<void>(timer{steady}), std::invalid_argument);
        EXPECT_THROW(static_cast<void>(ticker(steady, 1s)), std::invalid_argument);
        EXPECT_THROW(static_cast<void>(with_deadline(background(), steady)), std::invalid_argument);
        callback_timer calls([] {});
        EXPECT_THROW(calls.reset_at(steady), std::invalid_argument);
        int thrown = 0;
        try {
          co_await sleep_until(steady);
        } catch (const std::invalid_argument&) {
          ++thrown;
        }
        try {
          co_await with_deadline(never_ends(), steady);
        } catch (const std::invalid_argument&) {
          ++thrown;
        }
        EXPECT_EQ(thrown, 2);
        const instant when = co_await idle;
        EXPECT_EQ(when, instant() + 1s);
      },
      options);
}

}  // namespace
}  // namespace foliot::runtime
