#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/core/virtual_clock.hpp>
#include <foliot/runtime/callback_timer.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/this_task.hpp>
#include <foliot/runtime/virtual_time.hpp>

#include "worlds.hpp"

namespace foliot::runtime {
namespace {

using namespace std::chrono_literals;

TEST(VirtualTime, JumpsToTheNextDeadlineAndNoFurther) {
  test::in_virtual_worlds([]() -> task<> {
    const instant begin = now();
    co_await sleep(24h);
    EXPECT_EQ(now(), begin + 24h);
    auto other = spawn([]() -> task<> { co_await sleep(3s); }());
    co_await sleep(1s);
    EXPECT_EQ(now(), begin + 24h + 1s);
    co_await other.join();
    EXPECT_EQ(now(), begin + 24h + 3s);
  });
}

TEST(VirtualTime, ADeadlockNamesEachTaskAndWhereItWaits) {
  virtual_clock clock;
  run_options options;
  options.clock = &clock;
  try {
    run(
        []() -> task<> {
          auto stuck = spawn([]() -> task<> { co_await sleep_until(instant::never()); }(), "stuck");
          co_await stuck.join();
        }(),
        options);
    ADD_FAILURE() << "the run did not throw deadlock";
  } catch (const deadlock& found) {
    const std::string text = found.what();
    EXPECT_NE(text.find("nothing can end their waits"), std::string::npos) << text;
    EXPECT_NE(text.find("\n  main waits for a task at virtual_time_test.cpp:"), std::string::npos) << text;
    EXPECT_NE(text.find("\n  stuck waits in a sleep at virtual_time_test.cpp:"), std::string::npos) << text;
  }
}

task<> notes(std::vector<int>& into, int what, duration when) {
  co_await sleep(when);
  into.push_back(what);
}

TEST(VirtualTime, AdvanceMovesItByHandThroughAllThatHappens) {
  run_options options;
  options.time_jumps = false;
  test::in_virtual_worlds(
      []() -> task<> {
        const instant begin = now();
        std::vector<int> seen;
        std::vector<join_handle<>> all;
        for (int i = 1; i <= 5; ++i) all.push_back(spawn(notes(seen, i, i * duration(1s))));
        std::vector<instant> beats;
        auto beat = callback_timer();
        beat = callback_timer([&] {
          beats.push_back(now());
          beat.reset(2s);
        });
        beat.reset(2s);
        co_await wait_idle();
        EXPECT_EQ(now(), begin);
        co_await advance(3s);
        EXPECT_EQ(seen, (std::vector{1, 2, 3}));
        EXPECT_EQ(now(), begin + 3s);
        co_await advance(1500ms);
        EXPECT_EQ(seen, (std::vector{1, 2, 3, 4}));
        EXPECT_EQ(now(), begin + 4500ms);
        EXPECT_EQ(beats, (std::vector{begin + 2s, begin + 4s}));
        co_await advance(0ns);
        co_await advance(-1s);
        EXPECT_EQ(now(), begin + 4500ms);
        co_await advance(500ms);
        for (auto& each : all) co_await each.join();
      },
      options);
}

TEST(VirtualTime, ThatDoesNotJumpAndIsNotMovedIsADeadlock) {
  virtual_clock clock;
  run_options options;
  options.clock = &clock;
  options.time_jumps = false;
  EXPECT_THROW(run([]() -> task<> { co_await sleep(1s); }(), options), deadlock);
}

TEST(VirtualTime, WaitIdleGoesOnWhenAllOthersWait) {
  test::in_virtual_worlds([]() -> task<> {
    const instant begin = now();
    int steps = 0;
    auto works = [](int& count) -> task<> {
      for (int i = 0; i < 100; ++i) {
        co_await yield();
        ++count;
      }
      co_await sleep(1s);
      ++count;
    };
    auto other = spawn(works(steps));
    co_await wait_idle();
    EXPECT_EQ(steps, 100);
    EXPECT_EQ(now(), begin);
    co_await other.join();
    EXPECT_EQ(steps, 101);
  });
}

TEST(VirtualTime, ByHandNeedsAVirtualClock) {
  EXPECT_THROW(static_cast<void>(wait_idle()), std::logic_error);
  run([]() -> task<> {
    EXPECT_THROW(static_cast<void>(wait_idle()), std::logic_error);
    bool caught = false;
    try {
      co_await advance(1s);
    } catch (const std::logic_error&) {
      caught = true;
    }
    EXPECT_TRUE(caught);
  }());
}

std::vector<int> order_of_ties(std::uint64_t seed, bool shuffles) {
  virtual_clock clock;
  run_options options;
  options.clock = &clock;
  options.seed = seed;
  options.processors = 1;
  options.shuffles_ties = shuffles;
  std::vector<int> order;
  run(
      [](std::vector<int>& into) -> task<> {
        std::vector<callback_timer> all;
        for (int i = 0; i < 400; ++i) {
          all.push_back(after_func(std::chrono::seconds(1 + i % 2), [&into, i] { into.push_back(i); }));
        }
        for (int i = 0; i < 400; i += 3) all[static_cast<std::size_t>(i)].reset(std::chrono::seconds(3));
        co_await sleep(1h);
      }(order),
      options);
  return order;
}

TEST(VirtualTime, TiesFireInTheOrderOfTheirStartsOrAsTheSeedSays) {
  const std::vector<int> in_order = order_of_ties(1, false);
  EXPECT_EQ(in_order, order_of_ties(2, false));
  const std::vector<int> shuffled = order_of_ties(1, true);
  EXPECT_EQ(shuffled, order_of_ties(1, true));
  EXPECT_NE(shuffled, in_order);
  EXPECT_NE(shuffled, order_of_ties(2, true));
  // No task is lost or runs twice, and time still advances.
  ASSERT_EQ(shuffled.size(), 400U);
  const auto second_of = [](int i) { return i % 3 == 0 ? 3 : 1 + i % 2; };
  EXPECT_TRUE(std::ranges::is_sorted(shuffled, {}, second_of));
  EXPECT_TRUE(std::ranges::is_sorted(in_order, {}, second_of));
  EXPECT_TRUE(std::ranges::is_permutation(shuffled, in_order));
}

std::vector<int> order_of(std::uint64_t seed, std::size_t processors) {
  virtual_clock clock;
  run_options options;
  options.clock = &clock;
  options.seed = seed;
  options.processors = processors;
  std::vector<int> order;
  auto one = [](std::vector<int>& all, int i) -> task<> {
    for (int n = 0; n < 3; ++n) {
      co_await sleep(std::chrono::milliseconds(i % 4));
      co_await yield();
      all.push_back(i);
    }
  };
  run(
      [](auto& make, std::vector<int>& all) -> task<> {
        std::vector<join_handle<>> handles;
        for (int i = 0; i < 20; ++i) handles.push_back(spawn(make(all, i)));
        for (auto& each : handles) co_await each.join();
      }(one, order),
      options);
  return order;
}

TEST(VirtualTime, ASeedRepeatsARunAndAnotherOneIsAnother) {
  for (const std::size_t processors : {1U, 2U, 4U}) {
    EXPECT_EQ(order_of(7, processors), order_of(7, processors));
  }
  EXPECT_NE(order_of(1, 4), order_of(2, 4));
}

}  // namespace
}  // namespace foliot::runtime
