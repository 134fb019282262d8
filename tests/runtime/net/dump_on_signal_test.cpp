// Dumps of all tasks on a signal, which the process sends to itself.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/core/sync/condition.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/runtime/background_runtime.hpp>
#include <foliot/runtime/dump_on_signal.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/signal_set.hpp>
#include <foliot/runtime/spawn.hpp>

#include "signals.hpp"

namespace foliot::runtime {
namespace {

using test::is_default;
using test::send;
using test::signal_taker;

/// The dumps that were written.
class written {
 public:
  void add(const std::string& text) {
    const lock held(lock_);
    all_.push_back(text);
    came_.notify_all();
  }
  std::string wait_for(std::size_t count) {
    const lock held(lock_);
    while (all_.size() < count) came_.wait(lock_);
    return all_.back();
  }

 private:
  mutex lock_{lock_rank::object};
  condition came_;
  std::vector<std::string> all_ FOLIOT_GUARDED_BY(lock_);
};

TEST(DumpOnSignal, WritesWhileAllWorkersAreStuck) {
  const signal_taker other_thread;
  written dumps;
  std::atomic<int> step = 0;
  background_runtime background({.processors = 1});
  {
    const dump_on_signal watch(background.handle(), SIGUSR1, [&](const std::string& text) { dumps.add(text); });
    background.handle().spawn(
        [&]() -> task<> {
          step = 1;
          step.notify_all();
          step.wait(1);
          co_return;
        },
        "stuck");
    step.wait(0);
    for (std::size_t count = 1; count <= 3; ++count) {
      send(SIGUSR1);
      const std::string dump = dumps.wait_for(count);
      EXPECT_NE(dump.find("'stuck' running"), std::string::npos) << dump;
    }
    step = 2;
    step.notify_all();
  }
  EXPECT_TRUE(is_default(SIGUSR1));
}

TEST(DumpOnSignal, WritesToStandardErrorByDefault) {
  const signal_taker other_thread;
  testing::internal::CaptureStderr();
  run([]() -> task<> {
    const dump_on_signal watch(this_runtime());
    auto all = signal_set::watch({SIGQUIT});
    send(SIGQUIT);
    static_cast<void>(co_await all->next());  // a set gets the signal, too
  });
  // The end waits for a dump that has begun; one that has not begun is not made.
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(text.empty() || text.find("'main' ") != std::string::npos) << text;
}

TEST(DumpOnSignal, OutlivesItsRuntimeAndFailuresOfTheWriter) {
  const signal_taker other_thread;
  written dumps;
  runtime_handle handle;
  run([&]() -> task<> {
    handle = this_runtime();
    co_return;
  });
  const dump_on_signal watch(handle, SIGUSR1, [&](const std::string& text) {
    dumps.add(text);
    throw std::runtime_error("no log");
  });
  for (std::size_t count = 1; count <= 2; ++count) {
    send(SIGUSR1);
    EXPECT_EQ(dumps.wait_for(count), "foliot: the runtime has ended\n");
  }
}

TEST(DumpOnSignal, RefusesWhatCannotBe) {
  EXPECT_THROW(dump_on_signal(runtime_handle(), SIGUSR1), std::logic_error);
  run([]() -> task<> {
    EXPECT_THROW(dump_on_signal(this_runtime(), SIGKILL), std::invalid_argument);
    EXPECT_THROW(dump_on_signal(this_runtime(), 0), std::invalid_argument);
    co_return;
  });
  EXPECT_TRUE(is_default(SIGUSR1));
}

TEST(DumpOnSignal, InTheChildOfAForkDoesNothing) {
  background_runtime background;
  auto watch = std::make_unique<dump_on_signal>(background.handle(), SIGUSR1, [](const std::string&) {});
  const ::pid_t child = ::fork();
  if (child == 0) {
    const bool was_default = is_default(SIGUSR1);
    watch.reset();
    ::_exit(was_default ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace foliot::runtime
