// What all timers that call a function do: callback_timer, and pinned_callback_timer in a box. And what only the former
// can.
#include <foliot/runtime/callback_timer.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/runtime/pinned_callback_timer.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/this_task.hpp>

#include "worlds.hpp"

namespace foliot::runtime {
namespace {

using namespace std::chrono_literals;

/// A pinned_callback_timer with the interface of a handle.
class pinned_in_a_box {
 public:
  pinned_in_a_box() = default;
  template <class Function>
    requires std::is_invocable_v<Function&>
  explicit pinned_in_a_box(Function function) : timer_(std::make_unique<boxed>(std::move(function))) {}
  template <class Function>
  pinned_in_a_box(duration delay, Function function) : timer_(std::make_unique<boxed>(delay, std::move(function))) {}

  reset_result reset(duration delay) { return timer_->reset(delay); }
  reset_result reset_at(runtime_deadline deadline) { return timer_->reset_at(deadline); }
  stop_result stop() noexcept { return timer_->stop(); }
  auto stop_and_wait() noexcept { return timer_->stop_and_wait(); }

 private:
  using boxed = pinned_callback_timer<std::function<void()>>;
  std::unique_ptr<boxed> timer_;
};

template <class Timer, class Function>
Timer calls_after(duration delay, Function function) {
  if constexpr (std::is_same_v<Timer, callback_timer>) {
    return after_func(delay, std::move(function));
  } else {
    return Timer(delay, std::move(function));
  }
}

template <class Timer>
class CallbackTimers : public testing::Test {};
using kinds_of_callback_timers = testing::Types<callback_timer, pinned_in_a_box>;
TYPED_TEST_SUITE(CallbackTimers, kinds_of_callback_timers);

TYPED_TEST(CallbackTimers, CallsOnceAtItsTimeAndAgainAfterAReset) {
  test::in_virtual_worlds([]() -> task<> {
    const instant begin = now();
    std::vector<duration> calls;
    auto t = calls_after<TypeParam>(10ms, [&calls, begin] { calls.push_back(now() - begin); });
    co_await sleep(30ms);
    EXPECT_EQ(calls, (std::vector<duration>{10ms}));
    EXPECT_EQ(t.reset(5ms), reset_result::idle);
    EXPECT_EQ(t.reset(7ms), reset_result::superseded);
    EXPECT_EQ(t.reset(6ms), reset_result::superseded);
    co_await sleep(30ms);
    EXPECT_EQ(calls, (std::vector<duration>{10ms, 36ms}));
  });
}

// The task has never waited, so only the monitor looks after the timers of its processor.
TYPED_TEST(CallbackTimers, IsCalledBehindATaskThatOnlyComputes) {
  test::on_real_processors([]() -> task<> {
    std::atomic<bool> called{false};
    bool knows_its_runtime = false;
    auto t = calls_after<TypeParam>(2ms, [&] {
      knows_its_runtime = processors() > 0;
      called = true;
    });
    while (!called) {
    }
    EXPECT_TRUE(knows_its_runtime);
    co_return;
  });
}

// A timer that is due at once makes the monitor's alarm ring at once, and then the run ends: a monitor that had woken
// just before could miss that, and the run never returned.
TYPED_TEST(CallbackTimers, ThatIsDueAtOnceDoesNotKeepTheRunFromItsEnd) {
  for (int round = 0; round < 2000; ++round) {
    run(
        [](int spins) -> task<> {
          auto t = calls_after<TypeParam>(1h, [] {});
          co_await sleep(20us);  // the other worker looks for work, and sleeps
          EXPECT_NE(t.reset_at(instant::earliest()), reset_result::closed);
          for (std::atomic<int> spun{0}; spun < spins;) ++spun;
        }(round % 50 * 20),
        run_options{.processors = 2});
  }
}

TYPED_TEST(CallbackTimers, StopSaysWhetherItPreventedTheCall) {
  test::in_virtual_worlds([]() -> task<> {
    int calls = 0;
    auto t = calls_after<TypeParam>(10ms, [&calls] { ++calls; });
    EXPECT_EQ(t.stop(), stop_result::stopped);
    EXPECT_EQ(t.stop(), stop_result::idle);
    co_await sleep(20ms);
    EXPECT_EQ(calls, 0);
    EXPECT_EQ(t.reset(10ms), reset_result::idle);
    co_await sleep(20ms);
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(t.stop(), stop_result::idle);
  });
}

// All timers are due at once: when the first callback stops the others, their calls are already on a call list.
TYPED_TEST(CallbackTimers, WhatIsDueCanStillBeTakenBack) {
  test::in_virtual_worlds([]() -> task<> {
    std::vector<TypeParam> all(4);
    std::vector<int> called(4, 0);
    std::vector<stop_result> stops;
    reset_result reset{};
    bool first = true;
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i] = TypeParam([&, i] {
        ++called[i];
        if (!first) return;
        first = false;
        for (std::size_t k = 0; k < all.size(); ++k) {
          if (k == (i + 1) % 4) all[k] = TypeParam();
          if (k == (i + 2) % 4) stops.push_back(all[k].stop());
          if (k == (i + 3) % 4) reset = all[k].reset(1h);
        }
        EXPECT_EQ(all[i].stop(), stop_result::running);
      });
      all[i].reset(1ms);
    }
    co_await sleep(1s);
    EXPECT_EQ(called[0] + called[1] + called[2] + called[3], 1);
    EXPECT_EQ(stops, std::vector{stop_result::stopped});
    EXPECT_EQ(reset, reset_result::superseded);
    co_await sleep(1h);
    EXPECT_EQ(called[0] + called[1] + called[2] + called[3], 2);
  });
}

TYPED_TEST(CallbackTimers, MayResetAndDestroyItselfFromItsFunction) {
  test::everywhere([]() -> task<> {
    int calls = 0;
    const auto captured = std::make_shared<int>(0);
    std::atomic<bool> is_its_own = false;  // the task does not use the handle any more
    std::atomic<bool> over = false;        // publishes the rest, which use_count() does not
    TypeParam t;
    t = TypeParam([&, captured] {
      if (++calls < 5 || !is_its_own) {
        EXPECT_EQ(t.reset(0ns), reset_result::running);
        return;
      }
      t = TypeParam();
      EXPECT_EQ(captured.use_count(), 2);  // its own are there until it returns
      over = true;
    });
    EXPECT_EQ(t.reset(0ns), reset_result::idle);
    is_its_own = true;
    while (!over || captured.use_count() != 1) co_await sleep(1ms);
    EXPECT_GE(calls, 5);
  });
}

TYPED_TEST(CallbackTimers, StopAndWaitIsCertainAndForGood) {
  test::everywhere([]() -> task<> {
    const auto captured = std::make_shared<int>(0);
    for (int i = 0; i < 200; ++i) {
      bool runs = false;
      auto t = calls_after<TypeParam>(i % 2 == 0 ? 0us : 1us, [captured, &runs] {
        runs = true;
        ++*captured;
        runs = false;
      });
      if (i % 3 == 0) co_await yield();
      const stop_result result = co_await t.stop_and_wait();
      EXPECT_FALSE(runs);
      EXPECT_EQ(captured.use_count(), 1);
      const int seen = *captured;
      EXPECT_EQ(t.reset(0ns), reset_result::closed);
      EXPECT_EQ(t.stop(), stop_result::idle);
      co_await yield();
      EXPECT_EQ(*captured, seen);
      static_cast<void>(result);
    }
  });
}

TYPED_TEST(CallbackTimers, DestroyingItIsCertain) {
  test::everywhere([]() -> task<> {
    const auto captured = std::make_shared<int>(0);
    for (int i = 0; i < 200; ++i) {
      bool runs = false;
      {
        auto t = calls_after<TypeParam>(i % 2 == 0 ? 0us : 1us, [captured, &runs] {
          runs = true;
          ++*captured;
          runs = false;
        });
        if (i % 3 == 0) co_await yield();
      }
      EXPECT_FALSE(runs);
      EXPECT_EQ(captured.use_count(), 1);
    }
  });
}

// The results of stop and reset must agree with what happened: each start is called, stopped or superseded.
TYPED_TEST(CallbackTimers, EveryStartHasOneEndWhateverRaces) {
  test::on_real_processors([]() -> task<> {
    std::atomic<int> calls{0};
    std::atomic<int> starts{0};
    std::atomic<int> taken_back{0};
    auto t = TypeParam([&calls] { ++calls; });
    auto races = [](TypeParam& timer, std::atomic<int>& started, std::atomic<int>& back, int seed) -> task<> {
      for (int i = 0; i < 3000; ++i) {
        if ((i + seed) % 4 == 0) {
          if (timer.stop() == stop_result::stopped) ++back;
        } else {
          ++started;
          if (timer.reset(std::chrono::microseconds((i * seed) % 3)) == reset_result::superseded) ++back;
        }
        if (i % 16 == 0) co_await yield();
      }
    };
    std::vector<join_handle<>> all;
    for (int i = 1; i <= 4; ++i) all.push_back(spawn(races(t, starts, taken_back, i)));
    for (auto& each : all) co_await each.join();
    const stop_result last = co_await t.stop_and_wait();
    if (last == stop_result::stopped) ++taken_back;
    EXPECT_EQ(calls + taken_back, starts);
  });
}

TEST(CallbackTimer, WhatTheFunctionThrowsIsReported) {
  run_options options;
  std::vector<std::string> failures;
  options.on_failure = [&failures](std::string_view name, const std::exception_ptr&) { failures.emplace_back(name); };
  test::in_virtual_worlds(
      [&failures]() -> task<> {
        failures.clear();
        auto t = after_func(1ms, [] { throw std::runtime_error("no"); });
        auto u = after_spawn(1ms, []() -> task<> {
          co_await sleep(1ms);
          throw std::runtime_error("no");
        });
        co_await sleep(1s);
        EXPECT_EQ(failures, (std::vector<std::string>{"after_func", "after_spawn"}));
      },
      options);
}

TEST(CallbackTimer, ATaskThatWasSpawnedKeepsItsFunction) {
  test::everywhere([]() -> task<> {
    const auto sum = std::make_shared<std::atomic<int>>(0);
    auto t = after_spawn(1us, [sum]() -> task<> {
      ++*sum;
      co_await sleep(2ms);
      ++*sum;
    });
    while (*sum == 0) co_await sleep(100us);
    t = callback_timer();
    while (sum.use_count() != 1) co_await sleep(1ms);
    EXPECT_EQ(*sum, 2);
  });
}

/// Over-aligned, as a vector of AVX is.
struct alignas(64) wide {
  double numbers[8] = {};
  [[nodiscard]] bool is_aligned() const noexcept { return reinterpret_cast<std::uintptr_t>(this) % 64 == 0; }
};

TEST(CallbackTimer, AnOveralignedFunctionIsAligned) {
  test::in_virtual_worlds([]() -> task<> {
    int aligned = 0;
    auto called = after_func(1ms, [&aligned, w = wide()] { aligned += w.is_aligned() ? 1 : 0; });
    auto moved = std::move(called);
    auto spawned = after_spawn(1ms, [&aligned, w = wide()]() -> task<> {
      aligned += w.is_aligned() ? 1 : 0;
      co_return;
    });
    co_await sleep(1s);
    EXPECT_EQ(aligned, 2);
  });
}

TYPED_TEST(CallbackTimers, OutlivesItsRuntime) {
  TypeParam t;
  const auto captured = std::make_shared<int>(0);
  virtual_clock clock;
  run_options options;
  options.clock = &clock;
  run(
      [](TypeParam& out, std::shared_ptr<int> what) -> task<> {
        out = calls_after<TypeParam>(1h, [what] { ++*what; });
        co_return;
      }(t, captured),
      options);
  EXPECT_EQ(t.stop(), stop_result::idle);
  t = TypeParam();
  EXPECT_EQ(captured.use_count(), 1);
  EXPECT_EQ(*captured, 0);
}

TEST(CallbackTimer, NeedsARuntimeAndAFunction) {
  EXPECT_THROW(static_cast<void>(after_func(1s, [] {})), std::logic_error);
  callback_timer empty;
  EXPECT_EQ(empty.stop(), stop_result::idle);
  EXPECT_THROW(empty.reset(1s), std::logic_error);
  test::in_virtual_worlds([]() -> task<> {
    void (*null)() = nullptr;
    EXPECT_THROW(static_cast<void>(after_func(1s, null)), std::invalid_argument);
    EXPECT_EQ(counters().timers, 0U);
    co_return;
  });
}

}  // namespace
}  // namespace foliot::runtime
