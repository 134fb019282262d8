// Tests of Erlang's wheel alone. The tests of every queue are in conformance/, where a wheel of eight slots runs beside
// the real one.
#include <foliot/queue/erlang_wheel.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <foliot/core/seam/random.hpp>

#include "support/allocations.hpp"

namespace foliot {
namespace {

using namespace std::chrono_literals;

constexpr duration turn_of_the_wheel = 65'536ms;

struct numbered : erlang_timer {
  std::size_t number = 0;
};
using numbers = std::vector<std::size_t>;

std::string broken(const erlang_wheel& wheel) {
  const check_result sound = wheel.check();
  return sound ? "" : sound.error();
}

/// A wheel with numbered timers, checked after every step.
class wheel_of {
 public:
  explicit wheel_of(std::size_t count) : timers(std::make_unique<numbered[]>(count)) {
    for (std::size_t i = 0; i < count; ++i) timers[i].number = i;
  }
  ~wheel_of() {
    while (wheel.pop_any() != nullptr) {
    }
  }
  wheel_of(const wheel_of&) = delete;
  wheel_of& operator=(const wheel_of&) = delete;

  void reset(std::size_t i, instant deadline) {
    wheel.reset(timers[i], deadline);
    check();
  }
  numbers expire(instant now, budget limit = unlimited) {
    numbers fired;
    turn = wheel.expire(now, limit, [&](erlang_timer& due) {
      EXPECT_LE(due.deadline(), now);
      fired.push_back(static_cast<numbered&>(due).number);
      if (on_fire) on_fire(fired.back());
    });
    check();
    return fired;
  }
  void check() const { EXPECT_EQ(broken(wheel), ""); }

  std::unique_ptr<numbered[]> timers;
  erlang_wheel wheel;
  expiry turn;
  std::function<void(std::size_t)> on_fire;
};

TEST(ErlangWheel, ANodeIsAsSmallAsTheOriginal) { EXPECT_LE(sizeof(erlang_timer), 48u); }

TEST(ErlangWheel, TheLastTickBeforeAndOnAndAfterEachTurn) {
  for (const int turns : {0, 1, 2, 10}) {
    for (const int ticks : {-1, 0, 1}) {
      for (const duration origin : {duration(0ns), duration(-3h), duration(1ms * 65'535)}) {
        const instant start = instant{} + origin;
        const instant deadline = start + turn_of_the_wheel * turns + 5ms + 1ms * ticks;
        wheel_of one(2);
        one.expire(start);
        one.reset(0, deadline);
        one.reset(1, deadline - 999'999ns);  // rounded up to the same tick
        EXPECT_EQ(one.wheel.next_deadline(), deadline);
        EXPECT_TRUE(one.expire(deadline - 1ns).empty());
        EXPECT_EQ(one.expire(deadline), (numbers{0, 1}));
        EXPECT_EQ(one.wheel.next_deadline(), instant::never());
      }
    }
  }
}

TEST(ErlangWheel, ATimerOfALaterTurnStaysWhenItsSlotIsFired) {
  wheel_of three(3);
  three.expire(instant{});
  three.reset(0, instant{} + 10ms + turn_of_the_wheel * 2);
  three.reset(1, instant{} + 10ms);
  three.reset(2, instant{} + 10ms + turn_of_the_wheel);
  EXPECT_EQ(three.expire(instant{} + 10ms), (numbers{1}));
  EXPECT_EQ(three.wheel.next_deadline(), three.timers[2].deadline());
  EXPECT_TRUE(three.expire(three.timers[2].deadline() - 1ns).empty());
  EXPECT_EQ(three.expire(three.timers[2].deadline()), (numbers{2}));
  EXPECT_EQ(three.expire(three.timers[0].deadline()), (numbers{0}));
}

TEST(ErlangWheel, ASlotIsFirstInFirstOut) {
  wheel_of many(100);
  numbers order;
  for (std::size_t i = 0; i < 100; ++i) {
    many.reset((i * 37) % 100, instant{} + 7ms);
    order.push_back((i * 37) % 100);
  }
  EXPECT_EQ(many.expire(instant{} + 7ms), order);
}

TEST(ErlangWheel, WhatIsDueAlreadyFiresAtOnceAndInOrder) {
  wheel_of five(5);
  five.expire(instant{} + 1h);
  five.reset(0, instant{} + 1h);
  five.reset(1, instant{});
  five.reset(2, instant{} + 30min);
  five.reset(3, instant{} - 1h);
  five.reset(4, instant{} + 1h);
  EXPECT_EQ(five.wheel.next_deadline(), instant{} - 1h);
  EXPECT_EQ(five.expire(instant{} + 1h, 2), (numbers{3, 1}));
  EXPECT_TRUE(five.turn.more);
  five.reset(3, instant{} + 10min);
  EXPECT_EQ(five.expire(instant{} + 1h), (numbers{3, 2, 0, 4}));
}

TEST(ErlangWheel, ACallbackMayStartIntoTheSlotBeingFired) {
  wheel_of four(4);
  four.expire(instant{});
  for (std::size_t i = 0; i < 3; ++i) four.reset(i, instant{} + 5ms);
  four.on_fire = [&](std::size_t i) {
    if (i == 0) four.reset(3, instant{} + 5ms);                      // this tick: behind the others
    if (i == 1) four.reset(0, instant{} + 5ms + turn_of_the_wheel);  // this slot, a turn later
  };
  EXPECT_EQ(four.expire(instant{} + 5ms), (numbers{0, 1, 2, 3}));
  EXPECT_EQ(four.wheel.next_deadline(), instant{} + 5ms + turn_of_the_wheel);
  four.on_fire = nullptr;
  EXPECT_EQ(four.expire(instant{} + 5ms + turn_of_the_wheel), (numbers{0}));
}

TEST(ErlangWheel, ACallbackMayStopWhatIsBeingFired) {
  wheel_of six(6);
  six.expire(instant{});
  for (std::size_t i = 0; i < 6; ++i) six.reset(i, instant{} + 5ms);
  six.on_fire = [&](std::size_t i) {
    if (i == 0) six.wheel.stop(six.timers[1]);  // the next one
    if (i == 2) six.wheel.stop(six.timers[5]);  // the last one
    if (i == 3) six.reset(4, instant{} + 6ms);  // the only one left
  };
  EXPECT_EQ(six.expire(instant{} + 5ms), (numbers{0, 2, 3}));
  EXPECT_EQ(six.expire(instant{} + 6ms), (numbers{4}));
}

TEST(ErlangWheel, ATurnThatEndsInASlotGoesOnThere) {
  wheel_of many(300);
  many.expire(instant{});
  for (std::size_t i = 0; i < 250; ++i) many.reset(i, instant{} + 5ms);
  for (std::size_t i = 250; i < 300; ++i) many.reset(i, instant{} + 6ms);
  numbers all = many.expire(instant{} + 1h, erlang_wheel::yield_limit);
  EXPECT_TRUE(many.turn.more);
  EXPECT_LE(many.wheel.next_deadline(), instant{} + 5ms);
  EXPECT_TRUE(many.wheel.stop(many.timers[150]));
  for (int turns = 0; many.turn.more; ++turns) {
    ASSERT_LT(turns, 3);
    const numbers more = many.expire(instant{} + 1h, erlang_wheel::yield_limit);
    all.insert(all.end(), more.begin(), more.end());
  }
  EXPECT_EQ(all.size(), 299u);
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end()));
  EXPECT_EQ(many.wheel.next_deadline(), instant::never());
}

instant in_slot(std::size_t slot) { return instant{} + 1ms * static_cast<int>(slot); }

/// Without a check after each step.
void start(wheel_of& many, std::size_t i, instant deadline) { many.wheel.reset(many.timers[i], deadline); }

/// How many timers each turn of `bump_timers` fires at `now`, until nothing is due.
numbers bumps(erlang_wheel& wheel, instant now, budget limit = unlimited) {
  numbers fired;
  for (expiry turn{0, true}; turn.more; fired.push_back(turn.fired)) {
    turn = wheel.bump_timers(now, limit, [](erlang_timer&) {});
    EXPECT_EQ(broken(wheel), "");
    EXPECT_EQ(turn.more, wheel.next_deadline() <= now);
  }
  return fired;
}

TEST(ErlangWheel, ABumpDoesNotCountTheFirstTimerOfASlot) {
  wheel_of many(1000);
  many.expire(instant{});
  for (std::size_t i = 0; i < 1000; ++i) start(many, i, in_slot(1 + i));
  EXPECT_EQ(bumps(many.wheel, instant{} + 1s), (numbers{1000}));
  for (std::size_t i = 0; i < 1000; ++i) start(many, i, in_slot(1001 + i / 2));  // two in each slot
  EXPECT_EQ(bumps(many.wheel, instant{} + 2s), (numbers{199, 198, 198, 198, 198, 9}));
}

TEST(ErlangWheel, ABumpCountsWhatIsDueAtOnce) {
  wheel_of many(250);
  many.expire(instant{} + 1s);
  for (std::size_t i = 0; i < 250; ++i) start(many, i, instant{} + 1s);
  EXPECT_EQ(bumps(many.wheel, instant{} + 1s), (numbers{99, 99, 52}));
}

TEST(ErlangWheel, ABumpThatGoesOnInASlotCountsAllOfItsTimers) {
  wheel_of many(250);
  many.expire(instant{});
  for (std::size_t i = 0; i < 250; ++i) start(many, i, instant{} + 5ms);
  EXPECT_EQ(bumps(many.wheel, instant{} + 5ms), (numbers{100, 99, 51}));
}

TEST(ErlangWheel, ABumpGivesBackWhatItPutsBack) {
  wheel_of many(252);
  many.expire(instant{});
  start(many, 250, instant{} + 5ms + turn_of_the_wheel);  // the first of the slot, and of a later turn
  for (std::size_t i = 0; i < 250; ++i) start(many, i, instant{} + 5ms);
  start(many, 251, instant{} + 5ms + turn_of_the_wheel);
  EXPECT_EQ(bumps(many.wheel, instant{} + 5ms), (numbers{100, 99, 51}));
  EXPECT_EQ(many.wheel.size(), 2u);
  EXPECT_EQ(bumps(many.wheel, instant{} + 5ms + turn_of_the_wheel), (numbers{2}));
}

TEST(ErlangWheel, TheCallersBudgetBoundsABumpToo) {
  wheel_of many(1000);
  many.expire(instant{});
  for (std::size_t i = 0; i < 25; ++i) start(many, i, in_slot(1 + i));
  EXPECT_EQ(bumps(many.wheel, instant{} + 1s, 10), (numbers{10, 10, 5}));
  for (std::size_t i = 0; i < 250; ++i) start(many, i, instant{} + 2s);
  EXPECT_EQ(bumps(many.wheel, instant{} + 2s, 40), (numbers{40, 40, 40, 40, 40, 40, 10}));
  const expiry none = many.wheel.bump_timers(instant{} + 2s, 0, [](erlang_timer&) {});
  EXPECT_EQ(none.fired, 0u);
  EXPECT_FALSE(none.more);
}

/// A call of expire fires as many timers as its budget allows, whatever a turn of bump_timers has left.
TEST(ErlangWheel, ABumpLeavesExpireAsItIs) {
  wheel_of many(500);
  many.expire(instant{});
  for (std::size_t i = 0; i < 500; ++i) start(many, i, instant{} + 5ms);
  EXPECT_EQ(many.wheel.bump_timers(instant{} + 5ms, unlimited, [](erlang_timer&) {}).fired, 100u);
  EXPECT_EQ(many.expire(instant{} + 5ms, 300).size(), 300u);
  EXPECT_EQ(bumps(many.wheel, instant{} + 5ms), (numbers{99, 1}));
}

/// After a stall of any length the timers fire in order, also those that callbacks start meanwhile.
TEST(ErlangWheel, StallsAreCaughtUpInOrder) {
  constexpr std::size_t count = 2000;
  for (const duration stall : {duration(1s), duration(10s), turn_of_the_wheel, duration(1h), duration(24h * 30)}) {
    wheel_of many(count);
    random_stream random(static_cast<std::uint64_t>(stall.count()));
    const instant now = instant{} + stall;
    many.expire(instant{});
    for (std::size_t i = 0; i < count; ++i) {
      const auto ahead = random.below(static_cast<std::uint64_t>(stall.count()));
      many.wheel.start(many.timers[i], instant::from_nanoseconds(static_cast<std::int64_t>(ahead)));
    }
    std::size_t fired = 0;
    instant last = instant::earliest();
    expiry turn{0, true};
    while (turn.more) {
      turn = many.wheel.expire(now, 100, [&](erlang_timer& due) {
        ++fired;
        EXPECT_GE(due.deadline() + erlang_wheel::precision, last);
        last = std::max(last, due.deadline());
        const instant next = due.deadline() + stall / 4;  // a few turns later, often still in the past
        if (next <= now) many.wheel.start(due, next);
      });
      many.check();
    }
    EXPECT_GE(fired, 2 * count);
    EXPECT_EQ(many.wheel.size(), 0u);
  }
}

TEST(ErlangWheel, JumpsOfCenturiesAreNoWalk) {
  wheel_of few(3);
  few.expire(instant{});
  for (int century = 0; century < 1000; ++century) {
    few.reset(0, instant::latest());
    few.reset(1, instant{} + 24h * 365 * 200);
    few.reset(2, instant{} + 1ns);
    few.wheel.stop(few.timers[2]);  // the wheel no longer knows its next timeout
  }
  EXPECT_EQ(few.expire(instant::latest() - 1ns), (numbers{1}));
  EXPECT_EQ(few.wheel.next_deadline(), instant::latest());
  EXPECT_EQ(few.expire(instant::latest()), (numbers{0}));
}

TEST(ErlangWheel, TheNextDeadlineIsFoundWhereverItIs) {
  for (const duration ahead : {duration(1ms), duration(1999ms), duration(2s), duration(2001ms), duration(60s),
                               turn_of_the_wheel, turn_of_the_wheel + 1ms, duration(24h), duration(24h * 365)}) {
    wheel_of two(2);
    two.expire(instant{});
    two.reset(0, instant{} + 1ms);
    two.reset(1, instant{} + 1ms + ahead);
    EXPECT_EQ(two.expire(instant{} + 1ms), (numbers{0}));
    EXPECT_EQ(two.wheel.next_deadline(), instant{} + 1ms + ahead);
  }
}

/// A stop does not search for the next timeout, so one wake-up may find nothing due, but not two.
TEST(ErlangWheel, AStoppedTimerCausesAtMostOneWakeUp) {
  wheel_of two(2);
  two.expire(instant{});
  two.reset(0, instant{} + 10ms);
  two.reset(1, instant{} + 1h);
  two.wheel.stop(two.timers[0]);
  EXPECT_EQ(two.wheel.next_deadline(), instant{} + 10ms);
  EXPECT_TRUE(two.expire(instant{} + 10ms).empty());
  EXPECT_EQ(two.wheel.next_deadline(), instant{} + 1h);
}

TEST(ErlangWheel, CancelTellsTheTimer) {
  struct counted_timer : erlang_timer {
    int cancelled = 0;
  };
  erlang_wheel wheel;
  counted_timer timer;
  timer.on_cancel = [](erlang_timer& node) { ++static_cast<counted_timer&>(node).cancelled; };
  EXPECT_FALSE(wheel.cancel(timer));  // nothing to cancel
  wheel.start(timer, instant{} + 1s);
  EXPECT_TRUE(wheel.cancel(timer));
  EXPECT_FALSE(wheel.cancel(timer));
  EXPECT_EQ(timer.cancelled, 1);
  wheel.start(timer, instant{} + 1s);
  EXPECT_TRUE(wheel.stop(timer));
  wheel.start(timer, instant{} + 1s);
  wheel.expire(instant{} + 1s, unlimited, [](erlang_timer&) {});
  EXPECT_EQ(timer.cancelled, 1);  // neither a stop nor a timeout is a cancel

  auto* last = new counted_timer;
  last->on_cancel = [](erlang_timer& node) { delete static_cast<counted_timer*>(&node); };
  wheel.start(*last, instant{} + 1s);
  EXPECT_TRUE(wheel.cancel(*last));
  EXPECT_TRUE(wheel.check());

  erlang_timer silent;
  wheel.start(silent, instant{} + 1s);
  EXPECT_TRUE(wheel.cancel(silent));
}

TEST(ErlangWheel, TheFirstStartAllocatesTheSlotsAndNothingElseDoes) {
  wheel_of many(1000);
  const std::size_t before = test::live_bytes();
  {
    const test::failing_allocations fail;
    EXPECT_THROW(many.wheel.start(many.timers[0], instant{}), std::bad_alloc);
    EXPECT_THROW(many.wheel.reset(many.timers[0], instant{}), std::bad_alloc);
    EXPECT_THROW(many.wheel.reserve(1), std::bad_alloc);
  }
  EXPECT_FALSE(many.timers[0].pending());
  EXPECT_EQ(many.wheel.size(), 0u);
  EXPECT_TRUE(many.wheel.check());
  EXPECT_EQ(test::live_bytes(), before);
  many.wheel.reserve(0);
  EXPECT_EQ(test::live_bytes(), before);

  many.wheel.reserve(1);
  EXPECT_GE(test::live_bytes() - before, 512u * 1024);
  const test::failing_allocations fail;
  random_stream random(1);
  for (int round = 0; round < 100; ++round) {
    for (std::size_t i = 0; i < 1000; ++i) {
      const auto ahead = static_cast<std::int64_t>(random.below(std::uint64_t{1} << random.below(50)));
      many.wheel.reset(many.timers[i], instant::from_nanoseconds(ahead));
    }
    many.wheel.expire(instant{} + duration(1min) * round * round, unlimited, [](erlang_timer&) {});
  }
  EXPECT_FALSE(fail.failed());
}

TEST(ErlangWheel, AMillionInOneSlotFireOnceEachWithABudget) {
  constexpr std::size_t count = 1'000'000;
  erlang_wheel wheel;
  const auto all = std::make_unique<erlang_timer[]>(count);
  wheel.expire(instant{}, unlimited, [](erlang_timer&) {});
  for (std::size_t i = 0; i < count; ++i) wheel.start(all[i], instant{} + 1ms);
  std::vector<std::uint8_t> fired(count);
  std::size_t turns = 0;
  for (bool more = true; more; ++turns) {
    const expiry turn = wheel.expire(instant{} + 1ms, erlang_wheel::yield_limit,
                                     [&](erlang_timer& due) { ++fired[static_cast<std::size_t>(&due - all.get())]; });
    ASSERT_EQ(turn.fired, 100u);
    more = turn.more;
  }
  EXPECT_EQ(turns, count / 100);
  EXPECT_EQ(fired, std::vector<std::uint8_t>(count, 1));
}

TEST(ErlangWheel, AMillionInThePastAndAMillionOverdueFireInOrder) {
  constexpr std::size_t count = 500'000;
  erlang_wheel wheel;
  const auto all = std::make_unique<erlang_timer[]>(2 * count);
  random_stream random(3);
  const auto within = [&](duration length) {
    return duration::nanoseconds(static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(length.count()))));
  };
  wheel.expire(instant{}, unlimited, [](erlang_timer&) {});
  for (std::size_t i = 0; i < count; ++i) wheel.start(all[i], instant{} + within(1h));
  for (std::size_t i = count; i < 2 * count; ++i) wheel.start(all[i], instant{} - within(1h));
  instant last = instant::earliest();
  std::size_t fired = 0;
  for (bool more = true; more;) {
    const expiry turn = wheel.expire(instant{} + 1h, 1000, [&](erlang_timer& due) {
      EXPECT_GE(due.deadline() + erlang_wheel::precision, last);
      last = due.deadline();
    });
    fired += turn.fired;
    more = turn.more;
  }
  EXPECT_EQ(fired, 2 * count);
}

TEST(ErlangWheel, ANowThatGoesBackCountsAsStandingStill) {
  wheel_of two(2);
  EXPECT_TRUE(two.expire(instant{} + 1h).empty());
  two.reset(0, instant{} + 30min);
  two.reset(1, instant{} + 1h + 1ms);
  EXPECT_EQ(two.expire(instant{} + 40min), (numbers{0}));
  EXPECT_TRUE(two.expire(instant{}).empty());
  EXPECT_EQ(two.expire(instant{} + 1h + 1ms), (numbers{1}));
}

TEST(ErlangWheel, CheckNamesTheFirstBrokenInvariant) {
  wheel_of three(3);
  three.expire(instant{});
  for (std::size_t i = 0; i < 3; ++i) three.reset(i, instant{} + 5ms);

  timer_node_access::place(three.timers[1]) = 6;
  EXPECT_EQ(broken(three.wheel), "erlang_wheel: the timer at 5 is not in the slot that its node knows");
  timer_node_access::place(three.timers[1]) = 5;

  timer_node_access::deadline(three.timers[1]) = instant{} + 6ms;
  EXPECT_EQ(broken(three.wheel), "erlang_wheel: the timer at 6 is in the slot of another position");
  timer_node_access::deadline(three.timers[1]) = instant{} + 5ms - turn_of_the_wheel;
  EXPECT_EQ(broken(three.wheel), "erlang_wheel: the timer at -65531 is in a slot that the wheel has passed");
  timer_node_access::deadline(three.timers[1]) = instant{} + 5ms;
  EXPECT_EQ(broken(three.wheel), "");
}

}  // namespace
}  // namespace foliot
