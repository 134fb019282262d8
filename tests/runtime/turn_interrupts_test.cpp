// A stop or a timeout of a task whose awaits all complete at once: its exception loses no value, and is thrown once.
#include <chrono>
#include <utility>

#include <gtest/gtest.h>

#include <foliot/core/virtual_clock.hpp>
#include <foliot/runtime/cancelled.hpp>
#include <foliot/runtime/channel.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/task_mutex.hpp>
#include <foliot/runtime/task_semaphore.hpp>
#include <foliot/runtime/this_task.hpp>
#include <foliot/runtime/with_timeout.hpp>

#include "small_tasks.hpp"
#include "worlds.hpp"

namespace foliot::runtime {
namespace {

using namespace std::chrono_literals;
using test::nothing;

TEST(Turns, AStopInAReadyAwaitLosesNoValueAndNoLock) {
  test::in_virtual_worlds([]() -> task<> {
    constexpr int values = 2000;
    channel<int> source(values);
    for (int i = 0; i < values; ++i) co_await source.send(i);
    task_mutex guard;
    task_semaphore slots(3);
    int next = 0;
    int in_hand = 0;
    auto takes = [&]() -> task<> {
      for (;;) {
        auto held = co_await guard.lock();
        co_await slots.acquire();
        ++in_hand;
        const auto release = [&] {
          slots.release();
          --in_hand;
        };
        try {
          const auto got = co_await source.receive();
          EXPECT_EQ(got, next);
          ++next;
        } catch (...) {
          release();
          throw;
        }
        release();
      }
    };
    // Each is stopped at another step of the round.
    for (int i = 0; i < 40 && next < values / 2; ++i) {
      auto handle = spawn(takes());
      for (int turns = 0; turns <= i % 4; ++turns) co_await yield();
      handle.request_stop();
      bool stopped = false;
      try {
        co_await handle.join();
      } catch (const cancelled&) {
        stopped = true;
      }
      EXPECT_TRUE(stopped);
      EXPECT_EQ(in_hand, 0);
      EXPECT_TRUE(guard.try_lock());
      EXPECT_EQ(slots.available(), 3U);
      EXPECT_EQ(source.size(), static_cast<std::size_t>(values - next));
    }
  });
}

TEST(Turns, WhatIsLockedAtTheEndOfATurnIsUnlockedWhenTheRunEnds) {
  task_mutex guard;
  run_options options;
  options.processors = 1;
  run(
      [](task_mutex& free) -> task<> {
        spawn([](task_mutex& same) -> task<> {
          for (;;) {
            auto held = co_await same.lock();
          }
        }(free));
        co_await yield();
      }(guard),
      options);
  EXPECT_TRUE(guard.try_lock());
}

TEST(Turns, AfterAStopAtTheEndOfATurnATaskHasAWholeTurnToCleanUp) {
  for (const bool yields : {false, true}) {
    test::in_virtual_worlds([yields]() -> task<> {
      int rounds_left = 20'000;  // long after the stop
      int cleaned_up = 0;
      auto busy_one = spawn([](bool by_yield, int& left, int& done) -> task<> {
        channel<int> values(1);
        try {
          while (--left > 0) {
            if (by_yield) {
              co_await yield();
            } else {
              co_await values.send(1);
              co_await values.receive();
            }
          }
        } catch (const cancelled&) {
        }
        channel<int> room(100);
        for (; done < 100; ++done) co_await room.send(1);
      }(yields, rounds_left, cleaned_up));
      co_await yield();
      busy_one.request_stop();
      co_await busy_one.join_without_cancellation();
      EXPECT_GT(rounds_left, 0);
      EXPECT_EQ(cleaned_up, 100);
    });
  }
}

/// A timeout that expired too late for its task, and whose interrupt was not thrown.
TEST(Turns, AnInterruptWhoseReasonHasGoneLeavesWholeTurns) {
  virtual_clock clock;
  run_options options;
  options.clock = &clock;
  options.processors = 1;
  run(
      []() -> task<> {
        auto late = shielded([]() -> task<int> {
          co_await sleep(2ms);
          co_return 1;
        }());
        const auto result = co_await with_timeout(std::move(late), 1ms);
        EXPECT_TRUE(result.has_value());
        int interrupted = 0;
        int other = 0;
        const auto calls = [](int& mine, const int& others) -> task<> {
          while (mine + others < 100'000) {
            co_await nothing();
            ++mine;
          }
        };
        auto beside = spawn(calls(other, interrupted));
        co_await calls(interrupted, other);
        co_await beside.join();
        EXPECT_GT(interrupted, other / 2);
      }(),
      options);
}

}  // namespace
}  // namespace foliot::runtime
