#include <foliot/runtime/timer.hpp>

#include <atomic>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/runtime/after.hpp>
#include <foliot/runtime/callback_timer.hpp>
#include <foliot/runtime/cancelled.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/select.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/this_task.hpp>
#include <foliot/runtime/ticker.hpp>

#include "worlds.hpp"

namespace foliot::runtime {
namespace {

using namespace std::chrono_literals;

task<> receive(timer& from, std::vector<instant>& into) {
  const instant when = co_await from;
  into.push_back(when);
}

TEST(Timer, GivesTheInstantItWasSetForHoweverLate) {
  test::in_virtual_worlds([]() -> task<> {
    const instant begin = now();
    timer t{10ms};
    const instant first = co_await t;
    EXPECT_EQ(first, begin + 10ms);
    EXPECT_EQ(now(), begin + 10ms);
    EXPECT_EQ(t.reset(10ms), reset_result::idle);
    co_await sleep(1h);
    const instant second = co_await t;
    EXPECT_EQ(second, begin + 20ms);
    EXPECT_EQ(t.try_receive(), std::nullopt);
  });
}

TEST(Timer, IsInNoProcessorsTimersUnlessATaskWaits) {
  test::in_virtual_worlds([]() -> task<> {
    timer t{1h};
    ticker beat{1h};
    EXPECT_EQ(counters().timers, 0U);
    std::vector<instant> got;
    auto waits = spawn(receive(t, got));
    co_await sleep(1ms);
    EXPECT_EQ(counters().timers, 1U);
    waits.request_stop();
    bool ended = false;
    try {
      co_await waits.join();
    } catch (const cancelled&) {
      ended = true;
    }
    EXPECT_TRUE(ended);
    EXPECT_EQ(counters().timers, 0U);
  });
}

TEST(Timer, ExactlyOneOfThoseWhoWaitGetsIt) {
  test::everywhere([]() -> task<> {
    timer t{1ms};
    std::atomic<int> got{0};
    auto waits = [](timer& from, std::atomic<int>& count) -> task<> {
      co_await from;
      ++count;
    };
    std::vector<join_handle<>> all;
    for (int i = 0; i < 4; ++i) all.push_back(spawn(waits(t, got)));
    for (int i = 1; i <= 4; ++i) {
      while (got < i) co_await sleep(1ms);
      co_await sleep(1ms);
      EXPECT_EQ(got, i);
      t.reset(1ms);
    }
    for (auto& each : all) co_await each.join();
  });
}

TEST(Timer, WhoIsStoppedWhileItComesDoesNotTakeItAlong) {
  test::on_real_processors([]() -> task<> {
    for (int i = 0; i < 200; ++i) {
      timer t{20us};
      auto waits = [](timer& from) -> task<bool> {
        try {
          co_await from;
        } catch (const cancelled&) {
          co_return false;
        } catch (const timer_stopped&) {
          co_return false;  // the other one got it, and the timer was stopped then
        }
        co_return true;
      };
      auto first = spawn(waits(t));
      auto second = spawn(waits(t));
      co_await sleep(std::chrono::microseconds(10 + i % 20));
      first.request_stop();
      const bool first_got = co_await first.join();
      if (first_got) {
        EXPECT_EQ(t.stop(), stop_result::idle);
      }
      const bool second_got = co_await second.join();
      EXPECT_NE(first_got, second_got);
    }
  });
}

TEST(Timer, AResetMovesThoseWhoWait) {
  test::in_virtual_worlds([]() -> task<> {
    const instant begin = now();
    timer t{1h};
    std::vector<instant> got;
    auto waits = spawn(receive(t, got));
    co_await sleep(1s);
    EXPECT_EQ(t.reset(2h), reset_result::superseded);
    co_await sleep(1h);
    EXPECT_TRUE(got.empty());
    EXPECT_EQ(t.reset(0ns), reset_result::superseded);
    co_await waits.join();
    EXPECT_EQ(got, std::vector{begin + 1h + 1s});
  });
}

/// The alarm of a waiting task is due together with a callback that resets the timer and one that destroys it.
TEST(Timer, MayBeResetAndDestroyedWhileItsAlarmIsOnItsWay) {
  test::in_virtual_worlds([]() -> task<> {
    const instant due = now() + 1ms;
    std::optional<timer> t;
    t.emplace(due);
    std::vector<instant> got;
    callback_timer resets([&t] { t->reset(0s); });
    resets.reset_at(due);
    auto waiting = spawn(receive(*t, got));
    co_await yield();
    callback_timer destroys([&t] { t.reset(); });
    destroys.reset_at(due);
    co_await sleep(2ms);
    EXPECT_FALSE(t.has_value());
    try {
      co_await waiting.join();
      EXPECT_EQ(got, std::vector{due});
    } catch (const timer_stopped&) {
      EXPECT_TRUE(got.empty());
    }
  });
}

TEST(Timer, EachStartIsReceivedOrTakenBackWhateverRaces) {
  test::on_real_processors([]() -> task<> {
    timer t{1h};
    std::atomic<int> starts{1};
    std::atomic<int> ends{0};
    std::atomic<bool> over{false};
    auto receives = [](timer& from, std::atomic<int>& ended, std::atomic<bool>& done) -> task<> {
      while (!done) {
        try {
          co_await from;
          ++ended;
        } catch (const cancelled&) {
          co_return;
        } catch (const timer_stopped&) {
          // A reset comes.
        }
      }
    };
    auto resets = [](timer& which, std::atomic<int>& started, std::atomic<int>& ended, int seed) -> task<> {
      for (int i = 0; i < 2000; ++i) {
        if ((i + seed) % 3 == 0) {
          if (which.stop() == stop_result::stopped) ++ended;
        } else {
          ++started;
          if (which.reset(std::chrono::microseconds(i % 4)) == reset_result::superseded) ++ended;
        }
        if (i % 8 == 0) co_await yield();
      }
    };
    std::vector<join_handle<>> readers;
    for (int i = 0; i < 2; ++i) readers.push_back(spawn(receives(t, ends, over)));
    std::vector<join_handle<>> writers;
    for (int i = 0; i < 3; ++i) writers.push_back(spawn(resets(t, starts, ends, i)));
    for (auto& each : writers) co_await each.join();
    over = true;
    for (auto& each : readers) each.request_stop();
    for (auto& each : readers) co_await each.join();
    if (t.stop() == stop_result::stopped) ++ends;
    EXPECT_EQ(starts, ends);
  });
}

TEST(Timer, NeedsARuntimeAndATime) {
  EXPECT_THROW(static_cast<void>(timer{1s}), std::logic_error);
  EXPECT_THROW(static_cast<void>(after(1s)), std::logic_error);
  timer empty;
  EXPECT_EQ(empty.stop(), stop_result::idle);
  EXPECT_THROW(empty.reset(1s), std::logic_error);
  EXPECT_THROW(static_cast<void>(empty.c()), std::logic_error);
}

TEST(Timer, OutlivesItsRuntime) {
  timer t;
  virtual_clock clock;
  run_options options;
  options.clock = &clock;
  auto waits = [](timer& from) -> task<> { co_await from; };
  run(
      [](timer& out, auto& wait) -> task<> {
        out = timer{1h};
        auto waiting = spawn(wait(out));
        co_await sleep(1s);
      }(t, waits),
      options);
  EXPECT_EQ(t.stop(), stop_result::idle);  // as of a callback_timer: nothing would have come
}

TEST(After, GivesTheInstantAndLeavesNothingBehind) {
  test::in_virtual_worlds([]() -> task<> {
    const instant begin = now();
    auto chosen = co_await select(after(1h), after(1s));
    EXPECT_EQ(chosen.index(), 1U);
    EXPECT_EQ(chosen.get<1>(), begin + 1s);
    EXPECT_EQ(counters().timers, 0U);
    const instant again = co_await after(0ns);
    EXPECT_EQ(again, now());
  });
}

TEST(Ticker, KeepsItsGridAndCountsWhatItSkips) {
  test::in_virtual_worlds([]() -> task<> {
    const instant begin = now();
    ticker beat{10ms};
    const instant first = co_await beat;
    EXPECT_EQ(first, begin + 10ms);
    co_await sleep(35ms);
    const instant second = co_await beat;
    EXPECT_EQ(second, begin + 20ms);  // the first that was missed
    EXPECT_EQ(beat.skipped(), 2U);
    EXPECT_EQ(beat.try_receive(), std::nullopt);
    const instant third = co_await beat;
    EXPECT_EQ(third, begin + 50ms);
    EXPECT_EQ(now(), third);
    EXPECT_EQ(beat.reset(7ms), reset_result::superseded);
    const instant fourth = co_await beat;
    EXPECT_EQ(fourth, begin + 57ms);
    EXPECT_EQ(beat.stop(), stop_result::stopped);
    EXPECT_EQ(beat.stop(), stop_result::idle);
    co_await sleep(1s);
    EXPECT_EQ(beat.try_receive(), std::nullopt);
  });
}

TEST(Ticker, MayTickAtOnce) {
  test::in_virtual_worlds([]() -> task<> {
    const instant begin = now();
    ticker beat{10ms, first_tick::at_once};
    for (int i = 0; i < 4; ++i) {
      const instant when = co_await beat;
      EXPECT_EQ(when, begin + i * duration(10ms));
      EXPECT_EQ(now(), when);
    }
    EXPECT_EQ(beat.skipped(), 0U);
  });
}

TEST(Ticker, MayBeginAtAnInstant) {
  test::in_virtual_worlds([]() -> task<> {
    const instant begin = now();
    ticker beat{begin + 3ms, 10ms};
    for (int i = 0; i < 3; ++i) {
      const instant when = co_await beat;
      EXPECT_EQ(when, begin + 3ms + i * duration(10ms));
      EXPECT_EQ(now(), when);
    }
    ticker now_at_once{now(), 10ms};
    const instant at_once = co_await now_at_once;
    EXPECT_EQ(at_once, begin + 23ms);
    EXPECT_EQ(now(), at_once);
    ticker never{instant::never(), 1ms};
    co_await sleep(1s);
    EXPECT_EQ(never.try_receive(), std::nullopt);
    EXPECT_EQ(never.stop(), stop_result::stopped);
  });
}

/// Ticks of a grid that passed before the ticker was made do not count as missed.
TEST(Ticker, ThatBeginsInThePastIsOnItsGridAndHasSkippedNothing) {
  test::in_virtual_worlds([]() -> task<> {
    co_await sleep(1h + 1ns);
    const instant begin = now();
    ticker beat{begin - 25ms, 10ms};
    const instant first = co_await beat;
    EXPECT_EQ(first, begin + 5ms);
    EXPECT_EQ(beat.skipped(), 0U);
    ticker whole{begin + 5ms - 1h, 10ms};  // a point of it is just now
    EXPECT_EQ(whole.try_receive(), begin + 5ms);
    EXPECT_EQ(whole.skipped(), 0U);
    EXPECT_EQ(beat.reset_at(begin - 24ms, 10ms), reset_result::superseded);
    const instant second = co_await beat;
    EXPECT_EQ(second, begin + 6ms);
    EXPECT_EQ(beat.stop(), stop_result::stopped);
    EXPECT_EQ(beat.reset_at(begin + 1s, 10ms), reset_result::idle);
    const instant third = co_await beat;
    EXPECT_EQ(third, begin + 1s);
    EXPECT_EQ(now(), third);
    EXPECT_EQ(beat.skipped(), 0U);
    EXPECT_THROW(static_cast<void>(ticker(begin, duration::zero())), std::invalid_argument);
    EXPECT_THROW(beat.reset_at(begin, -1ns), std::invalid_argument);
    const instant fourth = co_await beat;  // it is as it was
    EXPECT_EQ(fourth, begin + 1010ms);
  });
}

TEST(Ticker, EachBeatIsOneTasks) {
  test::in_virtual_worlds([]() -> task<> {
    ticker beat{1s};
    std::vector<instant> got;
    auto receives = [](const ticker& from, std::vector<instant>& into) -> task<> {
      for (int i = 0; i < 5; ++i) {
        const instant when = co_await from;
        into.push_back(when);
      }
    };
    const instant begin = now();
    std::vector<join_handle<>> all;
    for (int i = 0; i < 3; ++i) all.push_back(spawn(receives(beat, got)));
    for (auto& each : all) co_await each.join();
    std::vector<instant> expected;
    for (int i = 1; i <= 15; ++i) expected.push_back(begin + i * duration(1s));
    EXPECT_EQ(got, expected);
  });
}

TEST(Ticker, APeriodThatNoTimeHoldsNeverComesAndDisturbsNothing) {
  test::in_virtual_worlds([]() -> task<> {
    ticker beat{duration::forever(), first_tick::at_once};
    co_await beat;
    const auto chosen = co_await select(beat.c(), after(1s));
    EXPECT_EQ(chosen.index(), 1U);
  });
}

}  // namespace
}  // namespace foliot::runtime
