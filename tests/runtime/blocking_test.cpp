#include <chrono>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/core/sync/note.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/this_task.hpp>

#include "blocking_pool.hpp"
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

/// A job that ends when the test lets it.
class held_job : public detail::blocking_job {
 public:
  held_job() noexcept : blocking_job(call) {}
  note entered;
  note go_on;
  bool made = false;

 private:
  static void call(blocking_job& self) noexcept {
    auto& mine = static_cast<held_job&>(self);
    mine.entered.wake();
    mine.go_on.sleep_until(instant::never());
    mine.made = true;
  }
};

TEST(Blocking, CallsThatHaveNotBegunWhenTheRunEndsAreNotMade) {
  detail::blocking_pool pool(1);
  held_job begun;
  std::vector<held_job> queued(60);
  held_job late;
  pool.submit(begun);
  for (held_job& each : queued) pool.submit(each);
  begun.entered.sleep_until(instant::never());
  pool.close();
  begun.go_on.wake();
  pool.submit(late);
  pool.end();
  EXPECT_TRUE(begun.made);
  EXPECT_FALSE(late.made);
  for (const held_job& each : queued) EXPECT_FALSE(each.made);
}

TEST(Blocking, WhatCallsHaveCapturedGoesWithTheRunWhetherTheyAreMadeOrNot) {
  const auto captured = std::make_shared<int>();
  run_options options;
  options.blocking_threads = 2;
  auto calls = [](std::shared_ptr<int> what) -> task<> {
    auto call = [what] { static_cast<void>(what); };
    what.reset();
    co_await blocking(std::move(call));
  };
  auto main = [&]() -> task<> {
    for (int i = 0; i < 60; ++i) spawn(calls(captured));
    co_await yield();
  };
  run(main(), options);
  EXPECT_EQ(captured.use_count(), 1);
}

}  // namespace
}  // namespace foliot::runtime
