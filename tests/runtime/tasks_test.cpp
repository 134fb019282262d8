#include <chrono>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/runtime/callback_timer.hpp>
#include <foliot/runtime/cancelled.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/this_task.hpp>

#include "worlds.hpp"

namespace foliot::runtime {
namespace {

using namespace std::chrono_literals;
using test::everywhere;

task<int> twice(int n) {
  co_await yield();
  co_return 2 * n;
}
task<int> four_times(int n) {
  const int once = co_await twice(n);
  const int again = co_await twice(once);
  co_return again;
}

TEST(Tasks, CallEachOther) {
  everywhere([]() -> task<> {
    const int result = co_await four_times(5);
    EXPECT_EQ(result, 20);
  });
}

TEST(Tasks, RunGivesWhatMainReturns) { EXPECT_EQ(run(four_times(3)), 12); }

task<int&> reference_to(int& value) { co_return value; }

TEST(Tasks, MayReturnReferencesAndWhatOnlyMoves) {
  everywhere([]() -> task<> {
    int value = 1;
    int& same = co_await reference_to(value);
    EXPECT_EQ(&same, &value);
    auto spawned = spawn(reference_to(value));
    int& again = co_await spawned.join();
    EXPECT_EQ(&again, &value);
    auto pointer = [](int n) -> task<std::unique_ptr<int>> { co_return std::make_unique<int>(n); };
    auto mine = co_await pointer(3);
    EXPECT_EQ(*mine, 3);
  });
}

task<> fails() {
  co_await yield();
  throw std::runtime_error("as it must");
}

TEST(Tasks, ExceptionsReachWhoAwaitsAndWhoJoins) {
  everywhere([]() -> task<> {
    int caught = 0;
    try {
      co_await fails();
    } catch (const std::runtime_error&) {
      ++caught;
    }
    auto failing = spawn(fails());
    try {
      co_await failing.join();
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "as it must");
      ++caught;
    }
    EXPECT_EQ(caught, 2);
  });
  EXPECT_THROW(run(fails()), std::runtime_error);
}

TEST(Tasks, OnVirtualTimeThereIsOneProcessorUnlessMoreAreAskedFor) {
  virtual_clock clock;
  run_options options;
  options.clock = &clock;
  std::vector<int> order;
  const auto main = [&order]() -> task<> {
    const auto one = [&order](int number) -> task<> {
      order.push_back(number);
      co_return;
    };
    for (int i = 0; i < 8; ++i) spawn(one(i));
    co_await sleep(1s);
  };
  run(main(), options);
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(Tasks, AFailureThatNobodyJoinsIsReported) {
  std::vector<std::string> reported;
  run_options options;
  options.processors = 1;
  options.on_failure = [&](std::string_view name, const std::exception_ptr&) { reported.emplace_back(name); };
  run(
      [](const std::vector<std::string>& said) -> task<> {
        spawn(fails(), "poor thing");
        while (said.empty()) co_await sleep(1ms);  // on one processor
      }(reported),
      options);
  EXPECT_EQ(reported, std::vector<std::string>{"poor thing"});
}

// All sources of reports, and all kinds of exceptions: tasks, functions of timers, handles that are dropped later.
TEST(Tasks, AFailureHandlerThatThrowsDoesNotEndTheProgram) {
  run_options options;
  int reported = 0;
  options.on_failure = [&reported](std::string_view, const std::exception_ptr& failure) {
    ++reported;
    if (reported % 2 == 0) throw 42;
    std::rethrow_exception(failure);
  };
  test::in_virtual_worlds(
      [&reported]() -> task<> {
        reported = 0;
        spawn(fails());
        auto by_function = after_func(1ms, [] { throw std::runtime_error("no"); });
        auto by_spawned = after_spawn(1ms, [] { return fails(); });
        co_await sleep(1s);
        EXPECT_EQ(reported, 3);
        {
          auto dropped_later = spawn(fails());
          while (!dropped_later.done()) co_await sleep(1ms);
        }
        EXPECT_EQ(reported, 4);
        const int still_here = co_await twice(21);
        EXPECT_EQ(still_here, 42);
      },
      options);
}

task<> deep(int levels) {
  if (levels > 0) co_await deep(levels - 1);
}
task<int> many_calls(int count) {
  int sum = 0;
  for (int i = 0; i < count; ++i) {
    const int got = co_await twice(1);
    sum += got;
  }
  co_return sum;
}

TEST(Tasks, TheStackStaysShort) {
  run(deep(20'000));
  EXPECT_EQ(run(many_calls(200'000)), 400'000);
}

TEST(Tasks, AreDestroyedWhereTheyWaitWhenMainHasEnded) {
  everywhere([]() -> task<> { co_return; });
  const auto alive = std::make_shared<int>();
  test::on_real_processors([alive]() -> task<> {
    const auto hold = [](std::shared_ptr<int> held) -> task<> {
      co_await sleep(1h);
      static_cast<void>(held);
    };
    for (int i = 0; i < 100; ++i) spawn(hold(alive));
    co_await sleep(1ms);
  });
  EXPECT_EQ(alive.use_count(), 1);
}

TEST(Tasks, ParametersAreGoneWhenATaskHasEndedThoughItsHandleIsKept) {
  everywhere([]() -> task<> {
    const auto value = std::make_shared<int>();
    const auto hold = [](std::shared_ptr<int>) -> task<> { co_return; };
    auto handle = spawn(hold(value));
    co_await handle.join();
    EXPECT_EQ(value.use_count(), 1);
    EXPECT_TRUE(handle.done());
  });
}

TEST(Tasks, MayBeFunctionsWhoseCapturesLiveUntilTheyEnd) {
  everywhere([]() -> task<> {
    auto captured = std::make_unique<int>(21);
    auto watched = std::make_shared<int>(2);
    const std::weak_ptr<int> alive = watched;
    auto doubled = spawn([captured = std::move(captured), watched = std::move(watched)]() -> task<int> {
      co_await sleep(1ms);
      co_return *captured** watched;
    });
    const int result = co_await doubled.join();
    EXPECT_EQ(result, 42);
    EXPECT_TRUE(alive.expired()) << "the captures must be gone when the task has ended, though its handle is kept";
  });
}

TEST(Tasks, MayBeFunctionsThatReturnReferencesOrThrow) {
  everywhere([]() -> task<> {
    int value = 1;
    auto reference = spawn([&value]() -> task<int&> { co_return value; });
    int& same = co_await reference.join();
    EXPECT_EQ(&same, &value);

    // A function that is no coroutine, and throws before there is a task.
    const auto none = []() -> task<> { throw std::runtime_error("before the first await"); };
    auto failing = spawn(none, "failing");
    bool thrown = false;
    try {
      co_await failing.join();
    } catch (const std::runtime_error&) {
      thrown = true;
    }
    EXPECT_TRUE(thrown);
  });
}

TEST(Tasks, AStopTokenStopsAFunctionAndItsCapturesGo) {
  everywhere([]() -> task<> {
    std::stop_source source;
    auto watched = std::make_shared<int>(0);
    const std::weak_ptr<int> alive = watched;
    auto waiting = spawn([watched = std::move(watched)]() -> task<> { co_await sleep(duration::forever()); },
                         source.get_token(), "waiting");
    co_await yield();
    source.request_stop();
    bool stopped = false;
    try {
      co_await waiting.join();
    } catch (const cancelled&) {
      stopped = true;
    }
    EXPECT_TRUE(stopped);
    EXPECT_TRUE(alive.expired());
  });
}

TEST(Tasks, CapturesOfAFunctionThatTheRuntimeAbandonsAreDestroyed) {
  std::weak_ptr<int> alive;
  run([&]() -> task<> {
    auto watched = std::make_shared<int>(0);
    alive = watched;
    spawn([watched = std::move(watched)]() -> task<> { co_await sleep(duration::forever()); });
    co_await yield();
  });
  EXPECT_TRUE(alive.expired());
}

TEST(Tasks, AreCancelledWhereTheyWaitOrNextTime) {
  everywhere([]() -> task<> {
    auto sleeps = [](int& reached) -> task<> {
      reached = 1;
      co_await sleep(1h);
      reached = 2;
    };
    int first = 0;
    int second = 0;
    auto waiting = spawn(sleeps(first));
    co_await sleep(1ms);
    waiting.request_stop();
    auto not_begun = spawn(sleeps(second));
    not_begun.request_stop();
    int cancelled_ones = 0;
    try {
      co_await waiting.join();
    } catch (const cancelled&) {
      ++cancelled_ones;
    }
    try {
      co_await not_begun.join();
    } catch (const cancelled&) {
      ++cancelled_ones;
    }
    EXPECT_EQ(cancelled_ones, 2);
    EXPECT_EQ(first, 1);
    EXPECT_EQ(second, 1);
  });
}

TEST(Tasks, AreCancelledThoughTheySleepForNextToNothing) {
  test::on_real_processors([]() -> task<> {
    auto naps = []() -> task<> {
      for (;;) co_await sleep(1ns);
    };
    auto until_the_past = []() -> task<> {
      for (;;) {
        co_await sleep_until(instant::earliest());
        co_await yield();
      }
    };
    auto one = spawn(naps());
    auto other = spawn(until_the_past());
    co_await sleep(1ms);
    one.request_stop();
    other.request_stop();
    int cancelled_ones = 0;
    for (auto* each : {&one, &other}) {
      try {
        co_await each->join();
      } catch (const cancelled&) {
        ++cancelled_ones;
      }
    }
    EXPECT_EQ(cancelled_ones, 2);
  });
}

TEST(Tasks, AFailureIsReportedAlsoIfItsHandleIsDroppedLater) {
  int reported = 0;
  run_options options;
  options.processors = 1;
  options.on_failure = [&](std::string_view, const std::exception_ptr&) { ++reported; };
  const auto main = []() -> task<> {
    {
      const auto kept = spawn(fails());
      while (!kept.done()) co_await sleep(1ms);
    }
    auto joined = spawn(fails());
    try {
      co_await joined.join();
    } catch (const std::runtime_error&) {
    }
  };
  run(main(), options);
  EXPECT_EQ(reported, 1);
}

TEST(Tasks, AStopTokenStopsThem) {
  everywhere([]() -> task<> {
    std::stop_source source;
    auto forever = []() -> task<> {
      for (;;) co_await sleep(10us);
    };
    auto handle = spawn(forever(), source.get_token());
    co_await sleep(1ms);
    source.request_stop();
    bool stopped = false;
    try {
      co_await handle.join();
    } catch (const cancelled&) {
      stopped = true;
    }
    EXPECT_TRUE(stopped);
  });
}

TEST(Tasks, WhatIsShieldedRunsToItsEnd) {
  everywhere([]() -> task<> {
    bool cleaned = false;
    auto cleaning = [](bool& done) -> task<> {
      co_await sleep(5ms);
      done = true;
    };
    auto works = [&]() -> task<> {
      auto body = cleaning(cleaned);
      co_await shielded(std::move(body));
      co_await sleep(1h);
    };
    auto handle = spawn(works());
    co_await sleep(1ms);
    handle.request_stop();
    try {
      co_await handle.join();
      ADD_FAILURE() << "the task was not cancelled";
    } catch (const cancelled&) {
    }
    EXPECT_TRUE(cleaned);
  });
}

TEST(Tasks, OptionsThatCannotBeAreRefused) {
  const auto nothing = []() -> task<> { co_return; };
  const auto message = [&](const run_options& options) -> std::string {
    try {
      run(nothing(), options);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  };
  run_options many;
  many.processors = 257;
  EXPECT_EQ(message(many), "foliot: a runtime can have 1 to 256 processors, not 257");
  run_options timers;
  timers.timers = "sundial";
  EXPECT_NE(message(timers).find("foliot: a runtime has no timers 'sundial'; it has: foliot"), std::string::npos);
  run_options none;
  none.blocking_threads = 0;
  EXPECT_EQ(message(none), "foliot: a runtime needs at least 1 thread for blocking calls, not 0");
}

TEST(Tasks, ARuntimeIsNeededAndOnlyOne) {
  EXPECT_THROW(spawn(twice(1)), std::logic_error);
  run([]() -> task<> {
    EXPECT_THROW(run(twice(1)), std::logic_error);
    co_return;
  }());
}

TEST(Tasks, ProcessorsComeAndGoWhileTasksRun) {
  test::in_virtual_worlds([]() -> task<> {
    int woken = 0;
    auto sleeper = [&woken](int ms) -> task<> {
      const instant due = now() + std::chrono::milliseconds(ms);
      co_await sleep(std::chrono::milliseconds(ms));
      EXPECT_EQ(now(), due);
      ++woken;
    };
    std::vector<join_handle<>> all;
    for (int i = 0; i < 300; ++i) {
      all.push_back(spawn(sleeper(i)));
      if (i % 10 == 0) {
        co_await yield();
        set_processors(static_cast<std::size_t>(1 + i / 10 % 5));
      }
    }
    for (auto& each : all) co_await each.join();
    EXPECT_EQ(woken, 300);
  });
  test::on_real_processors([]() -> task<> {
    std::vector<join_handle<>> all;
    for (int i = 0; i < 300; ++i) {
      all.push_back(spawn([](int ms) -> task<> { co_await sleep(std::chrono::milliseconds(ms)); }(i % 30)));
      if (i % 10 == 0) {
        co_await sleep(100us);
        set_processors(static_cast<std::size_t>(1 + i / 10 % 5));
      }
    }
    for (auto& each : all) co_await each.join();
    set_processors(1);
  });
}

}  // namespace
}  // namespace foliot::runtime
