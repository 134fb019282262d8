// The memory of foliot's own queue: how much it allocates, when it frees it, and what happens when an allocation fails.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>
#include <vector>

#include <foliot/core/seam/random.hpp>

#include "foliot_queue_fixture.hpp"
#include "support/allocations.hpp"

namespace foliot {
namespace {

using namespace std::chrono_literals;
using test::million;
using test::morning;
using test::trouble;

class FoliotQueueMemory : public test::foliot_queue_fixture {};

TEST_F(FoliotQueueMemory, TenMillionStartsAndStopsLeaveMemoryWhereItWas) {
  make(1000);
  queue.reserve(1000);
  random_stream random(1);
  const auto pair = [&](std::size_t i) {
    queue.start(timers[i % 1000],
                morning + 1h + duration::nanoseconds(static_cast<std::int64_t>(random.below(1'000'000'000'000))));
    queue.stop(timers[(i * 7) % 1000]);
    queue.stop(timers[i % 1000]);
  };
  for (std::size_t i = 0; i < 10'000; ++i) pair(i);
  const test::allocation_count allocations;
  const std::size_t before = test::live_bytes();
  for (std::size_t i = 0; i < 10 * million; ++i) pair(i);
  EXPECT_EQ(test::live_bytes(), before);
  EXPECT_EQ(allocations.so_far(), 0u);
}

TEST_F(FoliotQueueMemory, MemoryComesBackAfterAPeak) {
  make(million);
  const std::size_t before = test::live_bytes();
  random_stream random(2);
  const auto start_all = [&] {
    for (std::size_t i = 0; i < million; ++i) {
      queue.start(timers[i],
                  morning + 1s + duration::nanoseconds(static_cast<std::int64_t>(random.below(3'600'000'000'000))));
    }
  };
  constexpr std::size_t kept = 512 * 1024;  // at most a chunk for each slot, and a block
  start_all();
  EXPECT_LT(test::live_bytes() - before, million * 10);
  for (std::size_t i = 0; i < million; ++i) queue.stop(timers[i]);
  EXPECT_LT(test::live_bytes() - before, kept);
  start_all();
  expire(morning + 2h);
  std::vector<std::size_t>().swap(fired);
  EXPECT_LT(test::live_bytes() - before, kept);
}

TEST_F(FoliotQueueMemory, WhatStopsLeaveBehindIsBounded) {
  make(million);
  const std::size_t nothing = test::live_bytes();
  for (std::size_t i = 0; i < million; ++i) {
    queue.start(timers[i], morning + 1h + duration::nanoseconds(static_cast<std::int64_t>(i)));
  }
  const std::size_t full = test::live_bytes() - nothing;
  // All but each 64th timer: each chunk keeps at most one node, unless the queue packs the chunks.
  for (std::size_t i = 0; i < million; ++i) {
    if (i % 64 != 0) queue.stop(timers[i]);
    if (i % (million / 4) == 0) expect_sound();
  }
  expect_sound();
  EXPECT_LT(test::live_bytes() - nothing, full / 8);
  expire(morning + 2h);
  EXPECT_EQ(fired.size(), (million + 63) / 64);
  EXPECT_TRUE(fired_in_order());
}

// A reset to an earlier slot leaves a hole behind as a stop does. None of the slots opens meanwhile.
TEST_F(FoliotQueueMemory, WhatResetsLeaveBehindIsBounded) {
  constexpr std::size_t count = 10'000;
  make(count);
  const std::size_t nothing = test::live_bytes();
  std::size_t full = 0;
  for (int slot = 60; slot >= 10; --slot) {
    for (std::size_t i = 0; i < count; ++i) queue.reset(timers[i], morning + 1min * slot);
    if (full == 0) full = test::live_bytes() - nothing;
    EXPECT_LE(test::live_bytes() - nothing, 3 * full);
    expect_sound();
  }
  expire(morning + 1h);
  EXPECT_EQ(fired.size(), count);
  EXPECT_TRUE(std::ranges::is_sorted(fired));
}

TEST_F(FoliotQueueMemory, StartsWithinWhatIsReservedDoNotAllocate) {
  constexpr std::size_t count = 20'000;
  make(count);
  queue.reserve(count);
  random_stream random(3);
  const test::allocation_count allocations;
  for (int round = 0; round < 3; ++round) {
    for (std::size_t i = 0; i < count; ++i) {
      queue.start(timers[i], morning + duration::nanoseconds(static_cast<std::int64_t>(random.below(1'000'000'000))));
    }
    for (std::size_t i = 0; i < count; ++i) queue.reset(timers[i], morning + 1ms);
    for (std::size_t i = 0; i < count; ++i) queue.stop(timers[i]);
  }
  EXPECT_EQ(allocations.so_far(), 0u);
}

TEST_F(FoliotQueueMemory, AFailedAllocationIsReportedAndLosesNothing) {
  constexpr std::size_t count = 5000;
  for (std::size_t succeeding = 0;; ++succeeding) {
    foliot_queue tight(morning);
    make(count);
    random_stream random(6);
    std::size_t pending = 0;
    std::size_t seen = 0;
    bool failed = false;
    const auto attempt = [&](auto&& act) {
      try {
        act();
        return true;
      } catch (const std::bad_alloc&) {
        return false;
      }
    };
    {
      const test::failing_allocations fail(succeeding);
      for (std::size_t i = 0; i < count; ++i) {
        const instant deadline =
            morning + duration::nanoseconds(static_cast<std::int64_t>(random.below(1'000'000'000)));
        if (attempt([&] { tight.start(timers[i], deadline); })) ++pending;
        EXPECT_EQ(timers[i].pending(), tight.size() == pending && timers[i].pending());
        if (i % 3 == 0 && timers[i].pending()) {
          const instant old = timers[i].deadline();
          const bool reset = attempt([&] { tight.reset(timers[i], morning + 1us); });
          EXPECT_EQ(timers[i].deadline(), reset ? morning + 1us : old);
        }
      }
      EXPECT_EQ(tight.size(), pending);
      for (int ms = 0; ms <= 1000; ms += 20) {
        attempt([&] { tight.expire(morning + ms * 1ms, 50, [&](timer_node&) { ++seen; }); });
        EXPECT_EQ(tight.size() + seen, pending);
      }
      failed = fail.failed();
    }
    EXPECT_EQ(trouble(tight), "");
    instant last = instant::earliest();
    while (tight
               .expire(morning + 2s, 100,
                       [&](timer_node& due) {
                         ++seen;
                         EXPECT_GE(due.deadline(), last);
                         last = due.deadline();
                       })
               .more) {
    }
    EXPECT_EQ(seen, pending);
    if (!failed) break;
    if (succeeding > 12) succeeding += succeeding / 3;
  }
}

// Timers that are due are requeued without memory, near and far. No other timer waits for that, and all fire in order.
TEST_F(FoliotQueueMemory, ARequeueNeedsNoMemory) {
  constexpr std::size_t count = 600;
  std::size_t turns_that_put_back = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    make(count);
    fired.clear();
    random_stream random(seed);
    const auto some_ns = [&random](std::uint64_t digits) {
      return duration::nanoseconds(
          static_cast<std::int64_t>(random.below(std::uint64_t{1} << random.below(digits)) + 1));
    };
    for (std::size_t i = 0; i < count; ++i) queue.start(timers[i], morning + some_ns(20));
    std::vector<int> requeues_left(count, 5);
    instant last = instant::earliest();
    const auto fire = [&](timer_node& due) {
      EXPECT_GE(due.deadline(), last);
      last = due.deadline();
      const std::size_t number = static_cast<test::numbered&>(due).number;
      if (requeues_left[number]-- == 0) return fired.push_back(number);
      queue.requeue(due, due.deadline() + some_ns(40));
    };
    fired.reserve(count);
    std::size_t waits_for_memory = 0;
    for (instant now = morning;; now += some_ns(32)) {
      bool more = true;
      while (more) {
        try {
          const test::failing_allocations fail;
          more = queue.expire(now, 100, fire).more;
          if (fail.failed()) ++turns_that_put_back;  // else the error would have come out of expire()
        } catch (const std::bad_alloc&) {
          ++waits_for_memory;  // a slot has not opened
          more = queue.expire(now, 100, fire).more;
        }
      }
      expect_sound();
      if (HasFailure() || queue.size() == 0) break;
      now = std::max(now, queue.next_deadline());
    }
    EXPECT_EQ(fired.size(), count);
    EXPECT_EQ(queue.size(), 0u) << "seed " << seed << ", " << waits_for_memory << " waits for memory";
    if (HasFailure()) return;
  }
  EXPECT_GT(turns_that_put_back, 0u) << "no allocation of a requeue has failed";
}

TEST_F(FoliotQueueMemory, AWindowTakesBackWhatItHasGiven) {
  constexpr std::size_t count = 3000;
  for (const int put_back_at : {15, 20, 25, 50, 60, 100, 110}) {
    SCOPED_TRACE(put_back_at);
    make(count);
    detail::open_window window;
    const auto add = [&](std::size_t i, int deadline) {
      timer_node_access::set_deadline(timers[i], instant::from_nanoseconds(deadline));
      timer_node_access::sequence(timers[i]) = i;
      window.add(timers[i]);
    };
    window.make_room(3);
    add(0, 10);
    add(1, 20);
    add(2, 100);
    std::size_t added = 3;
    for (bool full = false; !full && added < count; ++added) {  // the heap: these fire before the end of the run
      try {
        const test::failing_allocations fail;
        window.make_room();
        add(added, 50);
      } catch (const std::bad_alloc&) {
        full = true;
        --added;
      }
    }
    ASSERT_EQ(&window.pop(), &timers[0]);
    {
      const test::failing_allocations fail;
      timer_node_access::set_deadline(timers[0], instant::from_nanoseconds(put_back_at));
      timer_node_access::sequence(timers[0]) = added;
      window.put_back(timers[0]);
    }
    const check_result sound = window.check();
    ASSERT_TRUE(sound) << sound.error();
    EXPECT_EQ(window.size(), added);
    std::pair<instant, std::uint64_t> last{instant::earliest(), 0};
    for (; !window.empty(); --added) {
      timer_node& first = window.pop();
      const std::pair<instant, std::uint64_t> next{first.deadline(), timer_node_access::sequence(first)};
      EXPECT_LT(last, next) << "timers with equal deadlines fire in the order of their starts";
      last = next;
    }
    EXPECT_EQ(added, 0u);
  }
}

TEST_F(FoliotQueueMemory, ATimerThatArmsItselfForNowForEverNeedsNoMoreMemory) {
  make(1);
  queue.start(timers[0], morning);
  const auto again = [&](timer_node& due) { queue.start(due, morning); };
  queue.expire(morning, 1000, again);
  const std::size_t before = test::live_bytes();
  for (int i = 0; i < 100; ++i) queue.expire(morning, 1000, again);
  EXPECT_EQ(test::live_bytes(), before);
}

// The run of the window has grown long, and the last timer in it moves within the window.
TEST_F(FoliotQueueMemory, AResetWithoutMemoryKeepsTheOldDeadline) {
  constexpr std::size_t count = 5000;
  make(count);
  expire(morning);
  queue.start(timers[0], morning + 10ms);
  expire(morning + 10ms - 1ns);  // its slot opens, and the window with it
  for (std::size_t i = 1; i < count; ++i) {
    queue.start(timers[i], morning + 10ms + duration::nanoseconds(static_cast<std::int64_t>(i)));
  }
  for (std::size_t i = 0; i + 1 < count; ++i) queue.stop(timers[i]);
  timer_node& last = timers[count - 1];
  ASSERT_TRUE(detail::open_window::holds(timer_node_access::place(last)));
  const instant old = last.deadline();
  bool reset = true;
  {
    const test::failing_allocations fail;
    try {
      queue.reset(last, old - 1ns);
    } catch (const std::bad_alloc&) {
      reset = false;
    }
  }
  EXPECT_TRUE(last.pending());
  EXPECT_EQ(last.deadline(), reset ? old - 1ns : old);
  expect_sound();
}

// Full slots fire and give back their chunks. The remaining slots are then sparse by comparison, and are packed.
TEST_F(FoliotQueueMemory, WhatIsLeftAfterMostHaveFiredIsBounded) {
  constexpr std::size_t half = million / 10;
  make(2 * half);
  const std::size_t nothing = test::live_bytes();
  for (std::size_t i = 0; i < half; ++i) queue.start(timers[i], morning + 1s);
  for (std::size_t i = half; i < 2 * half; ++i) queue.start(timers[i], morning + 10h);
  for (std::size_t i = half; i < 2 * half; ++i) {
    if (i % 1000 != 0) queue.stop(timers[i]);
  }
  static_cast<void>(queue.expire(morning + 2s, unlimited, [](timer_node&) {}));
  expect_sound();
  EXPECT_LT(test::live_bytes() - nothing, 400'000u);
}

TEST_F(FoliotQueueMemory, StopsAtTheEndOfTimePackToo) {
  constexpr std::size_t count = 20'000;
  make(count);
  expire(instant::latest() - 1h);
  for (std::size_t i = 0; i < count; ++i) queue.start(timers[i], instant::never());
  expire(instant::latest());
  EXPECT_TRUE(fired.empty());
  for (std::size_t i = 10; i < count; ++i) queue.stop(timers[i]);
  expect_sound();
}

TEST_F(FoliotQueueMemory, StartsElsewhereWithinWhatIsReservedDoNotAllocate) {
  constexpr std::size_t count = 200'000;
  make(count);
  queue.reserve(count);
  const test::allocation_count allocations;
  for (std::size_t i = 0; i < count; ++i) queue.start(timers[i], morning + 1h);
  for (std::size_t i = 0; i < 90'000; ++i) queue.stop(timers[i]);
  for (std::size_t i = 0; i < 90'000; ++i) queue.start(timers[i], morning + 2h);
  EXPECT_EQ(allocations.so_far(), 0u);
}

}  // namespace
}  // namespace foliot
