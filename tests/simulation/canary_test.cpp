// The canaries of the simulation: it must find each of these deliberate defects.
#include <gtest/gtest.h>

#include <foliot/core/sync/mutex.hpp>
#include <foliot/service.hpp>

#include "foliot_simulation/world.hpp"

namespace foliot::simulation {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t worlds = 2000;

/// A wake-up that is dropped anywhere in the life of a service causes a deadlock or a late timer.
TEST(Canary, ADroppedWakeUpIsFound) {
  const auto life = [] {
    timer_service timers;
    timer far(timers, 1h, [] {});
    settle();
    timer near(timers, 1ms, [](const firing& f) { require(f.lateness() < 1ms, "overslept"); });
    pass_time(2ms);
    require(!near.pending(), "overslept");
  };
  EXPECT_FALSE(first_failure(worlds, {}, life)) << "a world fails without the fault";
  EXPECT_TRUE(first_failure(worlds, faults{.drop_wake = 1}, life));
}

/// A note whose waiting thread takes any return of the wait for a wake-up.
TEST(Canary, AnIgnoredEintrIsFound) {
  const auto life = [] {
    seam::atomic<std::uint32_t> key{0};
    bool told = false;
    seam::thread waker("waker", [&] {
      told = true;
      key.store(1);
      seam::futex_wake(key, 1);
    });
    if (key.load() == 0) static_cast<void>(seam::futex_wait(key, 0, instant::never()));
    require(told, "the waiting thread went on before the other thread woke it");
    waker.join();
  };
  EXPECT_FALSE(first_failure(worlds, {}, life));
  EXPECT_TRUE(first_failure(worlds, faults{.interrupts = true}, life));
}

/// A sleeper that trusts its timeout instead of the clock fires early when the timeout lies.
TEST(Canary, ATimerFiredEarlyIsFound) {
  const auto life = [] {
    const instant deadline = seam::monotonic_now() + 1ms;
    const seam::atomic<std::uint32_t> word{0};
    auto& w = const_cast<seam::atomic<std::uint32_t>&>(word);
    while (seam::futex_wait(w, 0, deadline) != seam::wait_status::timed_out) {
    }
    require(seam::monotonic_now() >= deadline, "early");
  };
  EXPECT_FALSE(first_failure(worlds, {}, life));
  EXPECT_TRUE(first_failure(worlds, faults{.early_timeouts = true}, life));
}

/// Drepper's first mutex: the unlocking thread does not know whether another one sleeps, and guesses wrong.
TEST(Canary, AMutexThatForgetsItsSleepersIsFound) {
  const auto life = [] {
    seam::atomic<std::uint32_t> word{0};
    const auto visit = [&] {
      std::uint32_t expected = 0;
      while (!word.compare_exchange_strong(expected, 1)) {
        static_cast<void>(seam::futex_wait(word, 1, instant::never()));
        expected = 0;
      }
      word.store(0);  // the defect: no thread is woken
    };
    seam::thread other("other", visit);
    visit();
    other.join();
  };
  EXPECT_TRUE(first_failure(worlds, {}, life));
}

/// A sleeper that looks at the word first and sleeps later without comparing it: a wake-up in between is lost.
TEST(Canary, ASleepThatDoesNotCompareIsFound) {
  const auto life = [] {
    seam::atomic<std::uint32_t> called{0};
    seam::atomic<std::uint32_t> sleepers{0};
    seam::thread waker("waker", [&] {
      called.store(1);
      seam::futex_wake(sleepers, 1);
    });
    if (called.load() == 0) static_cast<void>(seam::futex_wait(sleepers, 0, instant::never()));
    waker.join();
  };
  EXPECT_TRUE(first_failure(worlds, {}, life));
}

}  // namespace
}  // namespace foliot::simulation
