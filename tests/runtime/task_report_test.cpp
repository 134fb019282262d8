// What each task of a runtime does, where, and for how long.
#include <atomic>
#include <chrono>
#include <coroutine>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/runtime.hpp>
#include <foliot/runtime/net.hpp>

#include "one_processor.hpp"

namespace foliot::runtime {
namespace {

using namespace std::chrono_literals;
using test::line_of;
using test::on_one_processor;
using test::sleeps;

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

        const std::string file = "task_report_test.cpp:";
        EXPECT_EQ(task_groups(), (std::vector<task_group>{
                                     {.name = "session",
                                      .phase = task_phase::waiting,
                                      .waits_for = wait_kind::receive,
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
                  "         3  'session' waiting to receive at " +
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
          EXPECT_EQ(each.waits_for, each.name == "session" ? wait_kind::receive : wait_kind::other);
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
      EXPECT_TRUE(each.where.line() == 0 || std::string_view(each.where.file_name()).ends_with("task_report_test.cpp"))
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

/// Whether a task that runs `body` has such a wait, once it has come to it.
task<bool> waits_for(task<> body, wait_reason expected) {
  auto waits = spawn(std::move(body), "waits");
  co_await yield();
  bool found = false;
  for (const task_report& each : tasks()) {
    if (each.name != "waits") continue;
    found = each.phase == task_phase::waiting && each.waits_for == expected;
    EXPECT_TRUE(found) << to_string(each.phase) << ": " << to_string(each.waits_for) << ", not " << to_string(expected);
  }
  waits.request_stop();
  try {
    co_await waits.join();
  } catch (const cancelled&) {
  }
  co_return found;
}

constexpr auto check_wait = [](auto body, wait_reason expected) -> task<> {
  EXPECT_TRUE(co_await waits_for(body(), expected));
};

TEST(TaskReports, SayWhatKindOfWaitItIs) {
  on_one_processor([](virtual_clock&) -> task<> {
    channel<int> values;
    task_mutex mutex;
    task_condition condition(mutex);
    task_semaphore none(0);
    wait_group group;
    const wait_group::member member = group.enter();
    const cancel_context request = with_cancel(context());
    timer later(1h);
    ticker beat(1h);
    auto other = spawn(sleeps(1h));
    co_await check_wait([&]() -> task<> { static_cast<void>(co_await values.receive()); }, wait_kind::receive);
    co_await check_wait([&]() -> task<> { co_await values.send(1); }, wait_kind::send);
    wait_kinds cases;
    cases.add(wait_kind::receive);
    const wait_reason only_receives(wait_kind::select, cases);
    cases.add(wait_kind::timer);
    co_await check_wait(
        [&]() -> task<> {
          static_cast<void>(co_await select(values.receive(), beat.c(), after(1h), when(false, group.wait())));
        },
        wait_reason(wait_kind::select, cases));
    co_await check_wait([]() -> task<> { co_await select(); }, wait_kind::select);
    co_await check_wait(
        [&]() -> task<> {
          std::vector<receiving<int>> receives;
          receives.push_back(values.receive());
          static_cast<void>(co_await select_any(receives));
        },
        only_receives);
    co_await check_wait([]() -> task<> { co_await sleep(1h); }, wait_kind::sleep);
    co_await check_wait([]() -> task<> { co_await sleep_until(wall_now() + 1h); }, wait_kind::sleep);
    co_await check_wait([]() -> task<> { static_cast<void>(co_await at(wall_now() + 1h)); }, wait_kind::timer);
    co_await check_wait([]() -> task<> { static_cast<void>(co_await after(1h)); }, wait_kind::timer);
    co_await check_wait([&]() -> task<> { static_cast<void>(co_await later); }, wait_kind::timer);
    co_await check_wait([&]() -> task<> { static_cast<void>(co_await beat); }, wait_kind::timer);
    co_await check_wait(
        [&]() -> task<> {
          task_lock held = co_await mutex.lock();
          co_await condition.wait(held);
        },
        wait_kind::condition);
    {
      const task_lock held = co_await mutex.lock();
      co_await check_wait([&]() -> task<> { static_cast<void>(co_await mutex.lock()); }, wait_kind::mutex);
    }
    co_await check_wait([&]() -> task<> { co_await group.wait(); }, wait_kind::wait_group);
    co_await check_wait([&]() -> task<> { co_await none.acquire(); }, wait_kind::semaphore);
    co_await check_wait([&]() -> task<> { co_await other.join(); }, wait_kind::task);
    co_await check_wait([&]() -> task<> { co_await request.done(); }, wait_kind::context);
  });
}

TEST(TaskReports, SayWhatTheyWaitForOfTheSystem) {
  on_one_processor([](virtual_clock&) -> task<> {
    auto ends = stream::pair();
    auto signals = signal_set::watch({SIGUSR1});
    co_await check_wait(
        [&]() -> task<> {
          char bytes[4];
          static_cast<void>(co_await ends->first.read_all(std::span(bytes)));
        },
        wait_kind::read);
    co_await check_wait(
        [&]() -> task<> {
          const std::string much(1 << 24, 'x');
          static_cast<void>(co_await ends->second.write_all(much));
        },
        wait_kind::write);
    co_await check_wait([&]() -> task<> { static_cast<void>(co_await signals->next()); }, wait_kind::signal);
  });
}

/// The awaiter of another library.
struct foreign {
  std::coroutine_handle<>& waiting;

  static bool await_ready() noexcept { return false; }
  void await_suspend(std::coroutine_handle<> who) const noexcept { waiting = who; }
  static void await_resume() noexcept {}
};

TEST(TaskReports, OfAForeignAwaiterHaveNoKind) {
  on_one_processor([](virtual_clock&) -> task<> {
    std::coroutine_handle<> waiting;
    auto waits = spawn(
        [&]() -> task<> {
          co_await sleep(1s);
          foreign other{waiting};
          co_await other;
        },
        "waits");
    co_await sleep(2s);
    EXPECT_NE(dump_tasks().find("  'waits' waiting at task_report_test.cpp:"), std::string::npos) << dump_tasks();
    waiting.resume();
    co_await waits.join();
  });
}

// A function of foliot that was spawned has no co_await of the program's.
TEST(TaskReports, OfAFunctionOfFoliotHaveNoPlace) {
  on_one_processor([](virtual_clock&) -> task<> {
    auto ends = stream::pair();
    char bytes[4];
    auto reads = spawn(ends->first.read_all(std::span(bytes)), "reads");
    co_await yield();
    EXPECT_NE(dump_tasks().find("  'reads' waiting to read\n"), std::string::npos) << dump_tasks();
    static_cast<void>(co_await ends->second.write_all("1234"));
    co_await reads.join();
  });
}

TEST(TaskReports, SayThatACallBlocks) {
  std::atomic<bool> go_on = false;
  background_runtime background({.processors = 1});
  const runtime_handle handle = background.handle();
  auto caller = handle.spawn(
      [&]() -> task<> {
        auto waits = [&] { go_on.wait(false); };
        co_await blocking(waits);
      },
      "caller");
  const auto blocks = [&] {
    for (const task_report& each : handle.tasks()) {
      if (each.name == "caller" && each.phase == task_phase::waiting) return each.waits_for == wait_kind::blocking;
    }
    return false;
  };
  while (!blocks()) std::this_thread::yield();
  go_on = true;
  go_on.notify_all();
  handle.call([](join_handle<>& of) -> task<> { co_await of.join(); }(caller));
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
