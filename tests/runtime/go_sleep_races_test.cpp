// The tests of Go's time/sleep_test.go that came from races and lost timers, and those of time/time_test.go, under
// their names. docs/go-parity.md has the table.
#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/core/seam/random.hpp>
#include <foliot/runtime/after.hpp>
#include <foliot/runtime/callback_timer.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/select.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/this_task.hpp>
#include <foliot/runtime/ticker.hpp>
#include <foliot/runtime/timer.hpp>

#include "worlds.hpp"

namespace foliot::runtime {
namespace {

using namespace std::chrono_literals;

TEST(GoSleep, TestTimerModifiedEarlier) {
  test::on_real_processors([]() -> task<> {
    for (int i = 0; i < 100; ++i) {
      timer t{duration::forever()};
      std::vector<callback_timer> far;
      for (int k = 0; k < 10; ++k) far.push_back(after_func(1h, [] {}));
      for (auto& each : far) {
        each.stop();
        each.reset(-1s);
      }
      t.reset(-1s);
      const instant when = co_await t;
      EXPECT_LE(when, now());
    }
  });
}

TEST(GoSleep, TestAdjustTimers) {
  test::in_virtual_worlds([]() -> task<> {
    constexpr std::size_t count = 100;
    std::vector<timer> timers;
    std::vector<std::size_t> state(count, 0);
    random_stream random(7);
    for (std::size_t i = 0; i < count; ++i) timers.emplace_back(i % 2 == 0 ? duration(1min) : duration(2min));
    std::vector<std::size_t> live(count);
    for (std::size_t i = 0; i < count; ++i) live[i] = i;
    while (!live.empty()) {
      const std::size_t at = random.below(live.size());
      timer& t = timers[live[at]];
      switch (state[live[at]]++) {
        case 0: EXPECT_EQ(t.reset(1min), reset_result::superseded); break;
        case 1: EXPECT_EQ(t.reset(3min), reset_result::superseded); break;
        case 2: EXPECT_EQ(t.reset(2min), reset_result::superseded); break;
        case 3: EXPECT_EQ(t.stop(), stop_result::stopped); break;
        case 4: EXPECT_EQ(t.reset(0ns), reset_result::idle); break;
        default: {
          const instant when = co_await t;
          EXPECT_EQ(when, now());
          live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
        }
      }
    }
  });
}

// Two timers of 1 ms: the task receives from one, and stops or resets the other, whose instant no task has received.
// The call must return so, and no instant may be left to be received.
template <bool Resets>
task<> result_of_loser() {
  for (int i = 0; i < 20; ++i) {
    timer t1{1ms};
    timer t2{1ms};
    const auto chosen = co_await select(t1.c(), t2.c());
    timer& loser = chosen.index() == 0 ? t2 : t1;
    if constexpr (Resets) {
      EXPECT_EQ(loser.reset(1h), reset_result::superseded);  // no task has received it
    } else {
      EXPECT_EQ(loser.stop(), stop_result::stopped);
    }
    EXPECT_EQ(loser.try_receive(), std::nullopt);
    EXPECT_EQ(loser.stop(), Resets ? stop_result::stopped : stop_result::idle);
  }
}
template <bool Resets>
task<> many_losers() {
  std::vector<join_handle<>> all;
  for (int i = 0; i < 100; ++i) all.push_back(spawn(result_of_loser<Resets>()));
  for (auto& each : all) co_await each.join();
}

TEST(GoSleep, TestStopResult) {
  test::on_real_processors(many_losers<false>);
  test::in_virtual_worlds(many_losers<false>);
}
TEST(GoSleep, TestResetResult) {
  test::on_real_processors(many_losers<true>);
  test::in_virtual_worlds(many_losers<true>);
}

TEST(GoSleep, TestMultiWakeupTicker) {
  test::on_real_processors([]() -> task<> {
    auto selects = []() -> task<> {
      ticker beat{1us};
      for (int i = 0; i < 2000; ++i) static_cast<void>(co_await select(beat.c(), after(1ms)));
    };
    std::vector<join_handle<>> all;
    for (std::size_t i = 0; i < processors(); ++i) all.push_back(spawn(selects()));
    for (auto& each : all) co_await each.join();
  });
}

TEST(GoSleep, TestMultiWakeupTimer) {
  test::on_real_processors([]() -> task<> {
    auto resets = [](timer& t) -> task<> {
      for (int i = 0; i < 10'000; ++i) {
        static_cast<void>(t.try_receive());
        t.reset(1ns);
        if (i % 64 == 0) co_await yield();
      }
    };
    timer t{1ns};
    std::vector<join_handle<>> all;
    for (std::size_t i = 0; i < processors(); ++i) all.push_back(spawn(resets(t)));
    for (auto& each : all) co_await each.join();
  });
}

task<> resets_often(callback_timer& t, int times) {
  for (int i = 0; i < times; ++i) {
    t.reset(i * duration::nanoseconds(1));
    if (i % 64 == 0) co_await yield();
  }
}
task<> stops_often(callback_timer& t, int times) {
  for (int i = 0; i < times; ++i) {
    t.stop();
    if (i % 64 == 0) co_await yield();
  }
}

TEST(GoTime, TestConcurrentTimerReset) {
  test::on_real_processors([]() -> task<> {
    auto t = after_func(1h, [] {});
    std::vector<join_handle<>> all;
    for (int i = 0; i < 8; ++i) all.push_back(spawn(resets_often(t, 1000)));
    for (auto& each : all) co_await each.join();
  });
}

TEST(GoTime, TestConcurrentTimerResetStop) {
  test::on_real_processors([]() -> task<> {
    auto t = after_func(1h, [] {});
    std::vector<join_handle<>> all;
    for (int i = 0; i < 8; ++i) {
      all.push_back(spawn(resets_often(t, 1000)));
      all.push_back(spawn(stops_often(t, 1000)));
    }
    for (auto& each : all) co_await each.join();
  });
}

}  // namespace
}  // namespace foliot::runtime
