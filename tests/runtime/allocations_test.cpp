// A runtime that has warmed up allocates nothing for sleeps, timers, tickers and timeouts, with each kind of timers;
// except that with many timers at once foliot's queue sometimes enlarges a slot. On virtual time, where all tasks run
// on one thread.
#include <chrono>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/core/virtual_clock.hpp>
#include <foliot/runtime/after.hpp>
#include <foliot/runtime/callback_timer.hpp>
#include <foliot/runtime/cancelled.hpp>
#include <foliot/runtime/context.hpp>
#include <foliot/runtime/pinned_callback_timer.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/select.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/ticker.hpp>
#include <foliot/runtime/timer.hpp>
#include <foliot/runtime/virtual_time.hpp>
#include <foliot/runtime/with_timeout.hpp>

#include "support/allocations.hpp"
#include "worlds.hpp"

#if !defined(FOLIOT_SANITIZED)  // where threads keep no pieces: frame_pool.hpp

namespace foliot::runtime {
namespace {

using namespace std::chrono_literals;

constexpr int warm_up = 1'500;
constexpr int measured = 500;

/// Counts the allocations of many rounds; `step` makes the task of one round.
template <class Step>
void expect_none(std::string_view what, Step step) {
  for (const std::string_view kind : test::kinds_of_timers) {
    for (const std::size_t processors : {1U, 3U}) {
      virtual_clock clock;
      run_options options;
      options.clock = &clock;
      options.timers = kind;
      options.processors = processors;
      const auto rounds = [](Step& once) -> task<std::size_t> {
        for (int i = 0; i < warm_up; ++i) co_await once();
        const test::allocation_count allocations;
        for (int i = 0; i < measured; ++i) co_await once();
        co_return allocations.so_far();
      };
      EXPECT_EQ(run(rounds(step), options), 0U) << what << ", " << kind << ", " << processors << " processors";
    }
  }
}

task<> sleeps(duration length) { co_await sleep(length); }

TEST(Allocations, ASleepMakesNone) {
  expect_none("a short sleep", [] { return sleeps(1us); });
  expect_none("a long sleep", [] { return sleeps(1h); });
  expect_none("sleeps of eight tasks", []() -> task<> {
    join_handle<> all[8];
    for (int i = 0; i < 8; ++i) all[i] = spawn(sleeps(1ms * (i % 3 + 1)));
    for (auto& each : all) co_await each.join();
  });
}

TEST(Allocations, ASleepThatIsStoppedMakesNone) {
  expect_none("a stopped sleep", []() -> task<> {
    auto sleeper = spawn(sleeps(1h));
    co_await wait_idle();
    sleeper.request_stop();
    bool was_stopped = false;
    try {
      co_await sleeper.join();
    } catch (const cancelled&) {
      was_stopped = true;
    }
    EXPECT_TRUE(was_stopped);
  });
}

TEST(Allocations, ATimeoutMakesNone) {
  expect_none("a timeout that is not needed", []() -> task<> {
    const auto in_time = co_await with_timeout(sleeps(1ms), 1s);
    EXPECT_TRUE(in_time.has_value());
  });
  expect_none("a task that times out", []() -> task<> {
    const auto late = co_await with_timeout(sleeps(1s), 1ms);
    EXPECT_FALSE(late.has_value());
  });
  expect_none("a select that times out", []() -> task<> {
    timer never{duration::forever()};
    const auto chosen = co_await select(never.c(), after(1ms));
    EXPECT_EQ(chosen.index(), 1U);
  });
  expect_none("a context's deadline", []() -> task<> {
    auto limited = with_timeout(background(), 1h);
    co_await sleep(1ms);
    limited.cancel();
  });
}

TEST(Allocations, ATimerMakesNone) {
  expect_none("a timer", []() -> task<> {
    timer one{1ms};
    co_await one;
    one.reset(2ms);
    one.reset(1ms);
    co_await one;
    one.reset(1h);
    one.stop();
  });
  expect_none("a ticker", []() -> task<> {
    ticker beat{1ms};
    for (int i = 0; i < 3; ++i) co_await beat;
    beat.reset(2ms);
    co_await beat;
  });
  expect_none("a callback", []() -> task<> {
    bool called = false;
    auto one = after_func(1ms, [&called] { called = true; });
    one.reset(2ms);
    co_await sleep(3ms);
    EXPECT_TRUE(called);
    one.reset(1h);
  });
  expect_none("a pinned callback", []() -> task<> {
    int calls = 0;
    pinned_callback_timer t(1ms, [&calls] { ++calls; });
    co_await sleep(2ms);
    EXPECT_EQ(calls, 1);
    t.reset(1h);
    t.stop();
  });
}

/// The load of a server: a timeout for each request, few of which expire.
TEST(Allocations, ManyTimeoutsAtOnceMakeNoneOfTheirOwn) {
  for (const std::string_view kind : test::kinds_of_timers) {
    virtual_clock clock;
    run_options options;
    options.clock = &clock;
    options.timers = kind;
    const auto serves = []() -> task<std::size_t> {
      const auto requests = [](int client) -> task<> {
        for (int i = 0; i < 40; ++i) co_await with_timeout(sleeps(1ms * (1 + (client * 7 + i) % 5)), 10ms);
      };
      std::size_t last = 0;
      for (int round = 0; round < 6; ++round) {
        std::vector<join_handle<>> all(200);
        const test::allocation_count made;
        for (int client = 0; client < 200; ++client) all[static_cast<std::size_t>(client)] = spawn(requests(client));
        for (auto& each : all) co_await each.join();
        last = made.so_far();
      }
      co_return last;
    };
    const std::size_t last = run(serves(), options);
    // 8,000 timeouts and as many sleeps. The slots of foliot's queue grow and shrink by a chunk at a time.
    EXPECT_LE(last, kind == "foliot" ? 20U : 0U) << kind;
  }
}

}  // namespace
}  // namespace foliot::runtime

#endif
