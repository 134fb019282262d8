// Calls whose failure must not show: waits that end for no reason, a slack that cannot be set, a missing barrier. For
// n = 0, 1, 2, … the n-th such call in the life of a service fails, until a life has fewer calls; the service must
// behave as if no call had failed.
#include <string_view>

#include <gtest/gtest.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <latch>
#include <thread>
#include <utility>
#include <vector>

#include <foliot/core/sync/mutex.hpp>
#include <foliot/service.hpp>

#include "failing_calls.hpp"
#include "support/engines.hpp"

namespace foliot::test {
namespace {

using namespace std::chrono_literals;

struct failure {
  call which;
  int error;
};

class Interruptions : public engine_suite {
 protected:
  /// The life of a service: two threads reset, stop and destroy timers and a ticker, and sleep.
  static void live(service_clock clock) {
    service_options chosen = options();
    chosen.clock = clock;
    timer_service timers(std::move(chosen));
    const auto never_early = [](const firing& now) { EXPECT_GE(now.now, now.deadline); };
    std::latch fired(2);
    std::latch beats(3);
    timer once(timers, 100us, [&](const firing& now) { never_early(now), fired.count_down(); });
    bool first = true;  // it fires twice if this thread was too late to postpone it
    timer postpone(timers, 200us, [&](const firing& now) {
      never_early(now);
      if (std::exchange(first, false)) fired.count_down();
    });
    timer stopped(timers, 1h, [] { ADD_FAILURE() << "a stopped timer fired"; });
    int count = 0;
    ticker beat(timers, 100us, [&](const firing& now) {
      never_early(now);
      if (++count <= 3) beats.count_down();
    });
    const bool again = postpone.reset(400us) != reset_result::superseded;
    std::thread other([&] {
      const std::uint64_t started = timers.counters().started;  // no other thread starts timers from now on
      do {                                                      // a sleep whose deadline has passed starts no timer
        const instant before = timers.now();
        EXPECT_TRUE(sleep_for(timers, 200us));
        EXPECT_GE(timers.now() - before, duration(200us));
      } while (timers.counters().started == started);
      EXPECT_EQ(stopped.stop_and_wait(), stop_result::stopped);
    });
    fired.wait();
    beats.wait();
    other.join();
    beat.stop_and_wait();
    EXPECT_EQ(timers.drain(1h), 0u);
    const service_counters counted = timers.counters();
    EXPECT_EQ(counted.pending, 0u);
    EXPECT_EQ(counted.fired + counted.stopped, counted.started + static_cast<std::uint64_t>(count));
    EXPECT_EQ(counted.started, 5u + (again ? 1 : 0));
  }

  /// Returns how many calls a life has had. A life may have none because its threads came too late to wait; then it is
  /// repeated, unless no call is `needed`.
  static std::size_t the_nth_fails(service_clock clock, failure with, bool needed = true) {
    std::size_t n = 0;
    for (int lives = 0; !HasFailure(); ++lives) {
      const failing_calls fail(with.which, with.error, n, 1);
      live(clock);
      if (fail.failed()) {
        ++n;
      } else if (n > 0 || !needed || lives == 1000) {
        break;
      }
    }
    return n;
  }
};

INSTANTIATE_TEST_SUITE_P(, Interruptions, every_exact_engine(), engine_as_name);

TEST_P(Interruptions, OfFutexWaits) {
  for (const int error : {EINTR, EAGAIN, 0}) {
    EXPECT_GT(the_nth_fails(service_clock::monotonic, {call::futex_wait, error}), 0u);
  }
}

TEST_P(Interruptions, OfManyFutexWaits) {
  const failing_calls fail(call::futex_wait, EINTR, 0, 1000);
  for (int lives = 0; lives < 1000 && !fail.failed(); ++lives) live(service_clock::monotonic);
  EXPECT_TRUE(fail.failed());
}

TEST_P(Interruptions, OfReadsOfTheAlarm) {
  if (std::string_view(GetParam()) == "epoll-heap")
    GTEST_SKIP() << "its poller waits for the alarm and does not read it";
  for (const int error : {EINTR, EAGAIN, 0}) {
    EXPECT_GT(the_nth_fails(service_clock::boottime, {call::timerfd_read, error}), 0u);
  }
}

TEST_P(Interruptions, ASlackThatCannotBeSet) {
  EXPECT_GT(the_nth_fails(service_clock::monotonic, {call::prctl, EPERM}), 0u);
}

/// Only if the threads meet at a lock, which they are sure to do in the test below.
TEST_P(Interruptions, ABarrierThatFails) {
  for (const int error : {ENOSYS, EPERM, ENOMEM}) {
    the_nth_fails(service_clock::monotonic, {call::membarrier, error}, false);
  }
}

/// Once a heavy barrier has failed, the light barriers of all threads are full ones.
TEST(Barriers, FromAFailureOnAllAreFull) {
  if (std::getenv("FOLIOT_WITHOUT_MEMBARRIER") != nullptr) {
    EXPECT_FALSE(seam::detail::heavy_barrier_reaches_all);
  }
  const failing_calls fail(call::membarrier, ENOMEM);
  seam::heavy_barrier();
  EXPECT_FALSE(seam::detail::heavy_barrier_reaches_all);
}

/// Threads that meet at a lock while every heavy barrier fails.
TEST(Barriers, LocksAreLocksWithout) {
  const failing_calls fail(call::membarrier, ENOSYS);
  mutex shared{lock_rank::engine};
  int count = 0;
  constexpr int each_counts = 2000;
  std::vector<std::thread> threads;
  {
    const lock held(shared);
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&] {
        for (int k = 0; k < each_counts; ++k) {
          const lock mine(shared);
          ++count;
          if (k % 16 == 0) std::this_thread::yield();  // the other threads find the lock held
        }
      });
    }
    while (!fail.failed()) std::this_thread::yield();  // until a thread is about to sleep
  }
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(count, 3 * each_counts);
}

}  // namespace
}  // namespace foliot::test
