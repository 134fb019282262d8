#include <foliot/service/sleep.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <latch>
#include <new>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

#include "fixture.hpp"
#include "support/allocations.hpp"

namespace foliot::test {
namespace {

using namespace std::chrono_literals;

class Sleep : public virtual_suite {
 protected:
  /// Returns once `count` threads sleep on the service, so that their timers are pending.
  void wait_for_sleepers(std::size_t count) const {
    while (timers.counters().pending < count) std::this_thread::yield();
  }
};

INSTANTIATE_TEST_SUITE_P(, Sleep, every_exact_engine(), engine_as_name);

TEST_P(Sleep, ZeroNegativeAndPastReturnAtOnce) {
  EXPECT_TRUE(sleep_for(timers, 0ns));
  EXPECT_TRUE(sleep_for(timers, -1h));
  EXPECT_TRUE(sleep_until(timers, instant::earliest()));
  EXPECT_TRUE(sleep_until(timers, timers.now()));
  EXPECT_EQ(timers.counters().started, 0u) << "a sleep until the past must start no timer";
}

TEST_P(Sleep, OnAVirtualClockEndsWhenSomebodyAdvancesIt) {
  std::atomic<bool> awake = false;
  std::thread sleeper([&] {
    EXPECT_TRUE(sleep_for(timers, 24h));
    awake = true;
  });
  wait_for_sleepers(1);
  clock.advance(24h - 1ns);
  EXPECT_FALSE(awake);
  clock.advance(1ns);
  sleeper.join();
  EXPECT_TRUE(awake);
}

TEST_P(Sleep, SleepersWakeInOrder) {
  std::atomic<int> woken = 0;
  std::thread late([&] {
    sleep_for(timers, 2s);
    EXPECT_EQ(woken++, 1);
  });
  std::thread early([&] {
    sleep_for(timers, 1s);
    EXPECT_EQ(woken++, 0);
  });
  wait_for_sleepers(2);
  clock.advance(1s);
  early.join();
  clock.advance(1s);
  late.join();
}

TEST_P(Sleep, TheEndOfTheServiceEndsIt) {
  std::optional<timer_service> short_lived(std::in_place, clock, options());
  std::latch ended(1);
  std::thread sleeper([&] {
    EXPECT_FALSE(sleep_until(*short_lived, instant::never()));
    ended.count_down();
  });
  while (short_lived->counters().pending == 0) std::this_thread::yield();
  EXPECT_EQ(short_lived->shut_down(), 1u);
  ended.wait();
  EXPECT_FALSE(sleep_for(*short_lived, 1s)) << "a sleep after the end must return at once";
  sleeper.join();
}

TEST_P(Sleep, InsideACallbackItIsRefused) {
  bool refused = false;
  timer t(timers, 1ms, [&] {
    EXPECT_THROW(sleep_for(timers, 1s), std::logic_error);
    EXPECT_THROW(sleep_for(timers, 0ns), std::logic_error) << "a sleep of no length must throw, too";
    EXPECT_THROW(sleep_for(timers, -1h), std::logic_error);
    EXPECT_THROW(sleep_until(timers, timers.now()), std::logic_error);
    refused = true;
  });
  clock.advance(1ms);
  EXPECT_TRUE(refused);
}

TEST_P(Sleep, InsideACallbackOfTheSameClockItIsRefusedToo) {
  timer_service other(clock, options());
  bool refused = false;
  timer t(timers, 1ms, [&] {
    EXPECT_THROW(sleep_for(other, 1s), std::logic_error);
    EXPECT_THROW(sleep_for(other, 0ns), std::logic_error);
    refused = true;
  });
  clock.advance(1ms);
  EXPECT_TRUE(refused);
}

TEST_P(Sleep, OnTheMonotonicClockIsNeverEarly) {
  timer_service real(options());
  for (const duration length : {duration(1ns), duration(50us), duration(2ms)}) {
    const instant before = real.now();
    EXPECT_TRUE(sleep_for(real, length));
    EXPECT_GE(real.now() - before, length);
  }
}

/// On every engine. A sleep may be longer where the engine's queue rounds up.
class SleepAllocations : public engine_suite {
 protected:
  /// Sleeps until `times` timers of sleeps have fired. A sleep whose deadline has passed starts none.
  static void sleep_often(timer_service& timers, std::uint64_t times) {
    const std::uint64_t before = timers.counters().fired;
    duration length = 100us;
    while (timers.counters().fired < before + times) {
      EXPECT_TRUE(sleep_for(timers, length));
      length = length + 10us;
    }
  }
};
INSTANTIATE_TEST_SUITE_P(, SleepAllocations, every_engine(), engine_as_name);

/// Sleeps do not allocate up to the reserved number, after the first sleep has made the shard's thread.
TEST_P(SleepAllocations, ThereAreNone) {
  timer_service timers(options());
  timers.reserve(4);
  sleep_often(timers, 1);
  const allocation_count allocated;
  {
    const failing_allocations none;
    sleep_often(timers, 10);
  }
  EXPECT_EQ(allocated.so_far(), 0u);
}

TEST_P(SleepAllocations, ThereAreNoneOnVirtualTime) {
  virtual_clock clock;
  timer_service timers(clock, options());
  timers.reserve(4);
  std::atomic<bool> done{false};
  std::thread sleeper([&] {
    const allocation_count allocated;
    for (int i = 0; i < 10; ++i) EXPECT_TRUE(sleep_for(timers, 1s));
    EXPECT_EQ(allocated.so_far(), 0u);
    done = true;
  });
  // Until ten timers have fired: a sleep whose deadline has passed starts no timer.
  while (!done) {
    if (timers.counters().pending == 1) clock.advance(1min);
    std::this_thread::yield();
  }
  sleeper.join();
}

TEST_P(SleepAllocations, TheMeasuredAndWatchedHaveNone) {
  service_options watched = options();
  watched.measure = true;
  watched.slow_callback = {1h, [](const slow_callback&) {}};
  timer_service timers(std::move(watched));
  timers.reserve(4);
  sleep_often(timers, 1);
  const allocation_count allocated;
  sleep_often(timers, 5);
  EXPECT_EQ(allocated.so_far(), 0u);
  EXPECT_EQ(timers.statistics().lateness.count(), 6u);
}

/// With an executor the shard keeps the timer of a finished sleep for the next sleep.
TEST_P(SleepAllocations, WithAnExecutorThereIsOneForEachThreadAtMost) {
  service_options posting = options();
  posting.executor = [](posted_callback job) { job(); };
  timer_service timers(std::move(posting));
  timers.reserve(4);
  sleep_often(timers, 1);
  const allocation_count allocated;
  sleep_often(timers, 10);
  EXPECT_EQ(allocated.so_far(), 0u);
}

/// The n-th allocation fails, for n = 0, 1, 2, …, until there are fewer: each failure is reported and leaves nothing
/// behind.
TEST_P(SleepAllocations, OneThatFailsIsReported) {
  for (const bool posts : {false, true}) {
    bool any_failed = true;
    for (std::size_t n = 0; any_failed; ++n) {
      service_options chosen = options();
      if (posts) chosen.executor = [](posted_callback job) { job(); };
      timer_service timers(std::move(chosen));
      const failing_allocations fail(n);
      try {
        sleep_often(timers, 1);
      } catch (const std::bad_alloc&) {
        EXPECT_EQ(timers.counters().pending, 0u);
        EXPECT_EQ(timers.counters().started, 0u);
      }
      any_failed = fail.failed();
    }
  }
}

TEST(SleepMemory, OfSleepsWithAnExecutorGoesWithTheService) {
  const auto one_life = [] {
    service_options posting;
    posting.executor = [](posted_callback job) { job(); };
    timer_service timers(std::move(posting));
    std::array<std::thread, 3> sleepers;
    for (std::thread& each : sleepers) {
      each = std::thread([&timers] {
        for (int i = 0; i < 3; ++i) sleep_for(timers, 1us);
      });
    }
    for (std::thread& each : sleepers) each.join();
  };
  one_life();
  const std::size_t before = live_bytes();
  one_life();
  EXPECT_EQ(live_bytes(), before);
}

}  // namespace
}  // namespace foliot::test
