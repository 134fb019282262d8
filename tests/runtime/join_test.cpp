// Join handles that are empty, joined twice, or of a task that its runtime has abandoned: a clear error for each.
#include <chrono>
#include <exception>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/runtime/cancelled.hpp>
#include <foliot/runtime/channel.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/this_task.hpp>

#include "small_tasks.hpp"
#include "worlds.hpp"

namespace foliot::runtime {
namespace {

using namespace std::chrono_literals;
using test::everywhere;
using test::nothing;

task<std::string> answer() { co_return "an answer that does not fit into a small string"; }
template <class Result>
task<Result> late(Result what) {
  co_await sleep(1h);
  co_return what;
}
task<> late() { co_await sleep(1h); }

/// The message that a join throws; empty if it does not throw.
template <class Result>
task<std::string> join_error(join_handle<Result>& handle) {
  try {
    static_cast<void>(co_await handle.join());
  } catch (const std::logic_error& error) {
    co_return error.what();
  }
  co_return "";
}
task<std::string> join_error(join_handle<>& handle) {
  try {
    co_await handle.join();
  } catch (const std::logic_error& error) {
    co_return error.what();
  }
  co_return "";
}

task<> expect_empty(join_handle<std::string>& handle) {
  EXPECT_FALSE(handle);
  EXPECT_THROW(static_cast<void>(handle.done()), std::logic_error);
  EXPECT_THROW(static_cast<void>(handle.join()), std::logic_error);
  EXPECT_THROW(static_cast<void>(handle.join_without_cancellation()), std::logic_error);
  EXPECT_THROW(handle.request_stop(), std::logic_error);
  const std::string error = co_await join_error(handle);
  EXPECT_EQ(error,
            "foliot: this join_handle is empty (default-constructed or moved from): use one that spawn() returned");
}

TEST(JoinHandles, AnEmptyOneThrows) {
  everywhere([]() -> task<> {
    join_handle<std::string> empty;
    co_await expect_empty(empty);
  });
}

TEST(JoinHandles, OneThatWasMovedFromThrows) {
  everywhere([]() -> task<> {
    auto first = spawn(answer());
    auto second = std::move(first);
    co_await expect_empty(first);
    const std::string result = co_await second.join();
    EXPECT_EQ(result.size(), 47U);
  });
}

TEST(JoinHandles, ASecondJoinThrowsInsteadOfGivingWhatWasMovedOut) {
  everywhere([]() -> task<> {
    auto handle = spawn(answer());
    static_cast<void>(co_await handle.join());
    EXPECT_TRUE(handle.done());
    const std::string error = co_await join_error(handle);
    EXPECT_EQ(error, "foliot: the task has been joined before: join a task once");
    auto without_result = spawn(nothing());
    co_await without_result.join();
    const std::string same = co_await join_error(without_result);
    EXPECT_EQ(same, error);
  });
}

TEST(JoinHandles, AJoinThatWasCancelledMayBeMadeAgain) {
  everywhere([]() -> task<> {
    auto target = spawn(late(7));
    auto joins = [](join_handle<int>& of) -> task<int> { co_return co_await of.join(); };
    auto waiting = spawn(joins(target));
    co_await yield();
    waiting.request_stop();
    bool stopped = false;
    try {
      static_cast<void>(co_await waiting.join());
    } catch (const cancelled&) {
      stopped = true;
    }
    EXPECT_TRUE(stopped);
    target.request_stop();
    bool target_stopped = false;
    try {
      static_cast<void>(co_await target.join());
    } catch (const cancelled&) {
      target_stopped = true;
    }
    EXPECT_TRUE(target_stopped);
  });
}

const std::string abandoned = "foliot: the task has no result: its runtime ended before the task did";

template <class Result, class Make>
void expect_abandoned(Make make) {
  join_handle<Result> kept;
  everywhere([&kept, &make]() -> task<> {
    if (kept) {  // of the runtime before this one
      EXPECT_TRUE(kept.done());
      kept.request_stop();
      const std::string error = co_await join_error(kept);
      EXPECT_EQ(error, abandoned);
    }
    kept = spawn(make());
    co_await yield();
  });
}

TEST(JoinHandles, ATaskThatItsRuntimeHasAbandonedIsDoneAndAJoinThrows) {
  expect_abandoned<std::string>([] { return late(std::string("x")); });
  expect_abandoned<std::unique_ptr<int>>([] { return late(std::make_unique<int>(1)); });
  expect_abandoned<void>([] { return late(); });
}

TEST(JoinHandles, ATaskIsAbandonedWhileATaskOfAnotherRuntimeJoinsIt) {
  run([]() -> task<> {
    channel<std::shared_ptr<join_handle<std::string>>> handles(1);
    channel<int> ends(1);
    auto joins = [](channel<std::shared_ptr<join_handle<std::string>>> from, channel<int> end) -> task<std::string> {
      auto handle = co_await from.receive();
      end.close();  // the other runtime's main may end before the join, while it begins, or after that
      auto error = co_await join_error(**handle);
      co_return error;
    };
    auto joining = spawn(joins(handles, ends));
    auto other_runtime = [handles, ends] {
      run([](channel<std::shared_ptr<join_handle<std::string>>> to, channel<int> end) -> task<> {
        auto made = std::make_shared<join_handle<std::string>>(spawn(late(std::string("x"))));
        co_await to.send(made);
        static_cast<void>(co_await end.receive());
      }(handles, ends));
    };
    co_await blocking(other_runtime);
    const std::string error = co_await joining.join();
    EXPECT_EQ(error, abandoned);
  }());
}

// The stop of a task is not that of the task that joins it: that one must not end silently.
TEST(JoinHandles, TheStopOfAJoinedTaskIsAFailureOfTheTaskThatJoinsIt) {
  const auto rests = []() -> task<> { co_await sleep(duration::forever()); };
  const auto stops_and_joins = [&rests](int& steps) -> task<> {
    auto child = spawn(rests());
    co_await sleep(1ms);
    child.request_stop();
    ++steps;
    co_await child.join();
    ++steps;
  };
  std::vector<std::string> reported;
  run_options options;
  options.on_failure = [&reported](std::string_view name, const std::exception_ptr& failure) {
    try {
      std::rethrow_exception(failure);
    } catch (const std::exception& error) {
      reported.push_back(std::string(name) + ": " + error.what());
    }
  };
  test::in_virtual_worlds(
      [&]() -> task<> {
        reported.clear();
        int steps = 0;
        spawn(stops_and_joins(steps), "parent");
        co_await sleep(1s);
        EXPECT_EQ(steps, 1);
        EXPECT_EQ(reported,
                  std::vector<std::string>{"parent: foliot: the joined task was asked to stop, and has no result"});
      },
      options);
  // The task that joins the parent finds the same, and the main task throws it.
  const auto main = [&]() -> task<> {
    int steps = 0;
    auto parent = spawn(stops_and_joins(steps));
    co_await parent.join();
  };
  virtual_clock clock;
  options.clock = &clock;
  EXPECT_THROW(run(main(), options), join_cancelled);
}

TEST(JoinHandles, ATaskThatIsStoppedItselfIsNotReportedForTheStopOfAJoinedTask) {
  int reported = 0;
  run_options options;
  options.on_failure = [&reported](std::string_view, const std::exception_ptr&) { ++reported; };
  test::in_virtual_worlds(
      [&]() -> task<> {
        reported = 0;
        const auto parent = []() -> task<> {
          auto child = spawn([]() -> task<> { co_await sleep(duration::forever()); });
          try {
            co_await sleep(duration::forever());
          } catch (const cancelled&) {
            child.request_stop();
          }
          co_await child.join_without_cancellation();
        };
        auto kept = spawn(parent(), "kept");
        std::stop_source source;
        spawn(parent(), source.get_token(), "detached");
        co_await sleep(1ms);
        kept.request_stop();
        source.request_stop();
        co_await sleep(1ms);
        EXPECT_TRUE(kept.done());
        kept = join_handle<>();
        EXPECT_EQ(reported, 0);
      },
      options);
}

// As in a loop of retries.
TEST(Tasks, AStopPassesHandlersOfOrdinaryErrors) {
  everywhere([]() -> task<> {
    auto retries = spawn([]() -> task<> {
      for (;;) {
        try {
          co_await sleep(duration::forever());
        } catch (const std::exception&) {
        }
      }
    });
    co_await yield();
    retries.request_stop();
    EXPECT_THROW(co_await retries.join(), join_cancelled);
  });
}

// The next runtime may have the same address.
TEST(JoinHandles, AFailureOfAnEndedRuntimeIsNotReportedToTheNext) {
  const auto fails = []() -> task<> {
    co_await yield();
    throw std::runtime_error("of the first runtime");
  };
  join_handle<> failed;
  int reported = 0;
  run_options options;
  options.processors = 1;
  options.on_failure = [&reported](std::string_view, const std::exception_ptr&) { ++reported; };
  for (int round = 0; round < 10; ++round) {
    const auto main = [&]() -> task<> {
      failed = join_handle<>();  // of the runtime before
      failed = spawn(fails());
      while (!failed.done()) co_await yield();
    };
    run(main, options);
  }
  EXPECT_EQ(reported, 0);
}

TEST(Tasks, AnEmptyTaskIsRefusedBySpawnAndByRun) {
  EXPECT_THROW(static_cast<void>(run(task<int>())), std::logic_error);
  everywhere([]() -> task<> {
    EXPECT_THROW(static_cast<void>(spawn(task<int>())), std::logic_error);
    const std::stop_source source;
    EXPECT_THROW(static_cast<void>(spawn(task<>(), source.get_token())), std::logic_error);
    auto moved_from = answer();
    const auto moved_to = std::move(moved_from);
    EXPECT_THROW(static_cast<void>(spawn(std::move(moved_from))), std::logic_error);
    co_return;
  });
}

TEST(Tasks, ATaskThatIsEmptyOrHasRunIsRefusedByAwaitAndBySpawn) {
  everywhere([]() -> task<> {
    int refused = 0;
    task<std::string> empty;
    try {
      co_await empty;
    } catch (const std::logic_error&) {
      ++refused;
    }
    auto once = answer();
    const std::string result = co_await once;
    EXPECT_FALSE(result.empty());
    try {
      co_await once;
    } catch (const std::logic_error&) {
      ++refused;
    }
    EXPECT_EQ(refused, 2);
    EXPECT_THROW(static_cast<void>(spawn(std::move(once))), std::logic_error);
  });
}

}  // namespace
}  // namespace foliot::runtime
