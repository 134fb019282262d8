// What a runtime tells of itself: counters, histograms, slow tasks, and what each task does. On virtual time each
// number is known.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <source_location>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/runtime.hpp>
#include <foliot/runtime/net.hpp>

#include "worlds.hpp"

namespace foliot::runtime {
namespace {

using namespace std::chrono_literals;

constexpr std::uint_least32_t line_of(std::source_location where = std::source_location::current()) {
  return where.line();
}

/// Runs the task of `main` with each kind of timers, on virtual time and one processor.
template <class Main>
void on_one_processor(Main main, run_options options = {}) {
  for (const std::string_view timers : test::kinds_of_timers) {
    SCOPED_TRACE(timers);
    virtual_clock clock;
    options.timers = timers;
    options.processors = 1;
    options.clock = &clock;
    run(main(clock), options);
  }
}

task<> sleeps(duration length) { co_await sleep(length); }

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

TEST(Statistics, ASlowTaskIsReported) {
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

TEST(Statistics, AReportOfASlowTaskThatThrowsIsAFailure) {
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

TEST(Statistics, ANegativeLimitIsRefused) {
  run_options options;
  options.slow_task = {.longer_than = -1ns, .tell = [](const slow_task&) {}};
  EXPECT_THROW(run(sleeps(0ns), options), std::invalid_argument);
}

std::string without_lengths(std::string text) {
  for (std::size_t at = 0; (at = text.find(", up to ")) != std::string::npos;) text.erase(at, text.find('\n', at) - at);
  return text;
}

TEST(TaskReports, SayWhatEachTaskDoesAndWhere) {
  run_options options;
  options.measure = true;
  on_one_processor(
      [](virtual_clock&) -> task<> {
        channel<int> values(0);
        std::uint_least32_t waits_at = 0;
        const auto session = [](channel<int>& from, std::uint_least32_t& line) -> task<> {
          line = line_of() + 1;
          static_cast<void>(co_await from.receive());
        };
        std::vector<join_handle<>> all;
        for (int i = 0; i < 3; ++i) all.push_back(spawn(session(values, waits_at), "session"));
        const std::uint_least32_t slept_at = line_of() + 1;
        co_await sleep(1500ms);
        auto fresh = spawn(sleeps(1h), "fresh");

        const std::string file = "statistics_test.cpp:";
        EXPECT_EQ(task_groups(), (std::vector<task_group>{
                                     {.name = "session",
                                      .phase = task_phase::waiting,
                                      .where = file + std::to_string(waits_at),
                                      .tasks = 3,
                                      .for_so_long = 1500ms},
                                     {.name = "fresh", .phase = task_phase::ready, .tasks = 1, .for_so_long = 0ns},
                                     {.name = "main",
                                      .phase = task_phase::running,
                                      .where = file + std::to_string(slept_at),
                                      .tasks = 1,
                                      .for_so_long = 0ns},
                                 }));
        EXPECT_EQ(dump_tasks(),
                  "foliot: 5 tasks on 1 processor: 1 running, 1 ready, 3 waiting\n"
                  "         3  'session' waiting at " +
                      file + std::to_string(waits_at) +
                      ", up to 1.5s\n"
                      "         1  'fresh' ready, before its first co_await, 0s\n"
                      "         1  'main' running, after " +
                      file + std::to_string(slept_at) + ", 0s\n");
        std::map<std::string, int> by_name;
        for (const task_report& each : tasks()) {
          ++by_name[each.name];
          EXPECT_EQ(each.where.line() == 0, each.name == "fresh");
          EXPECT_EQ(each.phase == task_phase::waiting, each.name == "session");
        }
        EXPECT_EQ(by_name, (std::map<std::string, int>{{"session", 3}, {"fresh", 1}, {"main", 1}}));
        values.close();
        fresh.request_stop();
      },
      options);
}

/// The places of the tasks of that name.
std::vector<std::uint_least32_t> places_of(std::string_view name) {
  std::vector<std::uint_least32_t> places;
  for (const task_report& each : tasks()) {
    if (each.name == name) {
      EXPECT_TRUE(each.where.line() == 0 || std::string_view(each.where.file_name()).ends_with("statistics_test.cpp"))
          << each.where.file_name();
      places.push_back(each.where.line());
    }
  }
  return places;
}

// What foliot's functions await inside of themselves is not the program's.
TEST(TaskReports, NameTheProgramsOwnCoAwait) {
  using places = std::vector<std::uint_least32_t>;
  on_one_processor([](virtual_clock&) -> task<> {
    auto ends = stream::pair();
    std::uint_least32_t line = 0;
    auto reads = spawn(
        [&]() -> task<> {
          char bytes[4];
          line = line_of() + 1;
          static_cast<void>(co_await ends->first.read_all(std::span(bytes)));
        },
        "task");
    EXPECT_EQ(places_of("task"), places{0});
    co_await yield();
    EXPECT_EQ(places_of("task"), places{line});
    static_cast<void>(co_await ends->second.write_all("1234"));
    co_await reads.join();

    task_mutex mutex;
    task_condition condition(mutex);
    auto waits = spawn(
        [&]() -> task<> {
          task_lock held = co_await mutex.lock();
          line = line_of() + 1;
          co_await condition.wait(held);
        },
        "task");
    co_await yield();
    EXPECT_EQ(places_of("task"), places{line});
    condition.notify_one();
    co_await waits.join();

    auto limited = spawn(
        [&]() -> task<> {
          const auto body = [&]() -> task<> {
            line = line_of() + 1;
            co_await sleep(2s);
          };
          static_cast<void>(co_await with_timeout(body(), 1s));
        },
        "task");
    co_await yield();
    EXPECT_EQ(places_of("task"), places{line});
    co_await limited.join();
  });
}

TEST(TaskReports, WithoutMeasurementsHaveNoLengths) {
  on_one_processor([](virtual_clock&) -> task<> {
    EXPECT_EQ(dump_tasks(), without_lengths(dump_tasks()));
    EXPECT_EQ(tasks().at(0).for_so_long, std::nullopt);
    co_return;
  });
}

TEST(TaskReports, LengthsHaveThreeDigits) {
  const auto shown = [](duration length) {
    return to_string(task_group{.name = "x", .where = "a.cpp:1", .tasks = 1, .for_so_long = length});
  };
  EXPECT_EQ(shown(999ns), "       1  'x' waiting at a.cpp:1, 999ns");
  EXPECT_EQ(shown(1'999ns), "       1  'x' waiting at a.cpp:1, 1.99us");
  EXPECT_EQ(shown(12'456ms), "       1  'x' waiting at a.cpp:1, 12.4s");
  EXPECT_EQ(shown(0ns), "       1  'x' waiting at a.cpp:1, 0s");
}

// A dump needs no worker: here the only one is stuck in a task.
TEST(TaskReports, FromOutsideWhileAllWorkersAreStuck) {
  std::atomic<int> step = 0;
  background_runtime background({.processors = 1});
  const runtime_handle handle = background.handle();
  auto stuck = handle.spawn(
      [&]() -> task<> {
        step = 1;
        step.notify_all();
        step.wait(1);
        co_return;
      },
      "stuck");
  step.wait(0);
  handle.spawn(sleeps(1h), "behind");
  const std::string dump = handle.dump_tasks();
  EXPECT_NE(dump.find("'stuck' running"), std::string::npos) << dump;
  EXPECT_NE(dump.find("'behind' ready, before its first co_await"), std::string::npos) << dump;
  EXPECT_EQ(handle.statistics().counters.running, 1U);
  EXPECT_EQ(handle.tasks().size(), handle.statistics().counters.tasks);
  step = 2;
  step.notify_all();
  handle.call([](join_handle<>& of) -> task<> { co_await of.join(); }(stuck));
}

TEST(TaskReports, OfARuntimeThatHasEnded) {
  runtime_handle handle;
  EXPECT_THROW(static_cast<void>(handle.statistics()), std::logic_error);
  EXPECT_THROW(static_cast<void>(handle.dump_tasks()), std::logic_error);
  EXPECT_THROW(static_cast<void>(counters()), std::logic_error);
  EXPECT_THROW(static_cast<void>(task_groups()), std::logic_error);
  run([&]() -> task<> {
    handle = this_runtime();
    EXPECT_EQ(handle.statistics().counters.tasks, 1U);
    co_return;
  });
  EXPECT_THROW(static_cast<void>(handle.statistics()), runtime_ended);
  EXPECT_THROW(static_cast<void>(handle.tasks()), runtime_ended);
}

TEST(TaskReports, WhileTasksBeginWaitAndEnd) {
  test::on_real_processors(
      []() -> task<> {
        std::atomic<bool> done = false;
        std::thread looks([handle = this_runtime(), &done] {
          while (!done) {
            const runtime_statistics now = handle.statistics();
            EXPECT_LE(now.counters.tasks, now.counters.spawned);
            EXPECT_LE(now.counters.running, now.counters.processors);
            std::size_t seen = 0;
            for (const task_group& each : handle.task_groups()) seen += each.tasks;
            EXPECT_LE(seen, 100'000U);
            EXPECT_FALSE(handle.tasks().empty());
          }
        });
        for (int round = 0; round < 30; ++round) {
          std::vector<join_handle<>> all;
          for (int i = 0; i < 20; ++i) {
            all.push_back(spawn([i]() -> task<> {
              co_await yield();
              co_await sleep(1us * i);
            }));
          }
          for (auto& each : all) co_await each.join();
        }
        done = true;
        looks.join();
      },
      {.measure = true});
}

}  // namespace
}  // namespace foliot::runtime
