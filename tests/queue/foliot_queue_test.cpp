// Tests of foliot's own queue alone. The tests of every queue are in conformance/, those of its memory in
// foliot_queue_memory_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <foliot/core/seam/random.hpp>

#include "foliot_queue_fixture.hpp"
#include "support/allocations.hpp"

namespace foliot {
namespace {

using namespace std::chrono_literals;
using test::million;
using test::morning;
using test::numbered;
using test::trouble;

class FoliotQueue : public test::foliot_queue_fixture {};

TEST_F(FoliotQueue, ANodeIsSmall) { EXPECT_LE(sizeof(foliot_queue::node_type), 24u); }

// Every level's slots, on each side of their edges: a timer fires at its nanosecond, wherever it was queued.
TEST_F(FoliotQueue, FiresToTheNanosecondAtEveryBoundaryOfEveryLevel) {
  make(1);
  instant now = morning;
  expire(now);
  for (int shift = 6; shift <= 60; shift += 3) {
    for (const std::int64_t slots : {1, 7, 8, 9, 31, 61, 62, 63, 64, 65}) {
      for (const std::int64_t beside : {-1, 0, 1}) {
        if (shift == 60 && slots > 1) continue;
        const instant edge = instant::from_nanoseconds((now.nanoseconds() >> shift << shift)) +
                             duration::nanoseconds(slots) * (std::int64_t{1} << shift);
        const instant deadline = edge + duration::nanoseconds(beside);
        if (deadline <= now || deadline - now > duration(24h) * 365 * 40) continue;
        queue.start(timers[0], deadline);
        EXPECT_EQ(queue.next_deadline(), deadline);
        expire(deadline - 1ns);
        expect_sound();
        ASSERT_TRUE(fired.empty()) << "early, shift " << shift << ", slots " << slots << ", beside " << beside;
        expire(deadline);
        ASSERT_EQ(fired.size(), 1u) << "late, shift " << shift << ", slots " << slots << ", beside " << beside;
        fired.clear();
        if (shift < 36) now = deadline;  // else time would run out
        if (shift >= 36) {
          while (queue.pop_any() != nullptr) {
          }
        }
      }
    }
  }
}

TEST_F(FoliotQueue, CatchesUpInExactOrderAfterAStall) {
  for (const duration stall : {duration(1s), duration(10s), duration(1h), duration(24h) * 30}) {
    foliot_queue stalled(morning);
    constexpr std::size_t count = 20'000;
    make(count);
    random_stream random(static_cast<std::uint64_t>(stall.count()));
    for (std::size_t i = 0; i < count; ++i) {
      const auto ahead = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(stall.count())));
      stalled.start(timers[i], morning + duration::nanoseconds(ahead));
    }
    fired.clear();
    for (expiry turn{0, true}; turn.more;) {
      turn = stalled.expire(morning + stall, 100,
                            [&](timer_node& due) { fired.push_back(static_cast<numbered&>(due).number); });
    }
    EXPECT_EQ(fired.size(), count);
    EXPECT_TRUE(fired_in_order());
    EXPECT_EQ(trouble(stalled), "");
  }
}

TEST_F(FoliotQueue, AMillionAtOneInstantFireInStartOrderAHundredATurn) {
  make(million + 1000);
  const instant then = morning + 10s;
  for (std::size_t i = 0; i < million; ++i) queue.start(timers[i], then);
  expire(then - 1ns);
  EXPECT_TRUE(fired.empty());
  // Timers that are started between the turns fire last if they are due at the same instant, and first if before it.
  std::size_t late = million;
  std::size_t turns = 0;
  for (expiry turn{0, true}; turn.more; ++turns) {
    turn = queue.expire(then, 100, [&](timer_node& due) { fired.push_back(static_cast<numbered&>(due).number); });
    if (turns % 100 == 0 && late < million + 1000) {
      queue.start(timers[late++], then);
      if (turns % 5000 == 0) expect_sound();
    }
  }
  ASSERT_EQ(fired.size(), late);
  EXPECT_TRUE(std::ranges::is_sorted(fired));  // numbers are the order of starts
  EXPECT_GE(turns, million / 100);
}

TEST_F(FoliotQueue, AStartThatIsDueEarlierGoesBeforeTheRestOfAHugeSlot) {
  make(10'001);
  const instant then = morning + 10s;
  for (std::size_t i = 0; i < 10'000; ++i) queue.start(timers[i], then);
  while (fired.size() < 500) {
    queue.expire(then, 100, [&](timer_node& due) { fired.push_back(static_cast<numbered&>(due).number); });
  }
  queue.start(timers[10'000], then - 1ns);
  fired.clear();
  queue.expire(then, 100, [&](timer_node& due) { fired.push_back(static_cast<numbered&>(due).number); });
  ASSERT_FALSE(fired.empty());
  EXPECT_EQ(fired.front(), 10'000u);
}

TEST_F(FoliotQueue, AMillionInOneSlotFireInExactOrder) {
  make(million);
  const instant then = morning + 10s;
  random_stream random(4);
  for (std::size_t i = 0; i < million; ++i) {
    queue.start(timers[i], then + duration::nanoseconds(static_cast<std::int64_t>(random.below(1 << 18))));
  }
  expire(then - 1ns, 100);
  EXPECT_TRUE(fired.empty());
  expire(then + 1s, 100);
  EXPECT_EQ(fired.size(), million);
  EXPECT_TRUE(fired_in_order());
  expect_sound();
}

// The first opening puts all of a wide slot into the window, the second finds it there with a crowd.
TEST_F(FoliotQueue, FewInAWideSlotMoveOnceAndMakeWayForMany) {
  constexpr std::size_t few = 20;
  constexpr std::size_t many = 1000;
  make(few + many);
  for (std::size_t i = 0; i < few; ++i) queue.start(timers[i], morning + 1h + static_cast<int>(i) * 1s);
  expire(morning + 1h);
  ASSERT_EQ(fired.size(), 1u);
  const auto in_window = [&](std::size_t i) { return detail::open_window::holds(timer_node_access::place(timers[i])); };
  EXPECT_TRUE(in_window(9));
  random_stream random(10);
  for (std::size_t i = few; i < few + many; ++i) {
    const auto ahead = static_cast<std::int64_t>(random.below(8'000'000'000));
    queue.start(timers[i], morning + 1h + 1s + duration::nanoseconds(ahead));
  }
  expect_sound();
  for (int ms = 0; ms < 1500; ms += 10) expire(morning + 1h + ms * 1ms);
  EXPECT_FALSE(in_window(9));
  expect_sound();
  expire(morning + 2h);
  EXPECT_EQ(fired.size(), few + many);
  EXPECT_TRUE(fired_in_order());
}

TEST_F(FoliotQueue, ABoundedTurnMovesABoundedNumber) {
  make(million);
  random_stream random(5);
  for (std::size_t i = 0; i < million; ++i) {
    queue.start(timers[i], morning + 10s + duration::nanoseconds(static_cast<std::int64_t>(random.below(1 << 18))));
  }
  // A turn ends even if nothing is due yet and all timers have to be moved.
  std::size_t pauses = 0;
  while (queue.expire(morning + 10s - 1ns, 100, [](timer_node&) {}).more) ++pauses;
  while (queue.expire(morning + 10s, 100, [](timer_node&) {}).more) ++pauses;
  EXPECT_GT(pauses, million / 4000);
}

TEST_F(FoliotQueue, WhatStopsHaveLeftCountsAsMovedToo) {
  constexpr std::size_t count = 100'000;
  make(count + count * 6 / 5);
  for (std::size_t i = 0; i < count; ++i) queue.start(timers[i], morning + 1h);
  for (std::size_t i = count; i < count + count * 6 / 5; ++i) queue.start(timers[i], morning + 20h);
  for (std::size_t i = 0; i < count; ++i) queue.stop(timers[i]);
  std::size_t pauses = 0;
  while (queue.expire(morning + 2h, 100, [](timer_node&) {}).more) ++pauses;
  EXPECT_GT(pauses, 20u);  // there are over three thousand chunks without a timer
}

TEST_F(FoliotQueue, NoClockShowsNever) {
  make(1);
  expire(instant::never());
  expect_sound();
  queue.start(timers[0], instant::never());
  expire(instant::never());
  EXPECT_TRUE(fired.empty());
  queue.stop(timers[0]);
  queue.start(timers[0], morning);
  EXPECT_EQ(queue.expire(instant::never(), 1, [](timer_node&) {}), (expiry{1, false}));
  expect_sound();
}

TEST_F(FoliotQueue, ALaterResetLeavesTheEntryWhereItIs) {
  make(1);
  queue.start(timers[0], morning + 10s);
  const std::size_t place = timer_node_access::place(timers[0]);
  const test::allocation_count allocations;
  for (int i = 0; i < 1000; ++i) queue.reset(timers[0], morning + 10s + i * 1s);
  EXPECT_EQ(timer_node_access::place(timers[0]), place);
  EXPECT_EQ(allocations.so_far(), 0u);
  EXPECT_EQ(queue.next_deadline(), morning + 1009s);
}

TEST_F(FoliotQueue, TheNextDeadlineOfFewIsExactAndFollowsStopsAndResets) {
  make(10);
  for (std::size_t i = 0; i < 10; ++i) queue.start(timers[i], morning + (static_cast<int>(i) + 1) * 1h);
  EXPECT_EQ(queue.next_deadline(), morning + 1h);
  queue.stop(timers[0]);
  EXPECT_EQ(queue.next_deadline(), morning + 2h);
  queue.reset(timers[1], morning + 150min);
  EXPECT_EQ(queue.next_deadline(), morning + 150min);
  queue.reset(timers[1], morning + 90min);
  EXPECT_EQ(queue.next_deadline(), morning + 90min);
  queue.stop(timers[1]);
  EXPECT_EQ(queue.next_deadline(), morning + 3h);
}

TEST_F(FoliotQueue, TheNextDeadlineOfMoreThanALookTakesIsWithinASlotOfTheTrueOne) {
  make(10'000);
  for (std::size_t i = 0; i < 10'000; ++i) {
    queue.start(timers[i], morning + 1h + duration::nanoseconds(static_cast<std::int64_t>(i)));
  }
  EXPECT_LE(queue.next_deadline(), morning + 1h);
  EXPECT_GT(queue.next_deadline(), morning + 1h - 68720ms);  // a slot at this distance is 2^36 ns
}

TEST_F(FoliotQueue, WhoSleepsUntilTheNextDeadlineNeverWakesForNothing) {
  make(1000);
  random_stream random(9);
  for (std::size_t i = 0; i < 1000; ++i) {
    queue.start(timers[i], morning + duration::nanoseconds(static_cast<std::int64_t>(random.below(3'600'000'000'000))));
  }
  std::size_t wake_ups = 0;
  std::size_t for_nothing = 0;
  for (instant next = queue.next_deadline(); !next.is_never(); next = queue.next_deadline()) {
    ++wake_ups;
    if (queue.expire(next, unlimited, [](timer_node&) {}).fired == 0) ++for_nothing;
  }
  EXPECT_EQ(wake_ups, 1000u);
  EXPECT_EQ(for_nothing, 0u);
}

TEST_F(FoliotQueue, ACrowdAtOneFarInstantWakesOnce) {
  for (const std::size_t crowd : {9u, 100u, 2000u}) {
    make(crowd + 1);
    const instant now = morning + static_cast<int>(crowd) * 24h;
    expire(now);
    for (std::size_t i = 0; i < crowd; ++i) queue.start(timers[i], now + 10h);
    EXPECT_EQ(queue.next_deadline(), now + 10h);
    queue.start(timers[crowd], now + 10h - 1s);  // in the same slot
    EXPECT_EQ(queue.next_deadline(), now + 10h - 1s);
    queue.stop(timers[crowd]);
    EXPECT_EQ(queue.expire(now + 10h - 1s, unlimited, [](timer_node&) {}).fired, 0u);
    EXPECT_EQ(queue.next_deadline(), now + 10h);
    expire(now + 10h);
    EXPECT_EQ(queue.size(), 0u);
  }
}

// A slot with more timers than one look reads: next_deadline() returns the time of its split, and each split moves
// the timers to slots that are at most an eighth as wide.
TEST_F(FoliotQueue, AHugeCrowdAtOneFarInstantWakesFewTimes) {
  make(million);
  for (std::size_t i = 0; i < million; ++i) queue.start(timers[i], morning + 1h);
  std::size_t for_nothing = 0;
  for (instant next = queue.next_deadline(); next < morning + 1h; next = queue.next_deadline()) {
    ++for_nothing;
    expire(next);
  }
  EXPECT_LE(for_nothing, 6u);
  EXPECT_EQ(queue.next_deadline(), morning + 1h);
  expire(morning + 1h);
}

// Calls in quick succession return a stale deadline for a while; a thread that sleeps until then gets the true one.
TEST_F(FoliotQueue, AfterStopsOfTheEarliestOneWakeUpIsForNothingAtMost) {
  constexpr std::size_t count = 1000;
  make(count);
  for (std::size_t i = 0; i < count; ++i) queue.start(timers[i], morning + 1h + static_cast<int>(i) * 1ms);
  EXPECT_EQ(queue.next_deadline(), morning + 1h);
  for (std::size_t i = 0; i < count / 2; ++i) {
    queue.stop(timers[i]);
    EXPECT_LE(queue.next_deadline(), timers[i + 1].deadline());
    EXPECT_GE(queue.next_deadline(), morning + 1h);
  }
  std::size_t for_nothing = 0;
  while (queue.next_deadline() < timers[count / 2].deadline()) {
    ++for_nothing;
    expire(queue.next_deadline());
  }
  EXPECT_LE(for_nothing, 1u);
  EXPECT_EQ(queue.next_deadline(), timers[count / 2].deadline());
  for (std::size_t i = count / 2; i + 5 < count; ++i) queue.stop(timers[i]);
  for (std::size_t asks = 0; asks < count; ++asks) static_cast<void>(queue.next_deadline());
  EXPECT_EQ(queue.next_deadline(), timers[count - 5].deadline());
}

// The timers' slot does not bound their deadlines: next_deadline() looks at the slots after it, too.
TEST_F(FoliotQueue, TheNextDeadlineIsExactWhenAllOfASlotHasMovedOn) {
  make(30);
  for (std::size_t i = 0; i < 30; ++i) queue.start(timers[i], morning + (i < 20 ? 10min : 20min));
  for (std::size_t i = 0; i < 20; ++i) queue.reset(timers[i], morning + 30min);
  EXPECT_EQ(queue.next_deadline(), morning + 20min);
  for (std::size_t i = 20; i < 30; ++i) queue.reset(timers[i], morning + 40min);
  expire(morning + 20min);
  EXPECT_EQ(queue.next_deadline(), morning + 30min);
}

TEST_F(FoliotQueue, ALoneTimerThatIsPushedBackWakesNobody) {
  make(1);
  instant now = morning;
  queue.start(timers[0], now + 30s);
  for (int beat = 0; beat < 1000; ++beat) {
    now += 1s;
    queue.reset(timers[0], now + 30s);
    ASSERT_EQ(queue.next_deadline(), now + 30s);
  }
}

// The n-th allocation fails, for every n: the caller gets an exception, and no timer is lost or half armed.
TEST_F(FoliotQueue, StopsAndResetsManyAtOnce) {
  constexpr std::size_t count = 1000;
  make(count);
  std::vector<timer_node*> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = &timers[i];
  EXPECT_EQ(queue.reset(all, morning + 5s), 0u);
  EXPECT_EQ(queue.size(), count);
  EXPECT_EQ(queue.reset(all, morning + 3s), count);
  for (std::size_t i = 0; i < count; i += 2) queue.prefetch(timers[i]);
  EXPECT_EQ(queue.stop(std::span(all).first(300)), 300u);
  EXPECT_EQ(queue.stop(std::span(all).first(400)), 100u);
  expect_sound();
  expire(morning + 3s);
  EXPECT_EQ(fired.size(), 600u);
  EXPECT_TRUE(std::ranges::is_sorted(fired));  // they were reset in this order
}

// The last stop must drop the chunks of all slots: a chunk that stayed without the queue's knowledge would hide the
// timers that are started in its slot.
TEST_F(FoliotQueue, WhatIsStartedAfterAllHasBeenStoppedFires) {
  constexpr std::size_t crowd = 40;  // two chunks in one slot
  make(crowd + 1);
  numbered& lone = timers[crowd];
  instant now = morning;
  for (int shift = 12; shift <= 51; shift += 3) {
    for (std::int64_t slots = 9; slots <= 61; slots += 4) {
      expire(now);
      fired.clear();
      for (std::size_t i = 0; i < crowd; ++i) {
        queue.start(timers[i], now + duration::nanoseconds(std::int64_t{61} << (shift - 3)));
      }
      const instant deadline = now + duration::nanoseconds(slots << shift);
      queue.start(lone, deadline);
      for (std::size_t i = 0; i <= crowd; ++i) queue.stop(timers[i]);
      expect_sound();
      queue.start(lone, deadline);
      EXPECT_LE(queue.next_deadline(), deadline);
      expire(deadline);
      EXPECT_EQ(fired.size(), 1u) << slots << " slots of 2^" << shift << " ns ahead";
      queue.stop(lone);
      now += 1s;
      now = std::max(now, deadline);
    }
  }
}

TEST_F(FoliotQueue, SlackIsHowLateATimerMayBeAndNeverEarly) {
  make(100);
  random_stream random(8);
  for (std::size_t i = 0; i < 100; ++i) {
    const instant asked = morning + duration::nanoseconds(static_cast<std::int64_t>(random.below(1'000'000'000)));
    queue.start(timers[i], asked, 100ms);
    EXPECT_GE(timers[i].deadline(), asked);
    EXPECT_LE(timers[i].deadline(), asked + 100ms);
  }
  std::size_t wake_ups = 0;
  while (queue.size() > 0) {
    ++wake_ups;
    expire(queue.next_deadline());
  }
  EXPECT_LE(wake_ups, 25u);  // a hundred timers, some eleven stretches of 100 ms
}

TEST_F(FoliotQueue, CheckNamesTheFirstBrokenInvariant) {
  make(3);
  queue.start(timers[0], morning + 1h);
  queue.start(timers[1], morning + 1h);
  expect_sound();
  const std::size_t place = timer_node_access::place(timers[0]);
  timer_node_access::place(timers[0]) = timer_node_access::place(timers[1]);
  EXPECT_NE(trouble(queue).find("has a node with another place"), std::string::npos);
  timer_node_access::place(timers[0]) = place;
  timer_node_access::deadline(timers[0]) = morning + 1s;
  EXPECT_EQ(trouble(queue), "wheel: a deadline is before the bound");
  timer_node_access::deadline(timers[0]) = morning + 1h;
  queue.stop(timers[0]);
  EXPECT_EQ(queue.next_deadline(), morning + 1h);
  expect_sound();
  timer_node_access::deadline(timers[1]) = morning + 1s;
  EXPECT_NE(trouble(queue), "");
  timer_node_access::deadline(timers[1]) = morning + 1h;

  expire(morning + 59min + 59s);
  queue.start(timers[2], morning + 59min + 59s);
  timer_node_access::deadline(timers[1]) = morning + 2h;  // in the run: its slot has opened
  EXPECT_EQ(trouble(queue), "open_window: entry 0 of the run has another deadline than its node");
  timer_node_access::deadline(timers[1]) = morning + 1h;
  timer_node_access::deadline(timers[2]) = morning + 2h;
  EXPECT_EQ(trouble(queue), "open_window: entry 0 has another deadline than its node");
  timer_node_access::deadline(timers[2]) = morning + 59min + 59s;
  expect_sound();
}

}  // namespace
}  // namespace foliot
