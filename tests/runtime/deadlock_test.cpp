// A deadlock on real time, where the program promises that no other thread wakes its tasks. deadlock_process.cpp, a
// process of its own, has the deadlocks that are certain without that promise.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <string_view>

#include <foliot/core/clock.hpp>
#include <foliot/core/sync/note.hpp>
#include <foliot/runtime/callback_timer.hpp>
#include <foliot/runtime/channel.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/select.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/task_mutex.hpp>
#include <foliot/runtime/this_task.hpp>
#include <foliot/runtime/wait_group.hpp>

#include "runtime/worlds.hpp"

namespace foliot::runtime {
namespace {

using namespace std::chrono_literals;

run_options promising() {
  run_options options;
  options.deadlocks = deadlock_reports::always;
  return options;
}

/// The task of `main` ends in a deadlock, with any number of processors and each kind of timers.
template <class Main>
void expect_deadlock(Main main, std::string_view text) {
  run_options options = promising();
  for (const std::string_view timers : test::kinds_of_timers) {
    options.timers = timers;
    for (const std::size_t processors : {1U, 2U, 4U}) {
      options.processors = processors;
      try {
        run(main(), options);
        ADD_FAILURE() << "the run did not throw deadlock";
      } catch (const deadlock& found) {
        EXPECT_NE(std::string(found.what()).find(text), std::string::npos) << found.what();
      }
    }
  }
}

TEST(Deadlock, NamesEachTaskAndWhereItWaits) {
  const auto main = []() -> task<> {
    auto stuck = spawn([]() -> task<> { co_await sleep_until(instant::never()); }(), "stuck");
    co_await stuck.join();
  };
  expect_deadlock(main, "foliot: deadlock: all tasks wait, and nothing can end their waits");
  expect_deadlock(main, "\n  main waits for a task at deadlock_test.cpp:");
  expect_deadlock(main, "\n  stuck waits in a sleep at deadlock_test.cpp:");
}

TEST(Deadlock, IsFoundWhateverIsWaitedFor) {
  expect_deadlock([]() -> task<> { co_await select(); }, "main");
  expect_deadlock([]() -> task<> { co_await channel<int>().receive(); }, "main");
  expect_deadlock([]() -> task<> { co_await channel<int>().send(1); }, "main");
  expect_deadlock(
      []() -> task<> {
        task_mutex mutex;
        auto held = co_await mutex.lock();
        auto again = co_await mutex.lock();
      },
      "main");
  expect_deadlock(
      []() -> task<> {
        wait_group group;
        group.add(1);
        co_await group.wait();
      },
      "main");
}

TEST(Deadlock, IsFoundAfterAllElseHasHappened) {
  const auto main = []() -> task<> {
    co_await sleep(1ms);
    auto job = [] {};
    co_await blocking(job);
    auto late = after_func(1h, [] {});
    set_processors(1);
    co_await yield();
    set_processors(3);
    co_await sleep(1ms);
    late.stop();
    channel<int> never;
    auto other = spawn([](channel<int> from) -> task<> { co_await from.receive(); }(never));
    co_await other.join();
  };
  expect_deadlock(main, "main");
}

TEST(Deadlock, DestroysTheTasksWhereTheyWait) {
  struct counted {
    std::atomic<int>& of;
    explicit counted(std::atomic<int>& all) : of(all) { ++of; }
    ~counted() { --of; }
  };
  std::atomic<int> alive{0};
  expect_deadlock(
      [&alive]() -> task<> {
        const auto body = [](std::atomic<int>& count) -> task<> {
          const counted here(count);
          co_await select();
        };
        static_cast<void>(spawn(body(alive)));
        co_await body(alive);
      },
      "main");
  EXPECT_EQ(alive, 0);
}

/// The run waits for late callbacks, calls of blocking(), and tasks.
TEST(Deadlock, IsNoneWhileSomethingCanHappen) {
  test::on_real_processors(
      []() -> task<> {
        const channel<int> made(1);
        auto soon = after_func(5ms, [made] { static_cast<void>(made.try_send(1)); });
        const auto first = co_await made.receive();
        EXPECT_EQ(first.value(), 1);
        auto job = [] {
          note nobody_wakes;
          nobody_wakes.sleep_until(monotonic_clock::instance().now() + 5ms);
        };
        co_await blocking(job);
        co_await sleep(5ms);
      },
      promising());
}

/// A run that ends in a deadlock leaves nothing behind: the next one works.
TEST(Deadlock, LeavesThingsAsEveryEndDoes) {
  for (int i = 0; i < 20; ++i) {
    EXPECT_THROW(run([]() -> task<> { co_await select(); }(), promising()), deadlock);
    EXPECT_EQ(run([]() -> task<int> { co_return 1; }(), promising()), 1);
  }
}

}  // namespace
}  // namespace foliot::runtime
