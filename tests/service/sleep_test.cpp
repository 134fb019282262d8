#include <foliot/service/sleep.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <optional>
#include <stdexcept>
#include <thread>

#include "fixture.hpp"

namespace foliot::test {
namespace {

using namespace std::chrono_literals;

class Sleep : public virtual_suite {
 protected:
  /// Returns when `count` threads are asleep on the service: their timers are pending.
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
  EXPECT_EQ(timers.counters().started, 0u) << "without a timer";
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
  EXPECT_FALSE(sleep_for(*short_lived, 1s)) << "and no new one begins";
  sleeper.join();
}

TEST_P(Sleep, InsideACallbackItIsRefused) {
  bool refused = false;
  timer t(timers, 1ms, [&] {
    EXPECT_THROW(sleep_for(timers, 1s), std::logic_error);
    EXPECT_THROW(sleep_for(timers, 0ns), std::logic_error) << "the same, whether or not there is something to wait for";
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

}  // namespace
}  // namespace foliot::test
