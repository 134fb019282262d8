// The locks from real threads; their protocols under every schedule are in tests/simulation.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include <foliot/core/clock.hpp>
#include <foliot/core/contract.hpp>
#include <foliot/core/sync/condition.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/core/sync/note.hpp>

#include "support/death_tests.hpp"

namespace foliot {
namespace {

using namespace std::chrono_literals;

TEST(Mutex, ExcludesAndPublishes) {
  mutex guard(lock_rank::engine);
  std::uint64_t counter = 0;  // plain on purpose: a race shows as a wrong sum, and to TSan
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20'000; ++i) {
        const lock held(guard);
        ++counter;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counter, 80'000u);
}

TEST(Mutex, ALockMayBeLeftAndEnteredAgain) {
  mutex guard(lock_rank::engine);
  int owner = 0;  // plain on purpose: TSan reports two threads that hold the lock at once
  lock held(guard);
  owner = 1;
  held.leave();
  std::thread takes([&] {  // this thread would wait for ever if the lock were still held
    const lock others(guard);
    EXPECT_EQ(owner, 1);
    owner = 2;
  });
  takes.join();
  held.enter();
  EXPECT_EQ(owner, 2);
  std::atomic<bool> is_left = false;
  std::thread waits([&] {
    const lock others(guard);
    EXPECT_TRUE(is_left);
    owner = 3;
  });
  owner = 4;
  is_left = true;
  held.leave();
  waits.join();
  held.enter();
  EXPECT_EQ(owner, 3);
}

#if FOLIOT_ASSERTIONS
TEST(MutexDeathTest, LocksOutOfOrderAreReported) {
  test::run_death_tests_in_new_processes();
  mutex high(lock_rank::engine);
  mutex low(lock_rank::timeline);
  EXPECT_DEATH(
      {
        const lock first(high);
        const lock second(low);
      },
      "locks must be taken in the order of lock_rank");
}
#endif

TEST(Condition, WakesAllWhoWait) {
  mutex guard(lock_rank::engine);
  condition changed;
  bool ready = false;
  std::atomic<int> woken = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      const lock held(guard);
      while (!ready) changed.wait(guard);
      ++woken;
    });
  }
  {
    const lock held(guard);
    ready = true;
    changed.notify_all();
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(woken, 3);
}

TEST(Note, AWakeUpSticks) {
  note n;
  n.wake();
  n.wake();
  EXPECT_TRUE(n.sleep_until(instant::never()));
  EXPECT_TRUE(n.sleep_until(instant::earliest())) << "a woken note returns true, also after its deadline";
  n.clear();
  EXPECT_FALSE(n.sleep_until(instant::earliest()));
}

TEST(Note, SleepsAtLeastUntilItsDeadline) {
  note n;
  const instant deadline = monotonic_clock::instance().now() + 2ms;
  EXPECT_FALSE(n.sleep_until(deadline));
  EXPECT_GE(monotonic_clock::instance().now(), deadline);
}

TEST(Note, WakesASleeperAndPublishes) {
  for (int i = 0; i < 200; ++i) {
    note n;
    int payload = 0;
    std::thread waker([&] {
      payload = i;
      n.wake();
    });
    EXPECT_TRUE(n.sleep_until(instant::never()));
    EXPECT_EQ(payload, i);
    waker.join();
  }
}

}  // namespace
}  // namespace foliot
