// The base of all adapters, on virtual time: the contract of its timers, and the calls that set a loop's alarm.
#include <foliot/adapters/loop_timer.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <random>
#include <stdexcept>
#include <vector>

#include "loop_fixture.hpp"
#include "support/allocations.hpp"

namespace foliot::test {
namespace {

using namespace std::chrono_literals;

class LoopTimers : public loop_fixture {};

TEST_F(LoopTimers, FireInOrderAndNeverEarly) {
  loop_timer late(timers, [&] { fired.push_back(2); });
  loop_timer soon(timers, [&] { fired.push_back(1); });
  loop_timer tied(timers, [&] { fired.push_back(3); });
  EXPECT_EQ(late.reset(2s), reset_result::idle);
  EXPECT_EQ(soon.reset(1s), reset_result::idle);
  EXPECT_EQ(tied.reset(2s), reset_result::idle);
  EXPECT_EQ(timers.next_deadline(), at(1s));
  EXPECT_EQ(after(1s - 1ns), expiry{});
  EXPECT_EQ(after(1ns).fired, 1u);
  EXPECT_EQ(after(10s).fired, 2u);
  EXPECT_EQ(fired, (std::vector{1, 2, 3}));
  EXPECT_TRUE(timers.next_deadline().is_never());
}

TEST_F(LoopTimers, EachCallSaysWhatItFound) {
  std::optional<loop_timer> own;
  own.emplace(timers, [&] { fired.push_back(1); });
  EXPECT_EQ(own->stop(), stop_result::idle) << "the timer was never started";
  EXPECT_EQ(own->reset(1s), reset_result::idle);
  EXPECT_EQ(own->reset(2s), reset_result::superseded);
  EXPECT_EQ(own->stop(), stop_result::stopped);
  EXPECT_EQ(own->stop(), stop_result::idle) << "the first stop has ended the start";
  EXPECT_EQ(own->reset_at(at(3s)), reset_result::idle);
  EXPECT_EQ(after(3s).fired, 1u);
  EXPECT_EQ(own->stop(), stop_result::idle) << "the timer has fired";
  EXPECT_EQ(own->reset(1s), reset_result::idle);
  EXPECT_EQ(after(1s).fired, 1u);
  EXPECT_EQ(fired, (std::vector{1, 1}));
}

TEST_F(LoopTimers, ACallSaysThatTheCallbackRuns) {
  loop_timer other(timers, [] {});
  std::optional<loop_timer> own;
  own.emplace(timers, [&] {
    EXPECT_FALSE(own->pending());
    EXPECT_EQ(own->stop(), stop_result::running);
    EXPECT_EQ(own->reset(1s), reset_result::running);
    EXPECT_EQ(own->reset(2s), reset_result::superseded) << "the start before is pending";
    EXPECT_EQ(own->stop(), stop_result::stopped);
    EXPECT_EQ(own->stop(), stop_result::running);
    EXPECT_EQ(other.stop(), stop_result::idle) << "another timer's callback runs, not this one's";
    fired.push_back(1);
  });
  own->reset(1s);
  EXPECT_EQ(after(1s).fired, 1u);
  EXPECT_EQ(fired, std::vector{1});
  EXPECT_FALSE(own->pending());
  EXPECT_EQ(own->stop(), stop_result::idle) << "the callback has returned";
}

TEST_F(LoopTimers, ACallbackThatHasThrownRunsNoMore) {
  loop_timer bad(timers, [] { throw std::runtime_error("each time"); });
  bad.reset(1s);
  clock.stall(1s);
  EXPECT_THROW(timers.expire(clock.now()), std::runtime_error);
  EXPECT_EQ(bad.stop(), stop_result::idle);
  EXPECT_EQ(bad.reset(1s), reset_result::idle);
}

TEST_F(LoopTimers, ZeroAndLessIsNowAndTooLongIsNever) {
  loop_timer now(timers, [&] { fired.push_back(1); });
  loop_timer past(timers, [&] { fired.push_back(2); });
  loop_timer never(timers, [&] { fired.push_back(3); });
  now.reset(0s);
  past.reset(-1h);
  never.reset(duration::forever());
  EXPECT_EQ(after(0s).fired, 2u);
  EXPECT_EQ(fired, (std::vector{1, 2}));
  EXPECT_TRUE(never.pending());
  EXPECT_TRUE(timers.next_deadline().is_never());
  EXPECT_EQ(never.stop(), stop_result::stopped);
}

TEST_F(LoopTimers, AStopTakesEffectAtOnceAlsoInTheSameTurn) {
  loop_timer second(timers, [&] { fired.push_back(2); });
  loop_timer first(timers, [&] { EXPECT_EQ(second.stop(), stop_result::stopped); });
  first.reset(1s);
  second.reset(1s);
  EXPECT_EQ(after(1s).fired, 1u);
  EXPECT_EQ(second.stop(), stop_result::idle);
  EXPECT_TRUE(fired.empty());
}

TEST_F(LoopTimers, ACallbackMayStartItselfAndOthersInTheSameTurn) {
  loop_timer other(timers, [&] { fired.push_back(9); });
  std::optional<loop_timer> own;
  own.emplace(timers, [&] {
    fired.push_back(static_cast<int>(fired.size()));
    if (fired.size() < 3) own->reset(0s);
    if (fired.size() == 3) other.reset_at(at(500ms));
  });
  own->reset(1s);
  EXPECT_EQ(after(1s).fired, 4u);
  EXPECT_EQ(fired, (std::vector{0, 1, 2, 9}));
}

TEST_F(LoopTimers, ACallbackMayDestroyItsOwnTimerAndKeepsItsCapturesUntilItReturns) {
  auto kept = std::make_shared<int>(7);
  const std::weak_ptr<int> watched = kept;
  std::optional<loop_timer> own;
  std::optional<loop_timer> other(std::in_place, timers, [&] { fired.push_back(0); });
  own.emplace(timers, [&own, &other, this, kept = std::move(kept)] {
    other.reset();
    own.reset();
    fired.push_back(*kept);
  });
  own->reset(1s);
  other->reset(2s);
  after(2s);
  EXPECT_EQ(fired, std::vector{7});
  EXPECT_TRUE(watched.expired());
  EXPECT_EQ(timers.size(), 0u);
}

TEST_F(LoopTimers, ATimerOfOnesOwnHoldsWhatIsToBeDone) {
  struct session final : loop_node {
    ~session() = default;
    void fire() override { ++closed; }
    int closed = 0;
  };
  session one;
  EXPECT_FALSE(timers.reset(one, at(1s)));
  EXPECT_TRUE(timers.reset(one, at(2s)));
  EXPECT_EQ(after(1s).fired, 0u);
  EXPECT_EQ(after(1s).fired, 1u);
  EXPECT_EQ(one.closed, 1);
}

TEST_F(LoopTimers, AnExceptionComesOutAndNothingIsLost) {
  int tries = 0;
  loop_timer bad(timers, [&] {
    if (++tries == 1) throw std::runtime_error("once");
  });
  loop_timer good(timers, [&] { fired.push_back(1); });
  bad.reset(1s);
  good.reset(2s);
  clock.stall(2s);
  EXPECT_THROW(timers.expire(clock.now()), std::runtime_error);
  EXPECT_FALSE(bad.pending());
  EXPECT_TRUE(good.pending());
  EXPECT_EQ(timers.alarm(), at(2s)) << "the alarm is set for the rest of the due timers";
  bad.reset(0s);  // the callback is still there
  EXPECT_EQ(timers.expire(clock.now()).fired, 2u);
  EXPECT_EQ(tries, 2);
  EXPECT_EQ(fired, std::vector{1});
}

TEST_F(LoopTimers, ABudgetEndsATurnAndTheRestFollows) {
  std::vector<std::unique_ptr<loop_timer>> many;
  for (int i = 0; i < 100; ++i) {
    many.push_back(std::make_unique<loop_timer>(timers, [this, i] { fired.push_back(i); }));
    many.back()->reset(1s);
  }
  EXPECT_EQ(after(1s, 0), (expiry{0, true}));
  EXPECT_EQ(after(0s, 30), (expiry{30, true}));
  EXPECT_EQ(timers.wake_ups, std::vector{at(1s)}) << "the alarm still rings for the remaining timers";
  EXPECT_EQ(after(0s, 70), (expiry{70, false}));
  EXPECT_EQ(timers.alarm(), instant::never());
  for (int i = 0; i < 100; ++i) EXPECT_EQ(fired[static_cast<std::size_t>(i)], i);
}

TEST_F(LoopTimers, WhatACallbackStartsFiresInTheSameTurnIfItIsDueByTheTurnsInstant) {
  loop_timer past(timers, [&] { fired.push_back(1); });
  loop_timer now(timers, [&] { fired.push_back(4); });
  loop_timer later(timers, [&] { fired.push_back(9); });
  loop_timer second(timers, [&] { fired.push_back(2); });
  loop_timer third(timers, [&] { fired.push_back(3); });
  loop_timer first(timers, [&] {
    fired.push_back(0);
    later.reset_at(at(10s) + 1ns);
    now.reset_at(at(10s));
    past.reset_at(at(500ms));  // in its place in the order, which is before the second
  });
  first.reset(1s);
  second.reset(2s);
  third.reset(10s);
  EXPECT_EQ(after(10s), (expiry{5, false}));
  EXPECT_EQ(fired, (std::vector{0, 1, 2, 3, 4}));
  EXPECT_EQ(timers.alarm(), at(10s) + 1ns);
}

TEST_F(LoopTimers, ATimerThatIsAlwaysDueAgainIsHeldByTheBudgetOnly) {
  std::optional<loop_timer> always;
  always.emplace(timers, [&] {
    fired.push_back(1);
    always->reset_at(at(0s));
  });
  loop_timer other(timers, [&] { fired.push_back(2); });
  always->reset(0s);
  other.reset(1s);
  EXPECT_EQ(after(1s, 10), (expiry{10, true}));
  EXPECT_EQ(fired, std::vector(10, 1)) << "the earlier deadline comes first, however often";
  always->stop();
  EXPECT_EQ(after(0s, 10), (expiry{1, false}));
}

TEST_F(LoopTimers, OnlyAnEarlierDeadlineSetsTheAlarm) {
  loop_timer one(timers, [] {});
  loop_timer other(timers, [] {});
  one.reset(10s);
  EXPECT_EQ(timers.wake_ups, std::vector{at(10s)});
  other.reset(20s);
  one.reset(30s);
  one.stop();
  EXPECT_EQ(timers.wake_ups.size(), 1u) << "a later deadline or a stop has set the alarm";
  other.reset(5s);
  EXPECT_EQ(timers.alarm(), at(5s));
  other.reset(8s);
  after(5s);
  EXPECT_EQ(timers.alarm(), at(8s)) << "a wake-up for nothing sets the alarm to the next deadline";
  after(3s);
  EXPECT_TRUE(timers.alarm().is_never());
  EXPECT_EQ(timers.wake_ups.size(), 4u);
}

TEST_F(LoopTimers, TheLoopIsToldWhetherAnythingIsPending) {
  loop_timer one(timers, [] {});
  loop_timer other(timers, [&] { one.reset(1s); });
  one.reset(1s);
  other.reset(1s);
  one.stop();
  EXPECT_EQ(timers.any, std::vector{true});
  after(1s);
  EXPECT_EQ(timers.any, std::vector{true}) << "called in the middle of a turn";
  one.stop();
  EXPECT_EQ(timers.any, (std::vector{true, false}));
  one.reset(duration::forever());
  EXPECT_EQ(timers.any, (std::vector{true, false, true}));
  one.reset(1s);
  after(1s);
  EXPECT_EQ(timers.any, (std::vector{true, false, true, false})) << "the last timer has fired";
}

TEST_F(LoopTimers, ATurnInsideATurnIsRefused) {
  loop_timer nested(timers, [&] { EXPECT_THROW(timers.expire(clock.now()), std::logic_error); });
  nested.reset(0s);
  EXPECT_EQ(after(0s).fired, 1u);
}

TEST_F(LoopTimers, TimersMayOutliveTheirLoop) {
  std::optional<told_timers> gone(std::in_place, clock);
  loop_timer left(*gone, [&] { fired.push_back(1); });
  left.reset(1s);
  gone.reset();
  EXPECT_FALSE(left.pending());
}

TEST_F(LoopTimers, ANullFunctionIsRefused) {
  EXPECT_THROW(loop_timer(timers, std::function<void()>{}), std::invalid_argument);
}

TEST_F(LoopTimers, AFailedAllocationLeavesTheTimerAsItWas) {
  loop_timer kept(timers, [&] { fired.push_back(1); });
  kept.reset(1s);
  bool any_failed = false;
  std::vector<std::unique_ptr<loop_timer>> many;
  for (int i = 0; i < 200; ++i) many.push_back(std::make_unique<loop_timer>(timers, [&] { fired.push_back(2); }));
  std::size_t started = 0;
  for (auto& each : many) {
    const failing_allocations fail;
    try {
      each->reset(duration::nanoseconds(1) * static_cast<std::int64_t>(1 + started * 1'000'000'007));
      ++started;
    } catch (const std::bad_alloc&) {
      EXPECT_FALSE(each->pending());
    }
    any_failed = any_failed || fail.failed();
  }
  EXPECT_TRUE(any_failed);
  EXPECT_EQ(timers.size(), started + 1);
  EXPECT_EQ(after(1000s).fired, started + 1);
}

TEST_F(LoopTimers, TheAlarmIsNeverLaterThanTheNextDeadlineWhateverIsDone) {
  std::mt19937_64 random(1);
  std::vector<std::unique_ptr<loop_timer>> some;
  instant due;
  for (int i = 0; i < 50; ++i) {
    some.push_back(std::make_unique<loop_timer>(timers, [&, i] {
      auto& own = *some[static_cast<std::size_t>(i)];
      EXPECT_LE(own.deadline(), clock.now());
      EXPECT_LE(due, own.deadline()) << "timers fired out of order";
      due = own.deadline();
      if (random() % 2 == 0) own.reset(duration::nanoseconds(1) * static_cast<std::int64_t>(random() % 1'000'000));
    }));
  }
  for (int step = 0; step < 20'000; ++step) {
    loop_timer& one = *some[random() % some.size()];
    if (random() % 3 == 0) {
      one.stop();
    } else {
      one.reset(duration::nanoseconds(1) * static_cast<std::int64_t>(random() % (1 << (random() % 30))));
    }
    instant earliest = instant::never();
    for (const auto& each : some) {
      if (each->pending()) earliest = std::min(earliest, each->deadline());
    }
    ASSERT_LE(timers.alarm(), earliest);
    if (random() % 4 == 0 && !timers.alarm().is_never()) {
      if (timers.alarm() > clock.now()) clock.stall(timers.alarm() - clock.now());
      due = instant{};
      timers.expire(clock.now(), random() % 5);
    }
    if (step % 500 == 0) {
      ASSERT_TRUE(timers.check());
    }
  }
}

}  // namespace
}  // namespace foliot::test
