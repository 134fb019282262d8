// The report of a deadlock on real time, under seeded schedules: no report while an event can still wake a task, even
// at the last moment, and always a report when none can.
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include <foliot/core/clock.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/core/seam/system.hpp>
#include <foliot/runtime/callback_timer.hpp>
#include <foliot/runtime/channel.hpp>
#include <foliot/runtime/wait_group.hpp>
#include <foliot/runtime/wall_time.hpp>

#include "runtime_worlds.hpp"

namespace foliot::simulation {
namespace {

using namespace std::chrono_literals;
using runtime::blocking;
using runtime::channel;
using runtime::deadlock;
using runtime::deadlock_reports;
using runtime::set_processors;
using runtime::sleep;
using runtime::spawn;
using runtime::task;
using runtime::yield;

constexpr std::uint64_t worlds = 60;

runtime::run_options options_for(deadlock_reports which) {
  runtime::run_options options;
  options.processors = 1 + choose(3);
  options.seed = choose(1'000'000);
  options.deadlocks = which;
  options.blocking_threads = 1 + choose(2);
  options.timers = std::array{"foliot", "processor-heaps", "processor-heaps-1.14"}[choose(3)];
  options.on_failure = [](std::string_view, const std::exception_ptr&) {};
  return options;
}

/// The report of the run; empty if there was none.
std::string report_of(task<> main, const runtime::run_options& options) {
  try {
    runtime::run(std::move(main), options);
  } catch (const deadlock& found) {
    return found.what();
  }
  return "";
}

task<> receive_from(channel<int> from) { static_cast<void>(co_await from.receive()); }

/// Makes an event happen at the last moment, while all other threads are about to sleep, or asleep.
task<> do_something(channel<int> to) {
  switch (choose(7)) {
    case 0: co_await sleep(up_to(200us)); break;
    case 1: {
      auto job = [] { pass_time(up_to(200us)); };
      co_await blocking(job);
      break;
    }
    case 2: {
      auto soon = runtime::after_func(up_to(200us), [to] { static_cast<void>(to.try_send(0)); });
      static_cast<void>(co_await to.receive());
      break;
    }
    case 3:
      set_processors(1 + choose(4));
      co_await yield();
      break;
    case 4: {
      // A timer that is stopped, at any processor; the worker of that processor sleeps until its deadline.
      auto late = runtime::after_func(1h, [] {});
      co_await sleep(up_to(100us));
      late.stop();
      break;
    }
    case 5: co_await runtime::sleep_until(wall_clock::to_sys(seam::now(seam::clock_id::wall) + up_to(200us))); break;
    default:
      if (choose(2) == 0) compute(up_to(20ms));
      co_await yield();
      break;
  }
}

/// Each of several tasks makes an event happen, and wakes the next.
task<> hand_round(int rounds) {
  const channel<int> own(1);
  for (int i = 0; i < rounds; ++i) {
    const channel<int> made;
    auto other = spawn([](channel<int> to) -> task<> {
      const channel<int> mine(1);
      co_await do_something(mine);
      co_await to.send(1);
    }(made));
    if (choose(2) == 0) co_await do_something(own);
    co_await made.receive();
    co_await other.join();
  }
}

/// The promise of `always` holds: nothing is reported, regardless of what the runtime's own threads do at the last
/// moment.
TEST(RuntimeDeadlock, IsNeverReportedWhileSomethingCanHappen) {
  for (const faults& with : {quiet, interrupted, rough}) {
    explore(worlds * 4, with, [] {
      const auto options = options_for(choose(2) == 0 ? deadlock_reports::always : deadlock_reports::when_certain);
      const std::string report = report_of(hand_round(4), options);
      require(report.empty(), "a deadlock was reported although a task could be woken: " + report);
    });
  }
}

/// From some moment on no event can wake a task: the deadlock is reported, with each task.
TEST(RuntimeDeadlock, IsAlwaysReportedWhenNothingCan) {
  for (const faults& with : {quiet, interrupted, rough}) {
    explore(worlds, with, [] {
      int alive = 0;
      const auto stuck = [](int& count, channel<int> from) -> task<> {
        struct counted {
          int& of;
          explicit counted(int& all) : of(all) { ++of; }
          ~counted() { --of; }
        } const here(count);
        const channel<int> own(1);
        co_await do_something(own);
        co_await from.receive();
      };
      const auto main = [](auto& make, int& count) -> task<> {
        const channel<int> never;
        const int others = static_cast<int>(choose(3));
        for (int i = 0; i < others; ++i) static_cast<void>(spawn(make(count, never)));
        co_await hand_round(2);
        co_await never.receive();
      };
      const auto options = options_for(choose(2) == 0 ? deadlock_reports::always : deadlock_reports::when_certain);
      const instant begin = seam::monotonic_now();
      const std::string report = report_of(main(stuck, alive), options);
      require(report.starts_with("foliot: deadlock: all tasks wait"), "the deadlock was not reported");
      require(report.find("main waits to receive at runtime_deadlock_test.cpp:") != std::string::npos,
              "the report does not name main");
      require(alive == 0, "the tasks have been destroyed");
      require(seam::monotonic_now() - begin < 1min, "a stopped timer has delayed the report");
    });
  }
}

/// The last event is the end of a call of blocking(), on its thread.
TEST(RuntimeDeadlock, IsReportedAfterACallThatEndsLast) {
  for (const faults& with : {quiet, interrupted}) {
    explore(worlds * 4, with, [] {
      const auto main = []() -> task<> {
        auto job = [] { point(); };
        co_await blocking(job);
        co_await receive_from(channel<int>());
      };
      require(!report_of(main(), options_for(deadlock_reports::always)).empty(), "the deadlock was not reported");
    });
  }
}

/// The last event is the end of a worker whose processor is removed.
TEST(RuntimeDeadlock, IsReportedAfterAProcessorHasGone) {
  for (const faults& with : {quiet, interrupted}) {
    explore(worlds * 2, with, [] {
      const auto main = []() -> task<> {
        set_processors(2 + choose(3));
        if (choose(2) == 0) co_await yield();
        set_processors(1);
        if (choose(2) == 0) co_await yield();
        co_await receive_from(channel<int>());
      };
      const auto options = options_for(choose(2) == 0 ? deadlock_reports::always : deadlock_reports::when_certain);
      require(!report_of(main(), options).empty(), "the deadlock was not reported");
    });
  }
}

/// By default the run waits as long as another thread might wake a task.
TEST(RuntimeDeadlock, IsNotReportedWhileAnotherThreadMayWakeATask) {
  for (const faults& with : {quiet, interrupted}) {
    explore(worlds, with, [] {
      const channel<int> numbers;
      std::optional<seam::thread> outside;
      const auto main = [](channel<int> from, std::optional<seam::thread>& other) -> task<> {
        if (choose(2) == 0) co_await sleep(up_to(100us));
        other.emplace("outside", [from] {
          if (choose(2) == 0) pass_time(up_to(300ms));
          while (!from.try_send(1)) pass_time(up_to(1ms));
        });
        if (choose(2) == 0) co_await do_something(channel<int>(1));
        const auto got = co_await from.receive();
        require(got.value() == 1, "the number has come");
      };
      const std::string report = report_of(main(numbers, outside), options_for(deadlock_reports::when_certain));
      require(report.empty(), "a deadlock was reported although another thread wakes the task: " + report);
      outside->join();
    });
  }
}

/// Each thread ends after a task has made the next one, so there is always a thread, or a task that will make one.
TEST(RuntimeDeadlock, IsNotReportedBetweenTwoThreadsOfTheProgram) {
  for (const faults& with : {quiet, interrupted}) {
    explore(worlds * 4, with, [] {
      constexpr int count = 6;
      const channel<int> numbers;
      std::vector<seam::thread> all;
      const auto main = [](channel<int> from, std::vector<seam::thread>& threads) -> task<> {
        for (int i = 0; i < count; ++i) {
          threads.emplace_back("outside", [from] {
            for (std::uint64_t left = choose(120); left > 0; --left) point();
            while (!from.try_send(1)) point();
          });
          static_cast<void>(co_await from.receive());
        }
      };
      auto options = options_for(deadlock_reports::when_certain);
      options.processors = 3;
      require(report_of(main(numbers, all), options).empty(),
              "a deadlock was reported although the next thread wakes the task");
      for (seam::thread& each : all) each.join();
    });
  }
}

/// The deadlock is reported after that thread has ended, if the runtime has been awake since.
TEST(RuntimeDeadlock, IsReportedWhenTheOtherThreadHasEnded) {
  for (const faults& with : {quiet, interrupted, rough}) {
    explore(worlds, with, [] {
      const channel<int> numbers;
      const auto main = [](channel<int> from) -> task<> {
        seam::thread outside("outside", [from] {
          for (int i = 0; i < 3; ++i) {
            while (!from.try_send(1)) pass_time(up_to(1ms));
          }
        });
        for (int i = 0; i < 3; ++i) static_cast<void>(co_await from.receive());
        outside.join();
        co_await from.receive();
      };
      const std::string report = report_of(main(numbers), options_for(deadlock_reports::when_certain));
      require(!report.empty(), "the deadlock was not reported");
    });
  }
}

/// `never`: the run waits on, until a thread that is made later ends the wait.
TEST(RuntimeDeadlock, IsNotReportedToWhoDoesNotWantIt) {
  explore(worlds, quiet, [] {
    const channel<int> numbers;
    seam::thread outside("outside", [numbers] {
      pass_time(1s);
      while (!numbers.try_send(1)) pass_time(1ms);
    });
    require(report_of(receive_from(numbers), options_for(deadlock_reports::never)).empty(),
            "a deadlock was reported under `never`");
    outside.join();
  });
}

/// An idle runtime that other threads may wake stays asleep.
TEST(RuntimeDeadlock, CostsNoWakeUpsWhileItIsIdle) {
  explore(worlds, quiet, [] {
    const channel<int> numbers;
    seam::thread outside("outside", [numbers] {
      pass_time(1h);
      while (!numbers.try_send(1)) pass_time(1ms);
    });
    const auto main = [](channel<int> from) -> task<> {
      const std::uint64_t before = runtime::counters().rounds;
      static_cast<void>(co_await from.receive());
      require(runtime::counters().rounds - before < 60, "a worker of an idle runtime stayed awake");
    };
    require(report_of(main(numbers), options_for(deadlock_reports::when_certain)).empty(),
            "a deadlock was reported although another thread wakes the task");
    outside.join();
  });
}

/// Threads outside make tasks ready at the very end of the run: tasks that are freed are not written to.
TEST(RuntimeDeadlock, TasksMadeReadyAtTheEndAreNotTouchedAgain) {
  for (const faults& with : {quiet, interrupted}) {
    explore(worlds, with, [] {
      std::vector<channel<int>> numbers(3);
      std::vector<seam::thread> outside;
      const auto main = [](std::vector<channel<int>>& all) -> task<> {
        for (const channel<int>& each : all) static_cast<void>(spawn(receive_from(each)));
        co_await yield();
        co_await yield();
      };
      for (std::size_t i = 0; i < 3; ++i) {
        outside.emplace_back("outside", [from = numbers[i]] {
          for (std::uint64_t left = choose(400); left > 0; --left) point();
          for (int tries = 0; tries < 20 && !from.try_send(1); ++tries) point();
        });
      }
      require(report_of(main(numbers), options_for(deadlock_reports::when_certain)).empty(),
              "a deadlock was reported although main ends");
      for (seam::thread& each : outside) each.join();
    });
  }
}

}  // namespace
}  // namespace foliot::simulation
