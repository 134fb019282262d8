// The tests of Go's time/sleep_test.go, under their names; those for its races are in go_sleep_races_test.cpp.
// docs/go-parity.md has the table.
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/runtime/after.hpp>
#include <foliot/runtime/callback_timer.hpp>
#include <foliot/runtime/channel.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/select.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/this_task.hpp>
#include <foliot/runtime/ticker.hpp>
#include <foliot/runtime/timer.hpp>

#include "worlds.hpp"

namespace foliot::runtime {
namespace {

using namespace std::chrono_literals;

/// A timer whose instants come through a channel that its callback sends to: Go's newTimerFunc, "impl=func".
class timer_by_callback {
 public:
  explicit timer_by_callback(duration delay)
      : values_(1), timer_(after_func(delay, [to = values_]() mutable { static_cast<void>(to.try_send(0)); })) {}
  [[nodiscard]] auto c() { return values_.receive(); }
  [[nodiscard]] bool received() { return values_.try_receive().has_value(); }
  stop_result stop() { return timer_.stop(); }
  reset_result reset(duration delay) { return timer_.reset(delay); }

 private:
  channel<int> values_;
  callback_timer timer_;
};
/// The same interface for a timer with a channel, "impl=chan".
class timer_by_channel {
 public:
  explicit timer_by_channel(duration delay) : timer_(delay) {}
  [[nodiscard]] auto c() { return timer_.c(); }
  [[nodiscard]] bool received() { return timer_.try_receive().has_value(); }
  stop_result stop() { return timer_.stop(); }
  reset_result reset(duration delay) { return timer_.reset(delay); }

 private:
  timer timer_;
};

TEST(GoSleep, TestSleep) {
  test::everywhere([]() -> task<> {
    constexpr duration delay = 10ms;
    auto disturbs = [](duration length) -> task<> { co_await sleep(length / 2); };
    auto other = spawn(disturbs(delay));
    const instant start = now();
    co_await sleep(delay);
    EXPECT_GE(now(), start + delay);
    co_await other.join();
  });
}

void chain(int left, const std::shared_ptr<std::vector<callback_timer>>& all, const channel<int>& done) {
  all->push_back(after_spawn(0ns, [left, all, done]() -> task<> {
    if (left > 1) {
      chain(left - 1, all, done);
    } else {
      channel<int> over = done;
      static_cast<void>(over.try_send(0));
    }
    co_await sleep(1s);  // must not keep the others
  }));
}

TEST(GoSleep, TestAfterFunc) {
  test::in_virtual_worlds([]() -> task<> {
    const auto all = std::make_shared<std::vector<callback_timer>>();
    all->reserve(10);
    channel<int> done(1);
    const instant start = now();
    chain(10, all, done);
    co_await done.receive();
    EXPECT_EQ(now(), start);
    all->clear();
  });
}

TEST(GoSleep, TestTickerStress) {
  test::on_real_processors([]() -> task<> {
    std::atomic<bool> stop{false};
    auto allocates = [](std::atomic<bool>& until) -> task<> {  // for want of a collector to disturb it
      while (!until) {
        std::vector<std::unique_ptr<int>> garbage(64);
        for (auto& each : garbage) each = std::make_unique<int>(1);
        co_await yield();
      }
    };
    auto other = spawn(allocates(stop));
    ticker beat{1ns};
    instant last = instant::earliest();
    for (int i = 0; i < 100; ++i) {
      const instant when = co_await beat;
      EXPECT_GT(when, last);
      last = when;
    }
    stop = true;
    co_await other.join();
  });
}

TEST(GoSleep, TestTickerConcurrentStress) {
  test::on_real_processors([]() -> task<> {
    ticker beat{1ns};
    auto receives = [](const ticker& from) -> task<> {
      for (int i = 0; i < 100; ++i) co_await from;
    };
    std::vector<join_handle<>> all;
    for (int i = 0; i < 10; ++i) all.push_back(spawn(receives(beat)));
    for (auto& each : all) co_await each.join();
  });
}

TEST(GoSleep, TestAfterFuncStarvation) {
  run_options options;
  options.processors = 1;
  for (const std::string_view timers : test::kinds_of_timers) {
    options.timers = timers;
    run(
        []() -> task<> {
          std::atomic<bool> stop{false};
          channel<bool> c1;
          channel<bool> c2;
          auto plays = [](channel<bool> to, channel<bool> from, std::atomic<bool>& until) -> task<> {
            for (;;) {
              co_await to.send(until);
              const auto over = co_await from.receive();
              if (*over) co_return;
            }
          };
          auto answers = [](channel<bool> from, channel<bool> to) -> task<> {
            for (;;) {
              const auto over = co_await from.receive();
              co_await to.send(*over);
              if (*over) co_return;
            }
          };
          auto first = spawn(plays(c1, c2, stop));
          auto second = spawn(answers(c1, c2));
          auto t = after_func(1us, [&stop] { stop = true; });
          co_await first.join();
          co_await second.join();
        }(),
        options);
  }
}

TEST(GoSleep, TestAfter) {
  test::everywhere([]() -> task<> {
    const instant start = now();
    const instant end = co_await after(10ms);
    EXPECT_GE(now(), start + 10ms);
    EXPECT_GE(end, start + 10ms);
  });
}

TEST(GoSleep, TestAfterTick) {
  test::in_virtual_worlds([]() -> task<> {
    const instant start = now();
    for (int i = 0; i < 10; ++i) co_await after(100ms);
    EXPECT_EQ(now(), start + 1s);
  });
}

template <class Timer>
task<> after_stop() {
  auto other = after_func(100ms, [] {});
  Timer t(50ms);
  co_await sleep(25ms);
  EXPECT_EQ(t.stop(), stop_result::stopped);
  co_await sleep(200ms);
  EXPECT_FALSE(t.received());
  EXPECT_EQ(t.stop(), stop_result::idle);
}

TEST(GoSleep, TestAfterStop) {
  test::in_virtual_worlds(after_stop<timer_by_channel>);
  test::in_virtual_worlds(after_stop<timer_by_callback>);
}

template <class Timer>
task<> wait_for_slot(int slot, channel<int> into) {
  Timer t(slot * duration(10ms));
  co_await t.c();
  co_await into.send(slot);
}
template <class Timer>
task<> after_queuing() {
  // Go's own helper always takes After.
  const std::vector<int> slots{5, 3, 6, 6, 6, 1, 1, 2, 7, 9, 4, 8, 0};
  channel<int> result(slots.size());
  const instant start = now();
  std::vector<join_handle<>> all;
  for (const int slot : slots) all.push_back(spawn(wait_for_slot<Timer>(slot, result)));
  int before = 0;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const auto slot = co_await result.receive();
    EXPECT_GE(*slot, before);
    EXPECT_EQ(now(), start + *slot * duration(10ms));
    before = *slot;
  }
  for (auto& each : all) co_await each.join();
}

TEST(GoSleep, TestAfterQueuing) {
  test::in_virtual_worlds(after_queuing<timer_by_channel>);
  test::in_virtual_worlds(after_queuing<timer_by_callback>);
}

TEST(GoSleep, TestTimerStopStress) {
  test::in_virtual_worlds([]() -> task<> {
    int fired = 0;
    auto stops = [](int& count) -> task<> {
      auto t = after_func(2s, [&count] { ++count; });
      co_await sleep(1s);
      EXPECT_EQ(t.stop(), stop_result::stopped);
    };
    std::vector<join_handle<>> all;
    for (int i = 0; i < 100; ++i) all.push_back(spawn(stops(fired)));
    for (auto& each : all) co_await each.join();
    co_await sleep(3s);
    EXPECT_EQ(fired, 0);
  });
}

TEST(GoSleep, TestSleepZeroDeadlock) {
  test::everywhere([]() -> task<> {
    auto sleeps = []() -> task<> {
      for (int i = 0; i < 100; ++i) co_await sleep(0ns);
    };
    auto other = spawn(sleeps());
    for (int i = 0; i < 100; ++i) co_await yield();
    co_await other.join();
  });
}

TEST(GoSleep, TestReset) {
  test::in_virtual_worlds([]() -> task<> {
    timer t{200ms};
    co_await sleep(100ms);
    EXPECT_EQ(t.reset(200ms), reset_result::superseded);
    co_await sleep(150ms);
    EXPECT_EQ(t.try_receive(), std::nullopt) << "an instant came early";
    co_await sleep(100ms);
    EXPECT_NE(t.try_receive(), std::nullopt);
    EXPECT_EQ(t.reset(50ms), reset_result::idle);
  });
}

TEST(GoSleep, TestOverflowSleep) {
  test::everywhere([]() -> task<> {
    const instant start = now();
    auto sleeper = spawn([]() -> task<> { co_await sleep(duration::forever()); }());
    const auto chosen = co_await select(after(duration::forever()), after(2ms));
    EXPECT_EQ(chosen.index(), 1U);
    EXPECT_GE(now(), start + 2ms);
    EXPECT_FALSE(sleeper.done());
    co_await sleep(duration::lowest());
    const instant at_once = co_await after(duration::lowest());
    EXPECT_LE(at_once, now());
  });
}

TEST(GoSleep, TestIssue5745) {
  timer none;
  EXPECT_EQ(none.stop(), stop_result::idle);  // an empty handle is no error, and holds no lock
  test::in_virtual_worlds([]() -> task<> {
    auto t = after_func(100ms, [] {});
    co_await sleep(1s);
    EXPECT_EQ(t.stop(), stop_result::idle);
  });
}

TEST(GoSleep, TestOverflowPeriodRuntimeTimer) {
  test::in_virtual_worlds([]() -> task<> {
    ticker t{duration::forever(), first_tick::at_once};
    const instant when = co_await t;
    EXPECT_EQ(when, now());
    const auto chosen = co_await select(t.c(), after(25ms));
    EXPECT_EQ(chosen.index(), 1U);
  });
}

TEST(GoSleep, TestZeroTimerResetPanics) {
  timer t;
  EXPECT_THROW(t.reset(1s), std::logic_error);
  callback_timer c;
  EXPECT_THROW(c.reset(1s), std::logic_error);
}

TEST(GoSleep, TestZeroTimerStopPanics) {
  timer t;
  EXPECT_EQ(t.stop(), stop_result::idle);  // not in C++: a moved-from handle is stopped in passing
  callback_timer c;
  EXPECT_EQ(c.stop(), stop_result::idle);
}

template <class Timer>
task<> zero_timers() {
  for (int i = 0; i < 20'000; ++i) {
    Timer t(0ns);
    co_await t.c();
  }
}

TEST(GoSleep, TestZeroTimer) {
  test::on_real_processors(zero_timers<timer_by_channel>);
  test::on_real_processors(zero_timers<timer_by_callback>);
  test::on_real_processors([]() -> task<> {  // impl=cache
    timer t{1h};
    for (int i = 0; i < 20'000; ++i) {
      t.reset(0ns);
      co_await t;
    }
  });
}

}  // namespace
}  // namespace foliot::runtime
