#include <foliot/service/timer.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "fixture.hpp"

namespace foliot::test {
namespace {

using namespace std::chrono_literals;

class Timer : public virtual_suite {
 protected:
  int fired = 0;
  std::function<void()> also{};  // called by the callback after it has counted

  auto count() {
    return [this] {
      ++fired;
      if (also) also();
    };
  }
};

INSTANTIATE_TEST_SUITE_P(, Timer, every_engine_and_pinned(), kind_as_name);

/// The engines that promise an order for equal deadlines.
class TimerTies : public Timer {};

INSTANTIATE_TEST_SUITE_P(, TimerTies, ::testing::Values("foliot", "global-heap", "foliot+pinned", "global-heap+pinned"),
                         kind_as_name);

TEST_P(Timer, FiresOnceAtItsDeadline) {
  tested_timer t(timers, 10ms, count());
  EXPECT_TRUE(t.pending());
  clock.advance(10ms - 1ns);
  EXPECT_EQ(fired, 0) << "a tested_timer fired early";
  clock.advance(1ns);
  EXPECT_EQ(fired, 1);
  EXPECT_FALSE(t.pending());
  clock.advance(1h);
  EXPECT_EQ(fired, 1);
}

TEST_P(Timer, TellsItsCallbackWhatItServes) {
  std::optional<firing> seen;
  const instant deadline = timers.now() + 10ms;
  tested_timer t(timers, deadline, [&](const firing& f) { seen = f; });
  clock.advance(25ms);
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->deadline, deadline);
  EXPECT_EQ(seen->now, deadline) << "virtual time must stop at each deadline";
  EXPECT_EQ(seen->lateness(), duration::zero());
  EXPECT_EQ(seen->skipped, 0u);
}

TEST_P(Timer, MayBeStartedLater) {
  tested_timer t(timers, count());
  EXPECT_FALSE(t.pending());
  clock.advance(1h);
  EXPECT_EQ(t.reset(5ms), reset_result::idle);
  clock.advance(5ms);
  EXPECT_EQ(fired, 1);
  EXPECT_EQ(t.reset_at(timers.now() + 5ms), reset_result::idle);
  clock.advance(5ms);
  EXPECT_EQ(fired, 2);
}

TEST_P(Timer, ZeroAndNegativeMeanNow) {
  tested_timer zero(timers, 0ns, count());
  tested_timer negative(timers, -1h, count());
  tested_timer past(timers, instant::earliest(), count());
  EXPECT_EQ(fired, 0) << "the start must not call the callback";
  clock.advance(0ns);
  EXPECT_EQ(fired, 3);
}

TEST_P(Timer, PastTheEndOfTimeMeansNever) {
  tested_timer t(timers, duration::forever(), count());
  tested_timer s(timers, std::chrono::hours::max(), count());
  EXPECT_EQ(clock.next_deadline(), instant::never());
  clock.advance(duration::forever());
  EXPECT_EQ(fired, 0);
  EXPECT_TRUE(t.pending());
  EXPECT_EQ(t.stop(), stop_result::stopped);
}

TEST_P(TimerTies, FireInStartOrder) {
  std::vector<int> order;
  tested_timer a(timers, 5ms, [&] { order.push_back(1); });
  tested_timer b(timers, 5ms, [&] { order.push_back(2); });
  tested_timer c(timers, 5ms, [&] { order.push_back(3); });
  a.reset(5ms);
  clock.advance(5ms);
  EXPECT_EQ(order, (std::vector{2, 3, 1}));
}

TEST_P(Timer, StopSaysWhatBecameOfTheStart) {
  tested_timer t(timers, count());
  EXPECT_EQ(t.stop(), stop_result::idle) << "never started";
  t.reset(1ms);
  EXPECT_EQ(t.stop(), stop_result::stopped);
  EXPECT_EQ(t.stop(), stop_result::idle) << "stopped before";
  clock.advance(1s);
  EXPECT_EQ(fired, 0);
  t.reset(1ms);
  also = [&] { EXPECT_EQ(t.stop(), stop_result::running); };
  clock.advance(1ms);
  EXPECT_EQ(fired, 1);
  EXPECT_EQ(t.stop(), stop_result::idle) << "fired";
}

TEST_P(Timer, ResetSaysWhatBecameOfTheStart) {
  tested_timer t(timers, count());
  EXPECT_EQ(t.reset(1ms), reset_result::idle) << "never started";
  EXPECT_EQ(t.reset(5ms), reset_result::superseded);
  clock.advance(4ms);
  EXPECT_EQ(fired, 0);
  also = [&] { EXPECT_EQ(t.reset(1ms), reset_result::running); };
  clock.advance(1ms);
  EXPECT_EQ(fired, 1);
  also = nullptr;
  clock.advance(1ms);
  EXPECT_EQ(fired, 2);
  EXPECT_EQ(t.reset(1ms), reset_result::idle) << "fired";
  t.stop();
  EXPECT_EQ(t.reset(1ms), reset_result::idle) << "stopped";
  EXPECT_EQ(t.reset(2ms), reset_result::superseded);
  EXPECT_EQ(t.reset_at(timers.now()), reset_result::superseded) << "earlier";
  clock.advance(0ns);
  EXPECT_EQ(fired, 3);
}

TEST_P(Timer, AHeartbeatThatIsResetInTimeNeverFires) {
  tested_timer idle(timers, 30s, count());
  for (int beat = 0; beat < 1000; ++beat) {
    clock.advance(29s);
    EXPECT_EQ(idle.reset(30s), reset_result::superseded);
  }
  EXPECT_EQ(fired, 0);
  clock.advance(duration(30s) + timer_service::lateness(engine(), 30s));
  EXPECT_EQ(fired, 1);
}

TEST_P(Timer, SlackLetsTimersShareAnInstant) {
  std::vector<instant> due;
  std::vector<tested_timer> many;
  for (int i = 0; i < 10; ++i) {
    many.emplace_back(timers, [&](const firing& f) { due.push_back(f.deadline); });
    many.back().reset(1s + 10ms * i, 500ms);
  }
  const instant start = timers.now();
  clock.advance(3s);
  ASSERT_EQ(due.size(), 10u);
  EXPECT_EQ(due.front(), due.back()) << "all timers must fire in one wake-up";
  EXPECT_GE(due.front(), start + 1090ms) << "a tested_timer fired early";
  EXPECT_LE(due.front(), start + 1500ms) << "a tested_timer fired after its slack";
}

TEST_P(Timer, NoSlackOrANegativeOneIsExact) {
  for (const duration slack : {duration(0ns), duration(-1s)}) {
    const instant deadline = timers.now() + 1s + 1ns;
    tested_timer t(timers, [&](const firing& f) { EXPECT_EQ(f.deadline, deadline); });
    t.reset(1s + 1ns, slack);
    clock.advance(2s);
    EXPECT_FALSE(t.pending());
  }
}

TEST_P(Timer, RearmsItselfAtZeroThreeDeep) {
  tested_timer t(timers, count());
  also = [&] {
    if (fired < 4) t.reset(0ns);
  };
  t.reset(1ms);
  clock.advance(1ms);
  EXPECT_EQ(fired, 4);
}

TEST_P(Timer, StartsOthersAtZeroThreeDeep) {
  std::vector<int> order;
  tested_timer third(timers, [&] { order.push_back(3); });
  tested_timer second(timers, [&] { order.push_back(2), third.reset(0ns); });
  tested_timer first(timers, 1ms, [&] { order.push_back(1), second.reset(0ns); });
  clock.advance(1ms);
  EXPECT_EQ(order, (std::vector{1, 2, 3}));
}

TEST_P(Timer, ARearmedTimerThatIsStoppedWhileItsCallbackRunsIsStopped) {
  tested_timer t(timers, count());
  also = [&] {
    t.reset(1ms);
    EXPECT_EQ(t.stop(), stop_result::stopped) << "the result must be that of the latest start";
  };
  t.reset(0ns);
  clock.advance(1s);
  EXPECT_EQ(fired, 1);
}

TEST_P(Timer, ACallbackMayStopAndResetOthersThatAreDueToo) {
  tested_timer victim(timers, count());
  tested_timer moved(timers, count());
  tested_timer first(timers, 1ms, [&] {
    EXPECT_EQ(victim.stop(), stop_result::stopped);
    EXPECT_EQ(moved.reset(5ms), reset_result::superseded);
  });
  victim.reset(1ms);
  moved.reset(1ms);
  clock.advance(5ms);
  EXPECT_EQ(fired, 0);
  clock.advance(1ms);
  EXPECT_EQ(fired, 1);
}

TEST_P(Timer, AfterFuncIsATimerToo) {
  timer t = after_func(timers, 5ms, count());
  clock.advance(5ms);
  EXPECT_EQ(fired, 1);
  after_func(timers, 5ms, count()).detach();
  clock.advance(5ms);
  EXPECT_EQ(fired, 2);
  static_cast<void>(after_func(timers, 5ms, count()));  // the handle is destroyed, which stops the timer
  clock.advance(5ms);
  EXPECT_EQ(fired, 2);
}

TEST_P(Timer, AnEmptyHandleSaysSo) {
  timer empty;
  EXPECT_EQ(empty.stop(), stop_result::idle);
  EXPECT_EQ(empty.stop_and_wait(), stop_result::idle);
  EXPECT_FALSE(empty.pending());
  empty.detach();
  EXPECT_THROW(empty.reset(1s), std::logic_error);
  EXPECT_THROW(empty.reset_at(instant{}), std::logic_error);
  timer t(timers, 1s, count());
  const timer other = std::move(t);
  EXPECT_THROW(t.reset(1s), std::logic_error);  // NOLINT(bugprone-use-after-move): that is the point
  EXPECT_TRUE(other.pending());
}

TEST_P(Timer, ANullCallbackIsRefused) {
  void (*null)() = nullptr;
  EXPECT_THROW(static_cast<void>(timer(timers, 1s, null)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(timer(timers, 1s, std::function<void(const firing&)>())), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(timer(timers, 1s, timer_callback())), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(timer(timers, 1s, callable<void()>())), std::invalid_argument);
  EXPECT_EQ(timers.counters().started, 0u);
}

TEST_P(Timer, MovesWithItsTimer) {
  std::vector<tested_timer> many;
  for (int i = 0; i < 100; ++i) many.emplace_back(timers, 1ms, count());
  many.erase(many.begin(), many.begin() + 50);
  many.front() = tested_timer(timers, 1ms, count());  // stops the tested_timer that it had
  clock.advance(1ms);
  EXPECT_EQ(fired, 50);
}

TEST_P(Timer, WhatACallbackThrowsGoesToTheHandler) {
  std::vector<std::string> reported;
  service_options chosen = options();
  chosen.on_exception = [&](std::exception_ptr failure) {
    try {
      std::rethrow_exception(std::move(failure));
    } catch (const std::exception& error) {
      reported.emplace_back(error.what());
    }
  };
  timer_service careful(clock, std::move(chosen));
  tested_timer first(careful, 1ms, [] { throw std::runtime_error("one"); });
  tested_timer second(careful, 1ms, [] { throw std::runtime_error("two"); });
  tested_timer third(careful, 1ms, count());
  clock.advance(1ms);
  EXPECT_EQ(reported, (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(fired, 1) << "the service must go on";
  EXPECT_EQ(first.reset(1ms), reset_result::idle);
}

TEST_P(Timer, WhatTheHandlerThrowsIsSwallowedAndTheServiceGoesOn) {
  int handled = 0;
  service_options chosen = options();
  chosen.on_exception = [&](std::exception_ptr failure) {
    ++handled;
    std::rethrow_exception(std::move(failure));
  };
  chosen.slow_callback = {.longer_than = duration::zero(), .tell = [](const slow_callback&) { throw 42; }};
  timer_service careful(clock, std::move(chosen));
  tested_timer thrower(careful, 1ms, [] { throw std::runtime_error("one"); });
  tested_timer slow(careful, 1ms, [this] { clock.stall(1ns); });
  tested_timer third(careful, 2ms, count());
  clock.advance(2ms);
  EXPECT_EQ(handled, 2);
  EXPECT_EQ(fired, 1);
  EXPECT_EQ(thrower.reset(1ms), reset_result::idle);
}

TEST_P(Timer, ByDefaultWhatACallbackThrowsIsReported) {
  tested_timer first(timers, 1ms, [] { throw std::runtime_error("lost the connection"); });
  tested_timer second(timers, 2ms, [] { throw 42; });
  ::testing::internal::CaptureStderr();
  clock.advance(2ms);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "foliot: a timer's callback threw: lost the connection\n"
            "foliot: a timer's callback threw something other than a std::exception\n");
}

}  // namespace
}  // namespace foliot::test
