// A runtime from outside: threads that spawn tasks by a handle, and that call functions and wait for their results.
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/core/sync/note.hpp>
#include <foliot/runtime/background_runtime.hpp>
#include <foliot/runtime/callback_timer.hpp>
#include <foliot/runtime/cancelled.hpp>
#include <foliot/runtime/channel.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/runtime_handle.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/this_task.hpp>
#include <foliot/runtime/wait_group.hpp>

#include "small_tasks.hpp"
#include "support/allocations.hpp"
#include "worlds.hpp"

namespace foliot::runtime {
namespace {

using namespace std::chrono_literals;
using test::seven;

task<> waits_for_ever() { co_await sleep(duration::forever()); }

TEST(Outside, AThreadSpawnsATask) {
  test::everywhere([]() -> task<> {
    wait_group group;
    group.add();
    std::thread other([handle = this_runtime(), &group] {
      handle.spawn([](wait_group& of) -> task<> {
        co_await yield();
        of.done();
      }(group));
    });
    co_await group.wait();
    other.join();
  });
}

TEST(Outside, ManyThreadsSpawnAtOnce) {
  test::everywhere([]() -> task<> {
    constexpr std::size_t each_spawns = 40;
    wait_group group;
    std::vector<std::thread> threads;
    group.add(4 * each_spawns);
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([handle = this_runtime(), &group] {
        for (std::size_t n = 0; n < each_spawns; ++n) {
          handle.spawn([&group]() -> task<> {
            co_await sleep(1us);
            group.done();
          });
        }
      });
    }
    co_await group.wait();
    for (std::thread& each : threads) each.join();
  });
}

TEST(Outside, ACallableLivesUntilItsTaskHasEnded) {
  background_runtime background;
  const auto captured = std::make_shared<int>(3);
  std::atomic<int> seen = 0;
  wait_group group;
  group.add();
  background.handle().spawn([captured, &seen, &group]() -> task<> {
    for (int i = 0; i < 3; ++i) co_await yield();
    seen = *captured;
    group.done();
  });
  background.handle().call([&group]() -> task<> { co_await group.wait(); });
  EXPECT_EQ(seen, 3);
  background.stop();
  EXPECT_EQ(captured.use_count(), 1);
}

TEST(Outside, AHandleWorksInsideOfItsRuntime) {
  test::everywhere([]() -> task<> {
    const runtime_handle handle = this_runtime();
    EXPECT_EQ(handle, this_runtime());
    EXPECT_FALSE(handle.ended());
    auto spawned = handle.spawn(seven());
    const int got = co_await spawned.join();
    EXPECT_EQ(got, 7);
  });
}

TEST(Outside, ACallInsideOfItsRuntimeIsRefused) {
  test::everywhere([]() -> task<> {
    const runtime_handle handle = this_runtime();
    EXPECT_THROW(handle.call(seven()), std::logic_error);
    EXPECT_THROW(handle.call(seven), std::logic_error);
    bool refused = false;
    wait_group group;
    group.add();
    callback_timer timer([&] {
      try {
        handle.call(seven());
      } catch (const std::logic_error&) {
        refused = true;
      }
      group.done();
    });
    timer.reset(duration::zero());
    co_await group.wait();
    EXPECT_TRUE(refused);
    static_cast<void>(co_await timer.stop_and_wait());
  });
}

TEST(Outside, ThereIsNoRuntimeOutsideOfOne) { EXPECT_THROW(static_cast<void>(this_runtime()), std::logic_error); }

TEST(Outside, AnEmptyHandleIsRefused) {
  runtime_handle handle;
  EXPECT_FALSE(handle);
  EXPECT_THROW(handle.spawn(seven()), std::logic_error);
  EXPECT_THROW(handle.spawn(seven), std::logic_error);
  EXPECT_THROW(handle.call(seven()), std::logic_error);
  EXPECT_THROW(handle.call(seven), std::logic_error);
  EXPECT_THROW(static_cast<void>(handle.ended()), std::logic_error);
  background_runtime background;
  handle = background.handle();
  const runtime_handle moved = std::move(handle);
  EXPECT_EQ(moved.call(seven()), 7);
  EXPECT_FALSE(handle);  // NOLINT(bugprone-use-after-move)
}

TEST(Outside, AnEmptyTaskAndOneThatHasRunAreRefused) {
  const background_runtime background;
  const runtime_handle handle = background.handle();
  EXPECT_THROW(handle.spawn(task<>()), std::logic_error);
  EXPECT_THROW(handle.call(task<>()), std::logic_error);
  EXPECT_EQ(handle.call(seven()), 7);
}

TEST(Outside, ATaskOfAnotherRuntimeJoins) {
  background_runtime first;
  const background_runtime second;
  const int got = first.handle().call([there = second.handle()]() -> task<int> {
    auto spawned = there.spawn(seven(), "seven");
    co_return co_await spawned.join();
  });
  EXPECT_EQ(got, 7);
  // The second runtime may end while a task of the first one waits for one of its tasks.
  std::optional<background_runtime> third(std::in_place);
  channel<int> begun(1);
  auto joins = [there = third->handle(), begun]() mutable -> task<bool> {
    auto spawned = there.spawn(waits_for_ever());
    co_await begun.send(1);
    try {
      co_await spawned.join();
    } catch (const std::logic_error&) {
      co_return true;
    }
    co_return false;
  };
  std::thread other([&] {
    first.handle().call([begun]() mutable -> task<> { static_cast<void>(co_await begun.receive()); });
    third.reset();
  });
  EXPECT_TRUE(first.handle().call(joins));
  other.join();
}

TEST(Outside, AnyThreadAsksASpawnedTaskToStop) {
  const background_runtime background;
  const runtime_handle handle = background.handle();
  std::atomic<int> stopped = 0;
  const auto counts = [&stopped]() -> task<> {
    try {
      co_await sleep(duration::forever());
    } catch (const cancelled&) {
      ++stopped;
      throw;
    }
  };
  std::stop_source source;
  handle.spawn(counts(), source.get_token(), "by a token");
  handle.spawn(counts, source.get_token());
  auto by_handle = handle.spawn(counts, "by the handle");
  source.request_stop();
  by_handle.request_stop();
  while (stopped < 3) handle.call([]() -> task<> { co_await yield(); });
  while (!by_handle.done()) std::this_thread::yield();
}

// The handle of the task is dropped before or after the task has failed.
TEST(Outside, AFailureIsReportedWheneverTheHandleOfItsTaskIsDropped) {
  constexpr int count = 2000;
  std::atomic<int> reported = 0;
  run_options options;
  options.on_failure = [&reported](std::string_view name, const std::exception_ptr&) {
    if (name == "fails") ++reported;
  };
  background_runtime background(options);
  const runtime_handle handle = background.handle();
  const auto fails = []() -> task<> {
    throw std::runtime_error("no");
    co_return;
  };
  for (int i = 0; i < count; ++i) handle.spawn(fails(), "fails");
  auto late = handle.spawn(fails(), "fails");
  while (!late.done()) std::this_thread::yield();
  late = {};
  while (reported < count + 1) std::this_thread::yield();
}

// The handler may refer to what the run has left.
TEST(Outside, AFailureIsNotReportedAfterTheRun) {
  bool runs = true;
  join_handle<> kept;
  run_options options;
  options.on_failure = [&runs](std::string_view, const std::exception_ptr&) { EXPECT_TRUE(runs); };
  run(
      [&kept]() -> task<> {
        kept = spawn([]() -> task<> {
          throw std::runtime_error("no");
          co_return;
        });
        while (!kept.done()) co_await yield();
      },
      options);
  runs = false;
  kept = {};
}

TEST(OutsideCalls, GiveWhatTheFunctionReturnsOrThrows) {
  for (const bool is_virtual : {false, true}) {
    virtual_clock clock;
    run_options options;
    if (is_virtual) options.clock = &clock;
    const background_runtime background(options);
    const runtime_handle handle = background.handle();
    EXPECT_EQ(handle.call(seven()), 7);
    EXPECT_EQ(handle.call(seven), 7);
    EXPECT_EQ(handle.call([] { return processors(); }),
              handle.call([]() -> task<std::size_t> { co_return processors(); }));
    handle.call([]() -> task<> { co_await sleep(1us); });
    handle.call([] {});
    const auto moved = handle.call([]() -> task<std::unique_ptr<int>> { co_return std::make_unique<int>(5); });
    EXPECT_EQ(*moved, 5);
    int value = 0;
    const auto refers = [](int& to) -> task<int&> { co_return to; };
    EXPECT_EQ(&handle.call(refers(value)), &value);
    const auto fails = []() -> task<int> {
      co_await yield();
      throw std::out_of_range("far");
    };
    EXPECT_THROW(handle.call(fails()), std::out_of_range);
    EXPECT_THROW(handle.call(fails), std::out_of_range);
    EXPECT_THROW(handle.call([]() -> int { throw std::out_of_range("plain"); }), std::out_of_range);
  }
}

TEST(OutsideCalls, SeeTheEndOfTheirTask) {
  const background_runtime background;
  for (int i = 0; i < 1000; ++i) {
    int local = 0;  // whose life ends with the call
    background.handle().call([&local]() -> task<> {
      const std::shared_ptr<int> at_the_end(&local, [](int* it) { *it += 1; });
      co_await yield();
    });
    EXPECT_EQ(local, 1);
  }
}

TEST(OutsideCalls, ComeFromAFunctionOfBlocking) {
  const background_runtime background;
  const int got = background.handle().call([]() -> task<int> {
    const auto asks = [handle = this_runtime()] { return handle.call(seven()); };
    co_return co_await blocking(asks);
  });
  EXPECT_EQ(got, 7);
}

TEST(OutsideCalls, BeginAtTheInstantThatTheVirtualClockShows) {
  virtual_clock clock;
  run_options options;
  options.clock = &clock;
  const background_runtime background(options);
  const runtime_handle handle = background.handle();
  const instant start = handle.call([] { return now(); });
  handle.call([]() -> task<> { co_await sleep(1h); });
  EXPECT_EQ(handle.call([] { return now(); }), start + duration(1h));
}

// A worker keeps the frames that it frees, up to a number; the thread that spawns gets none of them back.
TEST(Outside, FramesOfAnotherThreadAreFreed) {
  const std::size_t before = test::live_bytes();
  {
    background_runtime background;
    const runtime_handle handle = background.handle();
    std::thread spawns([&] {
      constexpr int batches = 50;
      for (int i = 0; i < batches; ++i) {
        for (int n = 0; n < 1000; ++n) {
          handle.spawn([large = std::array<char, 700>()]() -> task<> {
            static_cast<void>(large);
            co_return;
          });
        }
        while (handle.call([] { return counters().tasks; }) > 10) std::this_thread::yield();
        // What the workers keep: 1 MiB of each size.
        EXPECT_LT(test::live_bytes(), before + 64 * 1024 * 1024);
      }
    });
    spawns.join();
  }
  EXPECT_LT(test::live_bytes(), before + 64 * 1024);
}

}  // namespace
}  // namespace foliot::runtime
