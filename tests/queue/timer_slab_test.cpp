#include <foliot/queue/timer_slab.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <new>
#include <set>
#include <string>
#include <vector>

#include <foliot/core/seam/random.hpp>
#include <foliot/queue/quad_heap.hpp>

#include "support/allocations.hpp"

namespace foliot {
namespace {

using namespace std::chrono_literals;

constexpr instant morning = instant::from_nanoseconds(1'000'000'000'000);

template <class Slab>
std::string trouble(const Slab& slab) {
  const check_result sound = slab.check();
  return sound ? "" : sound.error();
}

TEST(TimerSlab, AHandleIsOneWord) {
  using handle = timer_slab<int>::handle;
  EXPECT_EQ(sizeof(handle), 8u);
  timer_slab<int> slab;
  const handle h = slab.start(morning, 1);
  EXPECT_EQ(handle::from_bits(h.bits()), h);
  EXPECT_TRUE(slab.stop(handle::from_bits(h.bits())));
}

TEST(TimerSlab, FiringHandsOutTheValueOnce) {
  timer_slab<std::string> slab;
  const auto late = slab.start(morning + 2s, "late");
  const auto soon = slab.start(morning + 1s, "soon");
  EXPECT_EQ(slab.next_deadline(), morning + 1s);
  std::vector<std::string> fired;
  const auto keep = [&](std::string value) { fired.push_back(std::move(value)); };
  slab.expire(morning + 1s, unlimited, keep);
  EXPECT_EQ(fired, (std::vector<std::string>{"soon"}));
  EXPECT_FALSE(slab.stop(soon));
  EXPECT_FALSE(slab.reset(soon, morning + 5s));
  EXPECT_EQ(slab.find(soon), nullptr);
  EXPECT_EQ(*slab.find(late), "late");
  EXPECT_TRUE(slab.reset(late, morning + 3s));
  slab.expire(morning + 2s, unlimited, keep);
  EXPECT_EQ(fired.size(), 1u);
  slab.expire(morning + 3s, unlimited, keep);
  EXPECT_EQ(fired.back(), "late");
  EXPECT_EQ(trouble(slab), "");
}

TEST(TimerSlab, ADefaultHandleAndOneFromElsewhereNameNothing) {
  timer_slab<int> slab;
  EXPECT_FALSE(slab.stop({}));
  EXPECT_FALSE(slab.stop(timer_slab<int>::handle::from_bits(UINT64_MAX)));
  EXPECT_FALSE(slab.stop(timer_slab<int>::handle::from_bits(1)));
  EXPECT_EQ(slab.find({}), nullptr);
}

TEST(TimerSlab, AStaleHandleNeverActsOnAStranger) {
  timer_slab<int> slab;
  std::vector<timer_slab<int>::handle> stale;
  for (int i = 0; i < 1000; ++i) {
    const auto h = slab.start(morning + 1s, i);
    for (const auto& old : stale) {
      ASSERT_FALSE(slab.reset(old, morning));
      ASSERT_FALSE(slab.stop(old));
    }
    ASSERT_EQ(*slab.find(h), i);
    slab.stop(h);
    stale.push_back(h);
  }
}

TEST(TimerSlab, ASinkMayStartStopAndReset) {
  timer_slab<int> slab;
  timer_slab<int>::handle other = slab.start(morning + 1s, 100);
  int fired = 0;
  static_cast<void>(slab.start(morning, 0));
  slab.expire(morning, unlimited, [&](int value) {
    ++fired;
    if (value == 0) {
      EXPECT_TRUE(slab.stop(other));
    }
    if (value < 5) static_cast<void>(slab.start(morning, value + 1));
  });
  EXPECT_EQ(fired, 6);
  EXPECT_EQ(slab.size(), 0u);
}

TEST(TimerSlab, AValueEndsWithItsTimer) {
  const auto shared = std::make_shared<int>(1);
  {
    timer_slab<std::shared_ptr<int>> slab;
    const auto stopped = slab.start(morning + 1s, shared);
    static_cast<void>(slab.start(morning, shared));
    static_cast<void>(slab.start(morning + 1h, shared));
    EXPECT_EQ(shared.use_count(), 4);
    slab.stop(stopped);
    EXPECT_EQ(shared.use_count(), 3);
    slab.expire(morning, unlimited, [](const std::shared_ptr<int>&) {});
    EXPECT_EQ(shared.use_count(), 2);
  }
  EXPECT_EQ(shared.use_count(), 1);
}

TEST(TimerSlab, AFailedStartChangesNothing) {
  for (std::size_t succeeding = 0;; ++succeeding) {
    timer_slab<int> slab;
    bool failed = false;
    std::size_t started = 0;
    {
      const test::failing_allocations fail(succeeding);
      for (int i = 0; i < 3000; ++i) {
        try {
          static_cast<void>(slab.start(morning + i * 1ms, i));
          ++started;
        } catch (const std::bad_alloc&) {
        }
      }
      failed = fail.failed();
    }
    EXPECT_EQ(slab.size(), started);
    EXPECT_EQ(trouble(slab), "");
    if (!failed) break;
  }
}

TEST(TimerSlab, StartsWithinWhatIsReservedDoNotAllocate) {
  timer_slab<int> slab;
  slab.reserve(1000);
  const test::allocation_count allocations;
  for (int i = 0; i < 1000; ++i) static_cast<void>(slab.start(morning + i * 1ms, i));
  slab.expire(morning + 1h, unlimited, [](int) {});
  EXPECT_EQ(allocations.so_far(), 0u);
}

TEST(TimerSlab, AReserveThatFindsNoMemoryGivesAllOfItBack) {
  timer_slab<int> slab;
  const auto pending = slab.start(morning, 1);
  const std::size_t before = test::live_bytes();
  for (const std::size_t count : {~std::size_t{0}, ~std::size_t{0} - 100, std::size_t{1} << 48, std::size_t{1} << 33}) {
    EXPECT_THROW(slab.reserve(count), std::bad_alloc) << count;
  }
  bool any_failed = true;
  for (std::size_t n = 0; any_failed; ++n) {
    const test::failing_allocations fail(n);
    try {
      slab.reserve(3000);
    } catch (const std::bad_alloc&) {
      EXPECT_EQ(test::live_bytes(), before) << "after " << n << " allocations";
    }
    any_failed = fail.failed();
  }
  EXPECT_EQ(trouble(slab), "");
  EXPECT_TRUE(slab.stop(pending));
}

/// Random operations, with live and stale handles, compared with a map of the timers that must be there.
template <class Slab>
void compare_with_a_map() {
  random_stream random(21);
  Slab slab;
  std::map<std::uint64_t, int> pending;
  std::vector<typename Slab::handle> handles(1);
  instant now = morning;
  for (int i = 0; i < 20'000; ++i) {
    const auto some = handles[random.below(handles.size())];
    const instant deadline = now + duration::nanoseconds(static_cast<std::int64_t>(random.below(1'000'000'000)));
    switch (random.below(4)) {
      case 0:
        handles.push_back(slab.start(deadline, i));
        ASSERT_TRUE(pending.emplace(handles.back().bits(), i).second) << "the slab returned the same handle twice";
        break;
      case 1: ASSERT_EQ(slab.stop(some), pending.erase(some.bits()) == 1); break;
      case 2: ASSERT_EQ(slab.reset(some, deadline), pending.contains(some.bits())); break;
      default:
        now += 10ms;
        slab.expire(now, 1 + random.below(5),
                    [&](int value) { std::erase_if(pending, [&](const auto& each) { return each.second == value; }); });
    }
    ASSERT_EQ(slab.size(), pending.size());
    if (i % 500 == 0) {
      ASSERT_EQ(trouble(slab), "");
    }
  }
  for (const auto& [bits, value] : pending) ASSERT_EQ(*slab.find(Slab::handle::from_bits(bits)), value);
}

TEST(TimerSlab, AgreesWithAMapOverFoliotsQueue) { compare_with_a_map<timer_slab<int>>(); }
TEST(TimerSlab, AgreesWithAMapOverAHeap) { compare_with_a_map<timer_slab<int, quad_heap>>(); }

}  // namespace
}  // namespace foliot
