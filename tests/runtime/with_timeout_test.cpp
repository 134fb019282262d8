#include <foliot/runtime/with_timeout.hpp>

#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/runtime/cancelled.hpp>
#include <foliot/runtime/context.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/this_task.hpp>
#include <foliot/runtime/timer.hpp>

#include "worlds.hpp"

namespace foliot::runtime {
namespace {

using namespace std::chrono_literals;

task<int> seven_after(duration length) {
  co_await sleep(length);
  co_return 7;
}
task<> nothing_after(duration length) { co_await sleep(length); }

template <class Body>
concept takes_a_timeout = requires(Body&& body) { with_timeout(std::forward<Body>(body), 1s); };
static_assert(takes_a_timeout<task<int>>);
static_assert(takes_a_timeout<context&>);
static_assert(takes_a_timeout<std::reference_wrapper<context>>);
static_assert(takes_a_timeout<std::reference_wrapper<cancel_context>>);
struct derived_task : task<int> {};
static_assert(takes_a_timeout<derived_task>);
static_assert(!takes_a_timeout<int>);
static_assert(!takes_a_timeout<task<int> (&)()>);
static_assert(!takes_a_timeout<decltype(sleep(1s))>);

TEST(WithTimeout, GivesTheResultOrSaysThatTheTimeIsOver) {
  test::everywhere([]() -> task<> {
    const auto in_time = co_await with_timeout(seven_after(1ms), 1h);
    EXPECT_EQ(in_time.value(), 7);
    const auto late = co_await with_timeout(seven_after(1h), 1ms);
    EXPECT_FALSE(late.has_value());
    const auto nothing = co_await with_timeout(nothing_after(1ms), 1h);
    EXPECT_TRUE(nothing.has_value());
    co_await sleep(1ms);  // nothing of it is left
  });
}

TEST(WithTimeout, EndsExactlyAtItsDeadline) {
  test::in_virtual_worlds([]() -> task<> {
    const instant begin = now();
    const auto late = co_await with_timeout(seven_after(1h), 5s);
    EXPECT_FALSE(late.has_value());
    EXPECT_EQ(now(), begin + 5s);
    const auto also_late = co_await with_deadline(seven_after(1h), begin + 6s);
    EXPECT_FALSE(also_late.has_value());
    EXPECT_EQ(now(), begin + 6s);
    const auto past = co_await with_deadline(seven_after(1h), begin);
    EXPECT_FALSE(past.has_value());
    EXPECT_EQ(now(), begin + 6s);
    EXPECT_EQ(counters().timers, 0U);
  });
}

task<int> takes(timer& t) {
  co_await t;
  co_return 7;
}
task<> sends(timer& t, duration when) {
  co_await sleep(when);
  t.reset(0ns);
}

TEST(WithTimeout, AResultThatIsReadyAtTheDeadlineIsInTime) {
  test::in_virtual_worlds([]() -> task<> {
    const auto own = co_await with_timeout(seven_after(5s), 5s);
    EXPECT_TRUE(own.has_value());
    timer t;
    t = timer{instant::never()};
    auto other = spawn(sends(t, 5s));
    const auto from_another = co_await with_timeout(takes(t), 5s);
    EXPECT_TRUE(from_another.has_value());
    co_await other.join();
  });
}

task<std::string> nested(duration outer_time, duration inner_time, duration work) {
  auto inner = [](duration limit, duration length) -> task<std::string> {
    const auto got = co_await with_timeout(seven_after(length), limit);
    if (!got) {
      co_await sleep(1ms);  // an outer one that has come ends this as well
      co_return "inner";
    }
    co_return "done";
  };
  const auto got = co_await with_timeout(inner(inner_time, work), outer_time);
  co_return got.value_or("outer");
}

TEST(WithTimeout, NestedOnesEndWhatTheyWerePutAround) {
  test::in_virtual_worlds([]() -> task<> {
    const std::string outer = co_await nested(1s, 2s, 1h);
    EXPECT_EQ(outer, "outer");
    const std::string inner = co_await nested(2s, 1s, 1h);
    EXPECT_EQ(inner, "inner");
    const std::string both = co_await nested(1s, 1s, 1h);
    EXPECT_EQ(both, "outer");
    const std::string none = co_await nested(1h, 1h, 1s);
    EXPECT_EQ(none, "done");
  });
}

TEST(WithTimeout, LetsOtherExceptionsPass) {
  test::in_virtual_worlds([]() -> task<> {
    auto throws = []() -> task<int> {
      co_await sleep(1ms);
      throw std::runtime_error("no");
    };
    bool caught = false;
    try {
      static_cast<void>(co_await with_timeout(throws(), 1s));
    } catch (const std::runtime_error&) {
      caught = true;
    }
    EXPECT_TRUE(caught);
    auto waits = []() -> task<> { static_cast<void>(co_await with_timeout(seven_after(1h), 2h)); };
    auto stopped = spawn(waits());
    co_await sleep(1s);
    stopped.request_stop();
    caught = false;
    try {
      co_await stopped.join();
    } catch (const cancelled&) {
      caught = true;
    }
    EXPECT_TRUE(caught);
    EXPECT_EQ(counters().timers, 0U);
  });
}

TEST(WithTimeout, WhatDoesNotWaitHasItsResult) {
  test::in_virtual_worlds([]() -> task<> {
    auto stubborn = []() -> task<int> {
      try {
        co_await sleep(1h);
      } catch (...) {  // as no task should
      }
      co_return 7;
    };
    const auto got = co_await with_timeout(stubborn(), 1s);
    EXPECT_EQ(got.value_or(0), 7);
    co_await sleep(1s);  // and the caller's own waits are as before
  });
}

TEST(WithTimeout, WhatIsShieldedGoesOn) {
  test::in_virtual_worlds([]() -> task<> {
    const instant begin = now();
    const auto got = co_await with_timeout(shielded(seven_after(3s)), 1s);
    EXPECT_EQ(got.value_or(0), 7);
    EXPECT_EQ(now(), begin + 3s);
  });
}

TEST(WithTimeout, ManyRaceWithTheirDeadlines) {
  test::on_real_processors([]() -> task<> {
    auto races = [](int seed) -> task<> {
      for (int i = 0; i < 100; ++i) {
        const auto got = co_await with_timeout(seven_after(std::chrono::microseconds(20 + i % 7)),
                                               std::chrono::microseconds(20 + (i + seed) % 7));
        EXPECT_EQ(got.value_or(7), 7);
      }
    };
    std::vector<join_handle<>> all;
    for (int i = 0; i < 8; ++i) all.push_back(spawn(races(i)));
    for (auto& each : all) co_await each.join();
  });
}

}  // namespace
}  // namespace foliot::runtime
