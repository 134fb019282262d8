#include <chrono>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/core/sync/note.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/this_task.hpp>

#include "worlds.hpp"

namespace foliot::runtime {
namespace {

using namespace std::chrono_literals;

TEST(Blocking, GivesWhatTheCallReturnsOrThrows) {
  test::everywhere([]() -> task<> {
    const auto seven = [] { return 7; };
    const int got = co_await blocking(seven);
    EXPECT_EQ(got, 7);
    const auto fails = []() -> int { throw std::runtime_error("no"); };
    bool caught = false;
    try {
      co_await blocking(fails);
    } catch (const std::runtime_error&) {
      caught = true;
    }
    EXPECT_TRUE(caught);
  });
}

TEST(Blocking, KeepsNoProcessor) {
  run_options options;
  options.processors = 1;
  run(
      []() -> task<> {
        note go_on;
        auto waits = [](note& until) -> task<> {
          const auto wait = [&until] { until.sleep_until(instant::never()); };
          co_await blocking(wait);
        };
        std::vector<join_handle<>> all;
        all.push_back(spawn(waits(go_on)));
        co_await sleep(1ms);  // the only processor goes on while that call blocks
        go_on.wake();
        co_await all.front().join();
      }(),
      options);
}

TEST(Blocking, MoreCallsThanThreadsWaitForTheirTurn) {
  run_options options;
  options.blocking_threads = 2;
  run(
      []() -> task<> {
        auto calls = []() -> task<int> {
          const auto one = [] { return 1; };
          const int got = co_await blocking(one);
          co_return got;
        };
        std::vector<join_handle<int>> all;
        for (int i = 0; i < 200; ++i) all.push_back(spawn(calls()));
        int sum = 0;
        for (auto& each : all) {
          const int got = co_await each.join();
          sum += got;
        }
        EXPECT_EQ(sum, 200);
      }(),
      options);
}

TEST(Blocking, ARuntimeThatEndsWaitsForTheCall) {
  note entered;
  note go_on;
  bool finished = false;
  const auto call = [&] {
    entered.wake();
    go_on.sleep_until(instant::never());
    finished = true;
  };
  auto calls = [](auto& what) -> task<> { co_await blocking(what); };
  auto main = [&]() -> task<> {
    spawn(calls(call));
    while (!entered.woken()) co_await yield();
    go_on.wake();
  };
  run(main());
  EXPECT_TRUE(finished);
}

}  // namespace
}  // namespace foliot::runtime
