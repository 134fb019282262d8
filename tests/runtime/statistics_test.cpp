// What a runtime tells of itself: counters and histograms. On virtual time each number is known.
#include <atomic>
#include <chrono>
#include <cstdint>

#include <gtest/gtest.h>

#include <foliot/runtime.hpp>

#include "one_processor.hpp"

namespace foliot::runtime {
namespace {

using namespace std::chrono_literals;
using test::on_one_processor;
using test::sleeps;

TEST(Statistics, CountsTasksTurnsAndTimers) {
  on_one_processor([](virtual_clock&) -> task<> {
    EXPECT_EQ(counters().spawned, 1U);
    EXPECT_EQ(counters().turns, 1U);
    auto first = spawn(sleeps(1s));
    auto second = spawn(sleeps(2s));
    runtime_counters now = counters();
    EXPECT_EQ(now.spawned, 3U);
    EXPECT_EQ(now.tasks, 3U);
    EXPECT_EQ(now.running, 1U);
    EXPECT_EQ(now.ready, 2U);
    EXPECT_EQ(now.waiting(), 0U);
    EXPECT_EQ(now.timers, 0U);
    co_await yield();
    now = counters();
    EXPECT_EQ(now.turns, 4U);
    EXPECT_EQ(now.ready, 0U);
    EXPECT_EQ(now.waiting(), 2U);
    EXPECT_EQ(now.timers, 2U);
    EXPECT_EQ(now.fired, 0U);
    co_await first.join();
    EXPECT_EQ(counters().fired, 1U);
    EXPECT_EQ(counters().tasks, 2U);
    co_await second.join();
    now = counters();
    EXPECT_EQ(now.fired, 2U);
    EXPECT_EQ(now.turns, 8U);
    EXPECT_EQ(now.spawned, 3U);
    EXPECT_EQ(now.tasks, 1U);
    EXPECT_EQ(now.processors, 1U);
    EXPECT_EQ(now.steals, 0U);
    EXPECT_FALSE(statistics().measured);
    EXPECT_EQ(statistics().turn_time.count(), 0U);
  });
}

TEST(Statistics, ATaskThatNeverWaitsSpendsItsBudget) {
  on_one_processor([](virtual_clock&) -> task<> {
    const std::uint64_t before = counters().spent_turns;
    for (int i = 0; i < 1'000; ++i) co_await sleep(0ns);
    EXPECT_EQ(counters().spent_turns - before, 1'000U / 128);
  });
}

TEST(Statistics, CallsThatBlockAreCounted) {
  std::atomic<bool> go_on = false;
  run(
      [&]() -> task<> {
        auto call = spawn([&]() -> task<> { co_await blocking([&] { go_on.wait(false); }); });
        while (counters().blocking_calls == 0) co_await yield();
        EXPECT_EQ(counters().blocking_threads, 1U);
        go_on = true;
        go_on.notify_all();
        co_await call.join();
        EXPECT_EQ(counters().blocking_threads, 1U);
      },
      {.processors = 1});
}

TEST(Statistics, TasksThatWaitForDescriptorsAreCounted) {
  // net_test has the sockets; a wall-clock wait goes through the poller as well.
  run(
      []() -> task<> {
        auto waits = spawn([]() -> task<> { co_await sleep_until(wall_now() + 1h); });
        while (counters().descriptor_waits == 0) co_await yield();
        EXPECT_EQ(counters().descriptor_waits, 1U);
        waits.request_stop();
        try {
          co_await waits.join();
        } catch (const cancelled&) {
        }
        EXPECT_EQ(counters().descriptor_waits, 0U);
      },
      {.processors = 1});
}

// The spawned task can only run on the other processor, which has to take it from this one's queue.
TEST(Statistics, ATaskThatRunsElsewhereWasStolen) {
  run(
      []() -> task<> {
        std::atomic<bool> ran = false;
        auto other = spawn([](std::atomic<bool>& flag) -> task<> {
          flag = true;
          flag.notify_all();
          co_return;
        }(ran));
        ran.wait(false);
        EXPECT_GE(counters().steals, 1U);
        EXPECT_GE(counters().stolen, counters().steals);
        co_await other.join();
      },
      {.processors = 2});
}

TEST(Statistics, AWorkerThatSleepsIsCounted) {
  run(
      []() -> task<> {
        // On a busy machine the first sleeps may be over before the worker sleeps.
        while (counters().parks == 0) co_await sleep(10ms);
        EXPECT_GE(counters().fired, 1U);
      },
      {.processors = 1});
}

TEST(Statistics, MeasuresHowLateTimersAreAndHowLongTasksStandAndRun) {
  run_options options;
  options.measure = true;
  on_one_processor(
      [](virtual_clock& clock) -> task<> {
        auto other = spawn(sleeps(5ms));
        co_await yield();
        clock.stall(12ms);  // the timer is 7 ms late
        co_await other.join();
        const runtime_statistics now = statistics();
        EXPECT_TRUE(now.measured);
        EXPECT_EQ(now.lateness.count(), 1U);
        EXPECT_EQ(now.lateness.max(), 7ms);
        // All turns but the present one have ended.
        EXPECT_EQ(now.turn_time.count() + 1, now.counters.turns);
        EXPECT_EQ(now.turn_time.max(), 12ms);
        EXPECT_EQ(now.turn_time.sum_nanoseconds(), 12'000'000U);
        EXPECT_EQ(now.queue_time.count(), now.counters.turns);
        EXPECT_EQ(now.queue_time.max(), 0ns);

        auto behind = spawn(sleeps(1s));  // ready while this task computes
        clock.stall(3ms);
        co_await yield();
        EXPECT_EQ(statistics().queue_time.max(), 3ms);
        behind.request_stop();
      },
      options);
}

}  // namespace
}  // namespace foliot::runtime
