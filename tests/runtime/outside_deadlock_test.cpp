// When a runtime is deadlocked for which another thread has a handle.
#include <chrono>
#include <cstddef>
#include <memory>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include <foliot/core/sync/note.hpp>
#include <foliot/runtime/background_runtime.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/runtime_handle.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/this_task.hpp>
#include <foliot/runtime/wait_group.hpp>

#include "small_tasks.hpp"
#include "worlds.hpp"

namespace foliot::runtime {
namespace {

using test::seven;

TEST(OutsideDeadlocks, OnVirtualTimeTheLastHandleDecides) {
  for (const std::size_t processors : {1U, 3U}) {
    virtual_clock clock;
    run_options options;
    options.clock = &clock;
    options.processors = processors;
    note waits;
    std::thread other;
    const auto main = [&]() -> task<> {
      other = std::thread([handle = this_runtime(), &waits]() mutable {
        waits.sleep_until(instant::never());
        const runtime_handle copy = handle;
        handle = {};
        EXPECT_EQ(copy.call(seven()), 7);
      });
      waits.wake();
      co_await sleep(duration::forever());
    };
    EXPECT_THROW(run(main, options), deadlock);
    other.join();
  }
}

TEST(OutsideDeadlocks, AHandleOfATaskOfItsOwnCountsUntilTheTaskDropsIt) {
  test::in_virtual_worlds([]() -> task<> {
    wait_group group;
    group.add();
    auto handle = std::make_unique<runtime_handle>(this_runtime());
    std::thread other([copy = *handle, &group] {
      copy.spawn([](wait_group& of) -> task<> {
        of.done();
        co_return;
      }(group));
    });
    co_await group.wait();
    other.join();
  });
  virtual_clock clock;
  run_options options;
  options.clock = &clock;
  const auto main = []() -> task<> {
    {
      const runtime_handle handle = this_runtime();
      co_await yield();
    }
    co_await sleep(duration::forever());
  };
  EXPECT_THROW(run(main, options), deadlock);
}

// The spawn comes before the drop: the driver must not see the drop alone.
TEST(OutsideDeadlocks, ASpawnJustBeforeTheLastDropIsNotOne) {
  for (int round = 0; round < 400; ++round) {
    virtual_clock clock;
    run_options options;
    options.clock = &clock;
    std::thread other;
    run(
        [&other]() -> task<> {
          wait_group group;
          group.add();
          other = std::thread([handle = this_runtime(), &group]() mutable {
            handle.spawn([&group]() -> task<> {
              group.done();
              co_return;
            });
            handle = {};
          });
          co_await group.wait();
        },
        options);
    other.join();
  }
}

TEST(OutsideDeadlocks, AProgramMayPromiseThatHandlesWakeNoTask) {
  virtual_clock clock;
  run_options options;
  options.clock = &clock;
  options.deadlocks = deadlock_reports::always;
  runtime_handle kept;
  const auto main = [&kept]() -> task<> {
    kept = this_runtime();
    co_await sleep(duration::forever());
  };
  EXPECT_THROW(run(main, options), deadlock);
  EXPECT_TRUE(kept.ended());
}

TEST(OutsideDeadlocks, ABackgroundRuntimeIsNeverDead) {
  for (const bool is_virtual : {false, true}) {
    virtual_clock clock;
    run_options options;
    options.deadlocks = deadlock_reports::always;
    if (is_virtual) options.clock = &clock;
    const background_runtime background(options);
    for (int i = 0; i < 20; ++i) {
      // Each call ends with all workers asleep, but for a task that waits for ever.
      background.handle().spawn([]() -> task<> { co_await sleep(duration::forever()); });
      EXPECT_EQ(background.handle().call(seven()), 7);
    }
  }
}

}  // namespace
}  // namespace foliot::runtime
