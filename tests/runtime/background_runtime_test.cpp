// A runtime on a thread of its own: how it starts, stops, and destroys what has not ended.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/core/sync/note.hpp>
#include <foliot/core/virtual_clock.hpp>
#include <foliot/runtime/background_runtime.hpp>
#include <foliot/runtime/callback_timer.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/this_task.hpp>

#include "small_tasks.hpp"
#include "support/allocations.hpp"
#include "support/death_tests.hpp"
#include "support/fork.hpp"
#include "worlds.hpp"

namespace foliot::runtime {
namespace {

using test::expect_in_child;
using test::seven;

using namespace std::chrono_literals;

TEST(BackgroundRuntime, RunsUntilItIsDestroyed) {
  for (const std::size_t processors : {1U, 2U, 4U}) {
    run_options options;
    options.processors = processors;
    const background_runtime background(options);
    EXPECT_FALSE(background.handle().ended());
    EXPECT_EQ(background.handle().call([] { return runtime::processors(); }), processors);
    EXPECT_EQ(background.handle(), background.handle());
    EXPECT_EQ(background.handle().call([] { return this_runtime(); }), background.handle());
  }
}

TEST(BackgroundRuntime, OneThatIsNeverUsedEnds) {
  for (int i = 0; i < 100; ++i) const background_runtime background;
  for (int i = 0; i < 100; ++i) {
    virtual_clock clock;
    run_options options;
    options.clock = &clock;
    const background_runtime background(options);
  }
}

TEST(BackgroundRuntime, DestroysTheTasksThatHaveNotEnded) {
  for (const bool is_virtual : {false, true}) {
    virtual_clock clock;
    run_options options;
    if (is_virtual) options.clock = &clock;
    int destroyed = 0;
    {
      const background_runtime background(options);
      note begun;
      background.handle().spawn([&]() -> task<> {
        const std::shared_ptr<int> at_the_end(&destroyed, [](int* count) { ++*count; });
        begun.wake();
        co_await sleep(duration::forever());
      });
      begun.sleep_until(instant::never());
    }
    EXPECT_EQ(destroyed, 1);
  }
}

TEST(BackgroundRuntime, MayBeStoppedByAnyThreadAndTwice) {
  for (int round = 0; round < 20; ++round) {
    background_runtime background;
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&background, i] {
        if (i == 0) background.request_stop();
        background.stop();
        EXPECT_TRUE(background.handle().ended());
      });
    }
    for (std::thread& each : threads) each.join();
    background.request_stop();
    background.stop();
    EXPECT_THROW(background.handle().call(seven()), runtime_ended);
  }
}

TEST(BackgroundRuntime, ATaskOfItsOwnMayAskItToStop) {
  background_runtime background;
  const runtime_handle handle = background.handle();
  handle.spawn([&background]() -> task<> {
    EXPECT_THROW(background.stop(), std::logic_error);
    background.request_stop();
    co_return;
  });
  while (!handle.ended()) std::this_thread::yield();
  background.stop();
}

task<> stop_in_a_blocking_call(background_runtime& background) {
  const auto stops = [&background] { EXPECT_THROW(background.stop(), std::logic_error); };
  co_await blocking(stops);
}

TEST(BackgroundRuntime, ACallByBlockingMayNotStopIt) {
  background_runtime background;
  background.handle().call(stop_in_a_blocking_call(background));
  background.stop();
}

TEST(BackgroundRuntime, ATaskOfAnotherRuntimeMayOwnIt) {
  test::on_real_processors([]() -> task<> {
    std::optional<background_runtime> background(std::in_place);
    auto spawned = background->handle().spawn(seven());
    const int got = co_await spawned.join();
    EXPECT_EQ(got, 7);
  });
}

TEST(BackgroundRuntime, TheConstructorThrowsWhatKeepsItFromRunning) {
  run_options options;
  options.processors = 1000;
  EXPECT_THROW(background_runtime{options}, std::invalid_argument);
  options.processors = 1;
  options.timers = "no such timers";
  EXPECT_THROW(background_runtime{options}, std::invalid_argument);
}

// The allocations of the constructing thread; those of the runtime's thread succeed.
TEST(BackgroundRuntime, WithoutMemoryTheConstructorThrows) {
  for (std::size_t succeeding = 0;; ++succeeding) {
    ASSERT_LT(succeeding, 1000U);
    std::optional<background_runtime> background;
    bool failed = false;
    try {
      const test::failing_allocations none(succeeding);
      background.emplace();
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    if (failed) continue;
    EXPECT_EQ(background->handle().call(seven()), 7);
    break;
  }
}

TEST(BackgroundRuntime, ASpawnWithoutMemoryThrowsAndChangesNothing) {
  for (std::size_t succeeding = 0;; ++succeeding) {
    ASSERT_LT(succeeding, 100U);
    background_runtime background;
    const runtime_handle handle = background.handle();
    bool failed = false;
    try {
      const test::failing_allocations none(succeeding);
      handle.spawn(seven);
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    EXPECT_EQ(handle.call(seven()), 7);
    if (!failed) break;
  }
}

template <class Use>
bool is_refused(Use use) {
  try {
    use();
  } catch (const runtime_ended&) {
    return true;
  }
  return false;
}

TEST(BackgroundRuntime, InTheChildOfAForkItHasEnded) {
  auto background = std::make_unique<background_runtime>();
  const runtime_handle handle = background->handle();
  EXPECT_EQ(handle.call(seven()), 7);
  std::atomic<bool> ends = false;
  std::thread uses([&handle, &ends] {
    while (!ends) handle.call([] {});
  });
  for (int i = 0; i < 10; ++i) {
    expect_in_child([&] {
      bool fine = handle.ended();
      fine = fine && is_refused([&] { handle.spawn(seven()); }) && is_refused([&] { handle.call(seven); });
      background->request_stop();
      background->stop();
      background.reset();
      return fine && handle.ended();
    });
  }
  EXPECT_EQ(handle.call(seven()), 7) << "the runtime must go on in the parent";
  ends = true;
  uses.join();
}

/// Ends the child of a fork, which has only one of the threads, before LeakSanitizer looks: it would not find what the
/// stacks of the others hold.
class end_of_child {
 public:
  end_of_child() = default;
  end_of_child(const end_of_child&) = delete;
  end_of_child& operator=(const end_of_child&) = delete;
  ~end_of_child() {
    if (getpid() != parent_) _exit(6);
  }

 private:
  const pid_t parent_ = getpid();
};

run_options options_for_exit() {
  run_options chosen;
#if defined(__SANITIZE_THREAD__)
  chosen.processors = 1;  // for TSan a second worker that ends during exit() would be a leaked thread
#endif
  return chosen;
}

/// Runs `in_it` in a task of a static background_runtime, whose destructor exit() calls, and waits for ever.
template <class Function>
[[noreturn]] void end_by_exit_in(Function in_it) {
  alarm(250);  // ends a process that hangs
  static const end_of_child destroyed_after_the_runtime;
  static const background_runtime background(options_for_exit());
  background.handle().spawn(in_it());
  for (;;) pause();
}

task<> exit_later() {
  co_await sleep(1ms);
  std::exit(5);
}
task<> exit_in_a_blocking_call() {
  co_await blocking([] { std::exit(5); });
}
task<> exit_in_a_callback() {
  const callback_timer ends = after_func(1ms, [] { std::exit(5); });
  co_await sleep(1h);
}

TEST(BackgroundRuntimeDeathTest, ATaskOfAStaticOneMayCallExit) {
  test::run_death_tests_in_new_processes();
  EXPECT_EXIT(end_by_exit_in(exit_later), testing::ExitedWithCode(5), "");
  EXPECT_EXIT(end_by_exit_in(exit_in_a_blocking_call), testing::ExitedWithCode(5), "");
  EXPECT_EXIT(end_by_exit_in(exit_in_a_callback), testing::ExitedWithCode(5), "");
}

/// Keeps the runtime on its virtual clock from going on.
class broken_timeline final : public timeline {
 public:
  instant next_deadline() override { throw std::runtime_error("no deadline"); }
  expiry run_due(instant /*now*/, budget /*limit*/) override { return {}; }
};

/// Afterwards the runtime looks for the next deadline, and cannot go on.
task<> break_timeline(virtual_clock& clock, std::shared_ptr<broken_timeline> broken) {
  clock.join(std::move(broken));
  co_return;
}

/// A runtime that cannot go on tells on_failure so, on its own thread, after it has destroyed all tasks.
[[noreturn]] void end_by_exit_in_on_failure() {
  alarm(250);
  static const end_of_child destroyed_after_the_runtime;
  static virtual_clock clock;
  static const auto broken = std::make_shared<broken_timeline>();
  run_options options = options_for_exit();
  options.clock = &clock;
  options.on_failure = [](std::string_view task, const std::exception_ptr&) {
    std::exit(task == "background_runtime" ? 5 : 1);
  };
  static const background_runtime background(options);
  background.handle().spawn(break_timeline(clock, broken));
  for (;;) pause();
}

TEST(BackgroundRuntimeDeathTest, OnFailureOfAStaticOneMayCallExit) {
  test::run_death_tests_in_new_processes();
  EXPECT_EXIT(end_by_exit_in_on_failure(), testing::ExitedWithCode(5), "");
}

TEST(BackgroundRuntime, OnFailureMayNotStopIt) {
  virtual_clock clock;
  const auto broken = std::make_shared<broken_timeline>();
  note refused;
  std::optional<background_runtime> background;
  run_options options;
  options.clock = &clock;
  options.on_failure = [&](std::string_view, const std::exception_ptr&) {
    EXPECT_THROW(background->stop(), std::logic_error);
    refused.wake();
  };
  background.emplace(options);
  background->handle().spawn(break_timeline(clock, broken));
  refused.sleep_until(instant::never());
  background->stop();
}

#if !defined(__SANITIZE_THREAD__)
task<> exit_in_the_child_of_a_fork() {
  co_await sleep(1ms);
  const pid_t child = fork();
  if (child == 0) {
    alarm(250);  // a child does not have that of its parent
    std::exit(6);
  }
  int status = 0;
  waitpid(child, &status, 0);
  std::exit(WIFEXITED(status) && WEXITSTATUS(status) == 6 ? 5 : 1);
}

TEST(BackgroundRuntimeDeathTest, ATaskThatHasForkedMayCallExitInTheChild) {
  test::run_death_tests_in_new_processes();
  EXPECT_EXIT(end_by_exit_in(exit_in_the_child_of_a_fork), testing::ExitedWithCode(5), "");
}
#endif

task<> destroy_by_itself(std::unique_ptr<background_runtime>& runtime, note& destroyed) {
  runtime.reset();
  destroyed.wake();
  co_await sleep(1h);
}

/// The runtime ends by itself, and destroys the task.
TEST(BackgroundRuntime, ATaskOfItsOwnMayDestroyIt) {
  auto background = std::make_unique<background_runtime>();
  const runtime_handle handle = background->handle();
  note destroyed;
  const auto spawned = handle.spawn(destroy_by_itself(background, destroyed));
  destroyed.sleep_until(instant::never());
  while (!spawned.done()) std::this_thread::yield();
  EXPECT_TRUE(handle.ended());
}

}  // namespace
}  // namespace foliot::runtime
