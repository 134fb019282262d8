// The tests of Go's time/tick_test.go, under their names, and those of its runtime's tests that apply.
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
#include <foliot/runtime/cancelled.hpp>
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

TEST(GoTick, TestTicker) {
  test::in_virtual_worlds([]() -> task<> {
    const instant start = now();
    ticker beat{20ms};
    for (int i = 0; i < 5; ++i) co_await beat;
    beat.reset(40ms);
    for (int i = 0; i < 5; ++i) co_await beat;
    beat.stop();
    EXPECT_EQ(now(), start + 300ms);
    co_await sleep(80ms);
    EXPECT_EQ(beat.try_receive(), std::nullopt);
  });
}

TEST(GoTick, TestTickerStopWithDirectInitialization) {
  ticker empty;
  EXPECT_EQ(empty.stop(), stop_result::idle);
}

TEST(GoTick, TestTeardown) {
  test::everywhere([]() -> task<> {
    for (int i = 0; i < 3; ++i) {
      ticker beat{1ms};
      co_await beat;
      beat.stop();
      EXPECT_EQ(beat.try_receive(), std::nullopt);
    }
  });
}

TEST(GoTick, TestNewTickerLtZeroDuration) {
  test::in_virtual_worlds([]() -> task<> {
    EXPECT_THROW(static_cast<void>(ticker{-1ns}), std::invalid_argument);
    EXPECT_THROW(static_cast<void>(ticker{0ns}), std::invalid_argument);
    co_return;
  });
}

TEST(GoTick, TestTickerResetLtZeroDuration) {
  test::in_virtual_worlds([]() -> task<> {
    const instant start = now();
    ticker beat{10ms};
    EXPECT_THROW(beat.reset(0ns), std::invalid_argument);
    const instant when = co_await beat;  // as before
    EXPECT_EQ(when, start + 10ms);
  });
}

TEST(GoTick, TestLongAdjustTimers) {
#if defined(FOLIOT_SANITIZED)
  static constexpr int rounds = 100;  // Go's are 1000
#else
  static constexpr int rounds = 1000;
#endif
  test::in_virtual_worlds([]() -> task<> {
    std::vector<join_handle<>> sleepers;
    for (int i = 0; i < 500; ++i) sleepers.push_back(spawn([]() -> task<> { co_await sleep(5s); }()));
    channel<int> c;
    auto sends = [](channel<int> to) -> task<> {
      for (int i = 0; i < rounds; ++i) co_await to.send(i);
    };
    auto sender = spawn(sends(c));
    const instant start = now();
    for (int i = 0; i < rounds; ++i) {
      auto chosen = co_await select(c.receive(), after(5s));
      EXPECT_EQ(chosen.index(), 0U);
    }
    EXPECT_EQ(now(), start);
    for (auto& each : sleepers) co_await each.join();
    EXPECT_EQ(now(), start + 5s);
    co_await sender.join();
    EXPECT_EQ(counters().timers, 0U);
  });
}

// A dropped timer is freed, stopped or not: sanitizers find leaks.
TEST(GoTick, TestTimerGC) {
  test::in_virtual_worlds([]() -> task<> {
    for (int i = 0; i < 1000; ++i) {
      static_cast<void>(after(24h));
      timer t{24h};
      timer stopped{24h};
      stopped.stop();
      ticker beat{24h};
      auto call = after_func(24h, [] {});
      const auto chosen = co_await select(t.c(), beat.c(), otherwise());
      EXPECT_EQ(chosen.index(), 2U);
    }
    EXPECT_EQ(counters().timers, 0U);
  });
}

/// Whether an instant can be received; and, for a ticker or a timer, the results that the script needs.
template <class Timer>
task<> no_tick(Timer& t) {
  const auto chosen = co_await select(t.c(), otherwise());
  EXPECT_EQ(chosen.index(), 1U) << "a stale or an early tick";
}
template <class Timer>
task<> tick(Timer& t) {
  const auto chosen = co_await select(t.c(), otherwise());
  EXPECT_EQ(chosen.index(), 0U) << "no tick";
}
template <class Timer>
task<> waits_for_tick(const Timer& t, std::atomic<int>& got) {
  co_await t;
  ++got;
}

/// Go's script for channels of timers. The results of a one-shot timer differ once its instant was received.
template <class Timer>
task<> channel_script(bool ticks) {
  const auto pending_after_tick = ticks ? reset_result::superseded : reset_result::idle;
  constexpr duration far = 10000s;
  Timer t(far);
  co_await no_tick(t);
  EXPECT_EQ(t.reset(20ms), reset_result::superseded);
  co_await sleep(40ms);
  // The instant is due, but no task has received it: a stop discards it, and returns that it did.
  EXPECT_EQ(t.stop(), stop_result::stopped);
  co_await no_tick(t);
  EXPECT_EQ(t.stop(), stop_result::idle);
  EXPECT_EQ(t.reset(20ms), reset_result::idle);
  co_await sleep(40ms);
  EXPECT_EQ(t.reset(far), reset_result::superseded);
  co_await no_tick(t);
  EXPECT_EQ(t.reset(20ms), reset_result::superseded);
  co_await sleep(30ms);
  co_await tick(t);
  EXPECT_EQ(t.reset(far), pending_after_tick);
  co_await no_tick(t);

  // While a task waits, the timer is brought forward and postponed.
  std::atomic<int> got{0};
  auto waits = spawn(waits_for_tick(t, got));
  co_await sleep(1ms);
  EXPECT_EQ(t.reset(20ms), reset_result::superseded);
  EXPECT_EQ(t.reset(far), reset_result::superseded);
  co_await sleep(40ms);
  EXPECT_EQ(got, 0);
  EXPECT_EQ(t.reset(1ns), reset_result::superseded);
  co_await waits.join();
  EXPECT_EQ(t.reset(far), pending_after_tick);

  // Two selects wait at once: each start is for one of them.
  auto selects = [](const Timer& from, std::atomic<int>& count, channel<int> over) -> task<> {
    const auto chosen = co_await select(from.c(), over.receive());
    if (chosen.index() == 0) ++count;
  };
  channel<int> over;
  got = 0;
  auto first = spawn(selects(t, got, over));
  auto second = spawn(selects(t, got, over));
  co_await sleep(1ms);
  EXPECT_EQ(t.stop(), stop_result::stopped);
  co_await sleep(far);
  EXPECT_EQ(got, 0);
  EXPECT_EQ(t.reset(20ms), reset_result::idle);
  co_await sleep(25ms);
  EXPECT_EQ(got, 1);
  t.reset(far);
  co_await sleep(1ms);
  EXPECT_EQ(got, 1);
  over.close();
  co_await first.join();
  co_await second.join();
  EXPECT_EQ(got, 1);
  EXPECT_EQ(t.stop(), stop_result::stopped);
  co_await no_tick(t);
}

TEST(GoTick, TestChan) {
  test::in_virtual_worlds([] { return channel_script<timer>(false); });
  test::in_virtual_worlds([] { return channel_script<ticker>(true); });
}

TEST(GoTick, TestAfterTimes) {
  test::in_virtual_worlds([]() -> task<> {
    const instant start = now();
    timer t{10ms};
    co_await sleep(500ms);
    const instant when = co_await t;
    EXPECT_EQ(when, start + 10ms);
  });
}

TEST(GoTick, TestTickTimes) {
  test::in_virtual_worlds([]() -> task<> {
    const instant start = now();
    ticker beat{10ms};
    co_await sleep(500ms);
    const instant when = co_await beat;
    EXPECT_EQ(when, start + 10ms);
  });
}

// ---- runtime

TEST(GoRuntime, TestFakeTime) {
  test::in_virtual_worlds([]() -> task<> {
    const instant start = now();
    std::vector<duration> at;
    auto writes = [](std::vector<duration>& into, instant from) -> task<> {
      for (int i = 0; i < 3; ++i) {
        co_await sleep(1s);
        into.push_back(now() - from);
      }
    };
    auto other = spawn(writes(at, start));
    co_await sleep(500ms);
    co_await sleep(1s);
    at.push_back(now() - start);
    co_await other.join();
    EXPECT_EQ(at, (std::vector<duration>{1s, 1500ms, 2s, 3s}));
  });
}

TEST(GoRuntime, TestTimerFairness) {
  test::on_real_processors([]() -> task<> {
    channel<int> c;
    channel<int> done;
    auto sends = [](channel<int> to, channel<int> until) -> task<> {
      for (;;) {
        const auto chosen = co_await select(to.send(1), until.receive());
        if (chosen.index() == 1) co_return;
      }
    };
    auto receives = [](channel<int> from, channel<int> until) -> task<> {
      for (;;) {
        const auto chosen = co_await select(from.receive(), until.receive());
        if (chosen.index() == 1) co_return;
      }
    };
    std::vector<join_handle<>> all;
    all.push_back(spawn(sends(c, done)));
    for (int i = 0; i < 2; ++i) all.push_back(spawn(receives(c, done)));
    co_await after(20ms);
    done.close();
    for (auto& each : all) co_await each.join();
  });
}

TEST(GoRuntime, TestNoHelperGoroutines) {
  test::everywhere([]() -> task<> {
    const std::size_t before = counters().tasks;
    auto t = after_func(1h, [] {});
    EXPECT_EQ(counters().tasks, before);
    co_return;
  });
}

// The start of a timer happens before its function, and the function before the continuation of a task that waits for
// it: the tests of Go's race detector, here for ThreadSanitizer.

TEST(GoRace, TestTimers) {
  test::on_real_processors([]() -> task<> {
    auto ticks = []() -> task<> {
      ticker beat{1ns};
      for (int i = 0; i < 1000; ++i) co_await beat;
    };
    std::vector<join_handle<>> all;
    for (int i = 0; i < 8; ++i) all.push_back(spawn(ticks()));
    for (auto& each : all) co_await each.join();
  });
}

TEST(GoRace, TestNoRaceAfterFunc) {
  test::on_real_processors([]() -> task<> {
    int x = 0;  // no atomic: what is tested is the order
    channel<int> done(1);
    x = 1;
    auto t = after_func(1us, [&x, done]() mutable {
      x = 2;
      static_cast<void>(done.try_send(0));
    });
    co_await done.receive();
    EXPECT_EQ(x, 2);
    x = 3;
    t.reset(1us);  // TestNoRaceAfterFuncReset
    co_await done.receive();
    EXPECT_EQ(x, 2);
  });
}

TEST(GoRace, TestNoRaceTimer) {
  test::on_real_processors([]() -> task<> {
    auto writes = [](int& value, timer& t) -> task<> {
      value = 2;
      t.reset(1us);
      co_return;
    };
    for (int i = 0; i < 50; ++i) {
      int x = 1;
      timer t{duration::forever()};
      auto other = spawn(writes(x, t));
      co_await t;  // TestNoRaceTimerReset
      EXPECT_EQ(x, 2);
      co_await other.join();
    }
  });
}

TEST(GoRace, TestNoRaceTicker) {
  test::on_real_processors([]() -> task<> {
    auto writes = [](int& value, ticker& t) -> task<> {
      value = 2;
      t.reset(1us);
      co_return;
    };
    for (int i = 0; i < 50; ++i) {
      int x = 1;
      ticker t{duration::forever()};
      auto other = spawn(writes(x, t));
      co_await t;  // TestNoRaceTickerReset
      EXPECT_EQ(x, 2);
      co_await other.join();
    }
  });
}

}  // namespace
}  // namespace foliot::runtime
