// Reports of tasks that keep their worker for long: when the turn has ended, and while it goes on.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/core/seam/system.hpp>
#include <foliot/runtime.hpp>

#include "one_processor.hpp"

namespace foliot::runtime {
namespace {

using namespace std::chrono_literals;
using test::line_of;
using test::on_one_processor;
using test::sleeps;

TEST(SlowTask, IsReported) {
  std::vector<std::tuple<std::string, std::uint_least32_t, duration>> slow;
  std::uint_least32_t line = 0;
  run_options options;
  options.slow_task = {.longer_than = 10ms, .tell = [&](const slow_task& one) {
                         slow.emplace_back(one.name, one.resumed_at.line(), one.took);
                         EXPECT_EQ(one.name.data()[one.name.size()], '\0');
                       }};
  on_one_processor(
      [&](virtual_clock& clock) -> task<> {
        auto first = spawn(
            [&clock]() -> task<> {
              clock.stall(11ms);
              co_return;
            },
            "at once");
        co_await first.join();
        clock.stall(10ms);  // not longer than the limit
        line = line_of() + 1;
        co_await yield();
        clock.stall(12ms);
        co_await yield();
        EXPECT_EQ(statistics().turn_time.count(), 0U) << "reports need no histograms";
        const std::string long_name(100, 'n');
        co_await spawn([&clock]() -> task<> { co_return clock.stall(1h); }, long_name.c_str()).join();
        EXPECT_EQ(std::get<0>(slow.back()), std::string(63, 'n'));
        slow.pop_back();
      },
      options);
  using entry = std::tuple<std::string, std::uint_least32_t, duration>;
  std::vector<entry> wanted;
  for (std::size_t i = 0; i < std::size(test::kinds_of_timers); ++i) {
    wanted.emplace_back("at once", slow.empty() ? 0 : std::get<1>(slow.front()), 11ms);
    wanted.emplace_back("main", line, 12ms);
  }
  EXPECT_EQ(slow, wanted);
}

TEST(SlowTask, AReportThatThrowsIsAFailure) {
  std::vector<std::string> failed;
  run_options options;
  options.slow_task = {.longer_than = 0ns, .tell = [](const slow_task&) { throw std::runtime_error("no log"); }};
  options.on_failure = [&](std::string_view task, const std::exception_ptr& failure) {
    EXPECT_THROW(std::rethrow_exception(failure), std::runtime_error);
    failed.emplace_back(task);
  };
  virtual_clock clock;
  options.processors = 1;
  options.clock = &clock;
  run([&clock]() -> task<> { co_return clock.stall(1ns); }, options);
  EXPECT_EQ(failed, std::vector<std::string>{"main"});
}

TEST(SlowTask, ANegativeLimitIsRefused) {
  run_options options;
  options.slow_task = {.longer_than = -1ns, .tell = [](const slow_task&) {}};
  EXPECT_THROW(run(sleeps(0ns), options), std::invalid_argument);
}

TEST(StuckTask, IsReportedWhileItRuns) {
  std::atomic<int> reports = 0;
  std::vector<std::tuple<std::string, std::uint_least32_t, duration, std::uint32_t>> stuck;  // until `reports` is 3
  std::uint_least32_t line = 0;
  std::uint32_t thread = 0;
  run_options options;
  options.processors = 1;
  options.stuck_task = {.longer_than = 1ms, .tell = [&](const stuck_task& one) {
                          // On a busy machine other turns may take long, too.
                          if (reports == 3 || one.name != "never waits" || one.resumed_at.line() == 0) return;
                          EXPECT_EQ(one.name.data()[one.name.size()], '\0');
                          stuck.emplace_back(one.name, one.resumed_at.line(), one.running, one.thread);
                          ++reports;
                          reports.notify_all();
                        }};
  run(
      [&]() -> task<> {
        auto first = spawn(
            [&]() -> task<> {
              line = line_of() + 1;
              co_await sleep(1ns);
              thread = seam::this_thread_id();
              for (int i = 0; i < 3; ++i) reports.wait(i);
            },
            "never waits");
        co_await first.join();
      },
      options);
  ASSERT_EQ(stuck.size(), 3U);
  duration before = options.stuck_task.longer_than / 2;
  for (const auto& [name, from, running, on] : stuck) {
    EXPECT_EQ(from, line);
    EXPECT_EQ(on, thread);
    EXPECT_GT(running, before * 2);  // each time twice as long
    before = running;
  }
}

// The run cannot end while a task keeps a worker: the report says which.
TEST(StuckTask, IsReportedWhileTheRunWaitsForItsWorker) {
  std::atomic<int> step = 0;
  run_options options;
  options.processors = 2;
  options.stuck_task = {.longer_than = 1ms, .tell = [&](const stuck_task& one) {
                          if (one.name != "stays" || step != 2) return;
                          step = 3;  // it was reported after the main task had ended
                          step.notify_all();
                        }};
  const auto main = [&]() -> task<> {
    spawn(
        [&]() -> task<> {
          step = 1;
          while (step != 3) step.wait(step);
          co_return;
        },
        "stays");
    while (step != 1) co_await yield();
    struct ends {
      std::atomic<int>& of;
      ~ends() { of = 2; }
    } const at_the_end(step);
  };
  run(main, options);
  EXPECT_EQ(step, 3);
}

TEST(StuckTask, OnVirtualTimeNothingIsReported) {
  run_options options;
  options.stuck_task = {.longer_than = 1ms, .tell = [](const stuck_task&) { ADD_FAILURE(); }};
  on_one_processor(
      [](virtual_clock& clock) -> task<> {
        clock.stall(1h);
        co_return;
      },
      options);
}

TEST(StuckTask, AReportThatThrowsIsAFailure) {
  std::atomic<bool> failed = false;
  run_options options;
  options.stuck_task = {.longer_than = 1ms, .tell = [](const stuck_task&) { throw std::runtime_error("no log"); }};
  options.on_failure = [&](std::string_view name, const std::exception_ptr&) {
    EXPECT_EQ(name, "main");
    failed = true;
    failed.notify_all();
  };
  run(
      [&]() -> task<> {
        failed.wait(false);
        co_return;
      },
      options);
  EXPECT_TRUE(failed);
}

TEST(StuckTask, ALimitMustBePositive) {
  run_options options;
  options.stuck_task = {.longer_than = 0ns, .tell = [](const stuck_task&) {}};
  try {
    run([]() -> task<> { co_return; }, options);
    ADD_FAILURE() << "the limit was taken";
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "foliot: stuck_task.longer_than must be positive, but is 0s");
  }
}

TEST(StuckTask, PrintsOnALine) {
  EXPECT_EQ(to_string(stuck_task{.running = 1'234'567us, .name = "x", .resumed_at = {}, .thread = 7}),
            "the task 'x' has kept thread 7 for 1.23s, since it began");
  const auto here = std::source_location::current();
  EXPECT_EQ(
      to_string(stuck_task{.running = 1s, .name = "x", .resumed_at = here, .thread = 7}),
      "the task 'x' has kept thread 7 for 1s, since it went on from slow_task_test.cpp:" + std::to_string(here.line()));
}

}  // namespace
}  // namespace foliot::runtime
