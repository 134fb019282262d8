// Failing allocations: for n = 0, 1, 2, … the n-th allocation in the life of a timer fails, until a life has fewer.
// Each failure is reported to the caller, no timer is half armed, and no other timer is lost.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <latch>
#include <limits>
#include <new>
#include <optional>
#include <semaphore>
#include <thread>
#include <utility>
#include <vector>

#include <foliot/queue/hashed_wheel.hpp>
#include <foliot/queue/red_black_tree.hpp>

#include "fixture.hpp"
#include "support/allocations.hpp"

namespace foliot::test {
namespace {

using namespace std::chrono_literals;

class Faults : public virtual_suite {};

INSTANTIATE_TEST_SUITE_P(, Faults, every_engine(), engine_as_name);

TEST_P(Faults, TheNthAllocationOfALifeFails) {
  int others_fired = 0;
  int fired = 0;
  bool any_failed = true;
  std::size_t n = 0;
  for (; any_failed; ++n) {
    timer_service fresh(clock, options());
    timer other(fresh, 1ms, [&] { ++others_fired; });
    const service_counters before = fresh.counters();
    std::array<char, 100> large{};  // a closure that needs an allocation of its own
    std::optional<timer> t;
    std::optional<ticker> beat;
    {
      const failing_allocations fail(n);
      try {
        t.emplace(fresh, 1ms, [&fired, large] { fired += 1 + large[0]; });
        beat.emplace(fresh, 1ms, [&fired, large] { fired += 1 + large[0]; });
        for (int i = 0; i < 40; ++i) timer(fresh, 1ms, [&fired] { ++fired; }).detach();
      } catch (const std::bad_alloc&) {
        EXPECT_EQ(fresh.counters().pending,
                  before.pending + (t ? 1 : 0) + (beat ? 1 : 0) + (beat ? fresh.counters().started - 3 : 0));
      }
      any_failed = fail.failed();
    }
    const service_counters armed = fresh.counters();
    const int before_firing = fired;
    clock.advance(1ms);
    EXPECT_EQ(fired - before_firing, static_cast<int>(armed.pending) - 1)
        << "a timer must fire if and only if its start succeeded";
  }
  EXPECT_GT(n, 5u);
  EXPECT_EQ(others_fired, static_cast<int>(n));
}

/// As time passes queues move timers, and tickers start their next ticks. If there is no memory for that, the timers
/// wait for it, or the failure is reported; each started timer fires once.
TEST_P(Faults, TheNthAllocationOfAnAdvanceFails) {
  for (const std::size_t failures : {std::size_t{1}, std::numeric_limits<std::size_t>::max()}) {
    bool any_failed = true;
    for (std::size_t n = 0; any_failed; ++n) {
      virtual_clock time;
      int reported = 0;
      service_options chosen = options();
      chosen.on_exception = [&reported](const std::exception_ptr&) { ++reported; };
      timer_service fresh(time, std::move(chosen));
      std::vector<int> fired(60);
      std::vector<timer> many;
      for (std::size_t i = 0; i < fired.size(); ++i) {
        many.emplace_back(fresh, 41ms * static_cast<int>(i % 20 + 1), [&, i] { ++fired[i]; });
      }
      int beats = 0;
      const ticker beat(fresh, 100ms, [&] { ++beats; });
      int thrown = 0;
      {
        const failing_allocations fail(n, failures);
        try {
          time.advance(900ms);
        } catch (const std::bad_alloc&) {
          ++thrown;
        }
        any_failed = fail.failed();
      }
      EXPECT_EQ(any_failed, thrown + reported > 0) << "each failure must be thrown or reported";
      time.advance(2s);
      for (const int each : fired) EXPECT_EQ(each, 1);
      EXPECT_EQ(beat.pending(), reported == 0) << "a ticker that stopped for lack of memory must be reported";
      EXPECT_TRUE(static_cast<std::uint64_t>(beats) + beat.skipped() >= 18 || !beat.pending())
          << "the ticks must cover at least two seconds";
      const service_counters counted = fresh.counters();
      EXPECT_EQ(counted.pending, beat.pending() ? 1u : 0u);
      EXPECT_EQ(counted.fired, fired.size() + static_cast<std::size_t>(beats));
    }
  }
}

/// The same on the service's own thread: an allocation in one of its next turns fails, and no timer is lost.
TEST_P(Faults, TheNthAllocationOfAThreadFails) {
  bool any_failed = true;
  for (std::size_t n = 0; any_failed; ++n) {
    constexpr int count = 40;
    service_options chosen = options();
    chosen.shards = 1;
    chosen.on_exception = [](const std::exception_ptr&) {};
    timer_service fresh(std::move(chosen));
    std::optional<failing_allocations> fail;  // of the service's thread
    std::array<std::atomic<int>, count> fired{};
    std::vector<timer> many;
    for (std::atomic<int>& each : fired) many.emplace_back(fresh, [&each] { ++each; });
    std::latch over(1);
    timer ends(fresh, [&] {
      any_failed = fail->failed();
      fail.reset();
      over.count_down();
    });
    timer begins(fresh, [&] {
      for (std::size_t i = 0; i < many.size(); ++i) many[i].reset(std::chrono::microseconds(i * 37));
      for (std::size_t i = 0; i < many.size(); i += 2) many[i].reset(std::chrono::microseconds(2000 + i * 37));
      ends.reset(5ms);
      fail.emplace(n, 1);
    });
    begins.reset(0ns);
    over.wait();
    EXPECT_EQ(fresh.drain(1h), 0u);
    for (const std::atomic<int>& each : fired) EXPECT_EQ(each, 1);
    EXPECT_EQ(fresh.counters().fired, count + 2u);
  }
}

/// A service of several shards reserves in all of them, or in none.
TEST_P(Faults, AReserveThatFindsNoMemoryGivesAllOfItBack) {
  bool any_failed = true;
  for (std::size_t n = 0; any_failed; ++n) {
    timer_service fresh(options());  // no timer, and so no thread that allocates
    const std::size_t before = live_bytes();
    const failing_allocations fail(n);
    try {
      fresh.reserve(2000);
    } catch (const std::bad_alloc&) {
      EXPECT_EQ(live_bytes(), before) << "after " << n << " allocations";
    }
    any_failed = fail.failed();
    ASSERT_FALSE(HasFailure());
    if (n > 40) n += n / 8;  // there are many allocations of the same kind
  }
}

/// A service of two shards with a timer in each.
struct two_shards {
  two_shards() {
    for (std::optional<timer>& each : pending) {
      std::thread([&] { each.emplace(timers, 1h, [] {}); }).join();
    }
  }
  static service_options options() {
    service_options chosen;
    chosen.engine = "foliot";
    chosen.shards = 2;
    return chosen;
  }
  timer_service timers{options()};
  std::array<std::optional<timer>, 2> pending;
};

/// The end of a timer in one shard, while the reserve allocates for the next one, could give memory back that it has
/// counted on.
TEST(Reserve, LetsNoTimerEndUntilAllShardsHaveTheirMemory) {
  std::size_t allocations = 0;
  {
    two_shards same;
    const allocation_count count;
    same.timers.reserve(5000);
    allocations = count.so_far();
  }
  two_shards fresh;
  std::latch begin(1);
  std::counting_semaphore<2> ended(0);
  std::vector<std::thread> threads;
  for (std::optional<timer>& each : fresh.pending) {
    threads.emplace_back([&] {
      begin.wait();
      each.reset();
      ended.release();
    });
  }
  bool was_asked = false;
  bool has_ended = false;
  {
    const before_allocation last(allocations, [&] {
      was_asked = true;
      begin.count_down();
      has_ended = ended.try_acquire_for(50ms);
    });
    fresh.timers.reserve(5000);
  }
  if (!was_asked) begin.count_down();
  for (std::thread& each : threads) each.join();
  EXPECT_TRUE(was_asked);
  EXPECT_FALSE(has_ended);
}

TEST_P(Faults, AReserveOfMoreThanThereCanBeIsRefusedAtOnce) {
  timer_service fresh(options());
  const std::size_t before = live_bytes();
  constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
  for (const std::size_t count :
       {most, most - 100, most - 1023, most - 1024, most / 2 + 1, most / 4, most / 16, std::size_t{1} << 48}) {
    EXPECT_THROW(timers.reserve(count), std::bad_alloc) << count << ", on virtual time";
    EXPECT_THROW(fresh.reserve(count), std::bad_alloc) << count;
  }
  EXPECT_EQ(live_bytes(), before);
}

TEST_P(Faults, AResetThatFindsNoMemoryLeavesTheTimerAsItWas) {
  std::vector<timer> many;
  int fired = 0;
  for (int i = 0; i < 5000; ++i) many.emplace_back(timers, [&] { ++fired; });
  std::size_t refused = 0;
  {
    const failing_allocations fail;
    for (timer& t : many) {
      try {
        t.reset(1ms);
      } catch (const std::bad_alloc&) {
        ++refused;
        EXPECT_FALSE(t.pending());
      }
    }
    for (timer& t : many) {
      if (t.pending()) {
        EXPECT_EQ(t.reset(2ms), reset_result::superseded) << "a queue that does not grow must not allocate";
      }
    }
  }
  const bool never_allocates = GetParam() == hashed_wheel::name || GetParam() == red_black_tree::name;
  EXPECT_EQ(refused > 0, !never_allocates);
  clock.advance(2ms);
  EXPECT_EQ(fired, static_cast<int>(5000 - refused));
}

}  // namespace
}  // namespace foliot::test
