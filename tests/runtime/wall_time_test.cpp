// Waits for a time of the wall clock: on virtual time with the clock set forward and back, and on real time.
#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/core/seam/random.hpp>
#include <foliot/runtime/after.hpp>
#include <foliot/runtime/channel.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/select.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/this_task.hpp>
#include <foliot/runtime/virtual_time.hpp>
#include <foliot/runtime/wall_time.hpp>
#include <foliot/runtime/with_timeout.hpp>

#include "support/allocations.hpp"
#include "worlds.hpp"

namespace foliot::runtime {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using std::chrono::sys_days;
using std::chrono::sys_time;

constexpr auto new_year = sys_days(std::chrono::year(2030) / 1 / 1);

/// Runs the task that `make` returns, on a virtual clock whose wall clock shows the beginning of 2030.
template <class Make>
void in_2030(Make make, run_options options = {}) {
  for (const std::string_view timers : test::kinds_of_timers) {
    options.timers = timers;
    for (const std::size_t processors : {1U, 3U}) {
      for (const std::uint64_t seed : {1U, 2U, 3U}) {
        virtual_clock clock(instant::from_nanoseconds(77));
        clock.set_wall(new_year);
        options.clock = &clock;
        options.processors = processors;
        options.seed = seed;
        run(make(clock), options);
      }
    }
  }
}

TEST(WallTime, TheTaskWakesWhenTheWallClockShowsIt) {
  in_2030([](virtual_clock&) -> task<> {
    const instant begin = now();
    EXPECT_EQ(wall_now(), new_year);
    co_await sleep_until(new_year + 36h + 1ns);
    EXPECT_EQ(now(), begin + 36h + 1ns);
    EXPECT_EQ(wall_now(), new_year + 36h + 1ns);
    const auto when = co_await at(new_year + std::chrono::days(3));
    EXPECT_EQ(when, new_year + 72h);
    EXPECT_EQ(now(), begin + 72h);
  });
}

TEST(WallTime, WhatHasComeReturnsAtOnce) {
  in_2030([](virtual_clock&) -> task<> {
    const instant begin = now();
    co_await sleep_until(new_year);
    co_await sleep_until(new_year - 1ns);
    co_await sleep_until(sys_time<nanoseconds>::min());
    const auto when = co_await at(new_year - 24h);
    EXPECT_EQ(when, new_year - 24h);
    EXPECT_EQ(now(), begin);
  });
}

task<> set_wall_after(virtual_clock& clock, duration delay, sys_time<nanoseconds> shown) {
  co_await sleep(delay);
  clock.set_wall(shown);
}

TEST(WallTime, AClockThatIsSetForwardWakesAtOnce) {
  in_2030([](virtual_clock& clock) -> task<> {
    const instant begin = now();
    auto setter = spawn(set_wall_after(clock, 1h, new_year + 10h));
    co_await sleep_until(new_year + 10h);
    EXPECT_EQ(now(), begin + 1h);
    co_await setter.join();
    // The step ends before the deadline: the task waits for the rest.
    auto again = spawn(set_wall_after(clock, 1h, new_year + 20h - 1ns));
    co_await sleep_until(new_year + 20h);
    EXPECT_EQ(now(), begin + 2h + 1ns);
    co_await again.join();
  });
}

TEST(WallTime, AClockThatIsSetBackIsWaitedForAgain) {
  in_2030([](virtual_clock& clock) -> task<> {
    const instant begin = now();
    auto setter = spawn(set_wall_after(clock, 9h, new_year - 24h));
    co_await sleep_until(new_year + 10h);
    EXPECT_EQ(now(), begin + 9h + 34h);
    EXPECT_EQ(wall_now(), new_year + 10h);
    co_await setter.join();
  });
}

/// A step of the wall clock does not affect the runtime's own clock: its timers are neither early nor late.
TEST(WallTime, OtherTimersDoNotHeedTheWallClock) {
  in_2030([](virtual_clock& clock) -> task<> {
    const instant begin = now();
    auto setter = spawn(set_wall_after(clock, 1h, new_year + 1000h));
    co_await sleep(2h);
    EXPECT_EQ(now(), begin + 2h);
    co_await setter.join();
  });
}

TEST(WallTime, AtIsACaseOfASelect) {
  in_2030([](virtual_clock& clock) -> task<> {
    const instant begin = now();
    channel<int> nothing;
    auto first = co_await select(nothing.receive(), at(new_year + 1h), at(new_year + 2h));
    EXPECT_EQ(first.index(), 1U);
    EXPECT_EQ(first.get<1>(), new_year + 1h);
    EXPECT_EQ(now(), begin + 1h);
    auto second = co_await select(after(30min), at(new_year + 2h));
    EXPECT_EQ(second.index(), 0U) << "the wait that was not chosen leaves nothing behind";
    clock.set_wall(new_year + 5h);
    auto third = co_await select(nothing.receive(), at(new_year + 3h));
    EXPECT_EQ(third.index(), 1U);
    auto fourth = co_await select(at(new_year + 6h), otherwise());
    EXPECT_EQ(fourth.index(), 1U);
    EXPECT_EQ(now(), begin + 90min);
  });
}

TEST(WallTime, ATimeoutAndAStopEndTheWait) {
  in_2030([](virtual_clock&) -> task<> {
    const instant begin = now();
    auto waits = []() -> task<> { co_await sleep_until(new_year + 1000h); };
    auto part = waits();
    auto in_time = co_await with_timeout(std::move(part), 1h);
    EXPECT_FALSE(in_time.has_value());
    EXPECT_EQ(now(), begin + 1h);
    auto other = spawn(waits());
    co_await sleep(1h);
    other.request_stop();
    bool stopped = false;
    try {
      co_await other.join();
    } catch (const cancelled&) {
      stopped = true;
    }
    EXPECT_TRUE(stopped);
    EXPECT_EQ(now(), begin + 2h);
    static_cast<void>(spawn(waits()));  // and the end of the run
    co_await yield();
  });
}

/// Tasks wake in the order of their deadlines, and of their waits if the deadlines are equal.
TEST(WallTime, WakesInOrder) {
  in_2030(
      [](virtual_clock& clock) -> task<> {
        std::vector<int> order;
        auto notes = [](std::vector<int>& into, int what, duration after_new_year) -> task<> {
          co_await sleep_until(new_year + after_new_year.to_chrono());
          into.push_back(what);
        };
        std::vector<join_handle<>> all;
        for (const int i : {3, 1, 4, 0, 2}) {
          all.push_back(spawn(notes(order, i, std::chrono::hours(i + 1))));
          co_await wait_idle();
        }
        EXPECT_EQ(order, std::vector<int>{});
        co_await advance(2h);
        EXPECT_EQ(order, (std::vector{0, 1}));
        clock.set_wall(new_year);
        co_await advance(2h + 59min);
        EXPECT_EQ(order, (std::vector{0, 1})) << "a task that has woken does not wait again, and the others do";
        co_await advance(1min);
        EXPECT_EQ(order, (std::vector{0, 1, 2}));
        co_await advance(2h);
        for (auto& each : all) co_await each.join();
        EXPECT_EQ(order, (std::vector{0, 1, 2, 3, 4}));
      },
      [] {
        run_options options;
        options.time_jumps = false;
        return options;
      }());
}

TEST(WallTime, NeverIsADeadlockOnVirtualTime) {
  for (const sys_time<nanoseconds> when : {sys_time<nanoseconds>::max(), sys_time<nanoseconds>(new_year + 1h)}) {
    virtual_clock clock;
    run_options options;
    options.clock = &clock;
    options.time_jumps = when == sys_time<nanoseconds>::max();  // no task advances the other clock
    try {
      run([](sys_time<nanoseconds> until) -> task<> { co_await sleep_until(until); }(when), options);
      ADD_FAILURE() << "the run did not throw deadlock";
    } catch (const deadlock& found) {
      EXPECT_NE(std::string(found.what()).find("main waits in a sleep at wall_time_test.cpp"), std::string::npos)
          << found.what();
    }
  }
}

/// A stopped wait does not advance time: the remaining tasks wait for ever.
TEST(WallTime, AWaitThatIsOverIsNoReasonForTimeToGoOn) {
  virtual_clock clock;
  run_options options;
  options.clock = &clock;
  EXPECT_THROW(run(
                   []() -> task<> {
                     auto waits = []() -> task<> { co_await sleep_until(new_year); };
                     auto part = waits();
                     const auto in_time = co_await with_timeout(std::move(part), 1h);
                     EXPECT_FALSE(in_time.has_value());
                     co_await sleep_until(instant::never());
                   }(),
                   options),
               deadlock);
  EXPECT_EQ(clock.now(), instant{} + 1h);
}

TEST(WallTime, NeedsARuntime) {
  EXPECT_THROW(static_cast<void>(wall_now()), std::logic_error);
  EXPECT_THROW(static_cast<void>(at(new_year)), std::logic_error);
  EXPECT_THROW(static_cast<void>(sleep_until(new_year)), std::logic_error);
}

/// Random waits and steps of the clock, against a model of the wall clock.
TEST(WallTime, AgreesWithAModel) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    virtual_clock clock(instant::from_nanoseconds(-5'000));
    clock.set_wall(new_year);
    run_options options;
    options.clock = &clock;
    options.processors = 1 + seed % 3;
    options.seed = seed;
    run(
        [](virtual_clock& moved, std::uint64_t which) -> task<> {
          random_stream random(which);
          const auto draw = [&random](std::int64_t bound) {
            return nanoseconds(static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(bound))));
          };
          struct step {
            instant at;
            sys_time<nanoseconds> shows;
          };
          std::vector<step> steps{{now(), wall_now()}};
          struct waited {
            sys_time<nanoseconds> until;
            instant began;
            instant woke;
          };
          std::vector<waited> all(20);
          auto waits = [](waited& mine) -> task<> {
            mine.began = now();
            co_await sleep_until(mine.until);
            mine.woke = now();
            EXPECT_GE(wall_now(), mine.until);
          };
          std::vector<join_handle<>> tasks;
          for (waited& each : all) {
            each.until = new_year + draw(1'000) - draw(100);
            tasks.push_back(spawn(waits(each)));
          }
          co_await wait_idle();
          for (int i = 0; i < 5; ++i) {
            co_await advance(1ns + draw(100));
            moved.set_wall(wall_now() + draw(200) - draw(200));
            steps.push_back({now(), wall_now()});
            co_await wait_idle();
          }
          for (auto& each : tasks) co_await each.join();
          for (const waited& each : all) {
            // The first instant, from its beginning on, at which the wall clock shows it.
            instant expected = instant::never();
            for (std::size_t i = 0; i < steps.size() && expected.is_never(); ++i) {
              const instant from = std::max(steps[i].at, each.began);
              const instant end = i + 1 < steps.size() ? steps[i + 1].at : instant::never();
              const instant shown = steps[i].at + duration(each.until - steps[i].shows);
              // At the instant of the next step the clock of that step counts: all tasks run before time goes on.
              const instant comes = std::max(shown, from);
              if (from < end && comes <= end) expected = comes;
            }
            EXPECT_EQ(each.woke, expected);
          }
        }(clock, seed),
        options);
  }
}

TEST(WallTime, OnRealTimeNotEarlyByTheWallClock) {
  test::on_real_processors([]() -> task<> {
    auto waits = [](sys_time<nanoseconds> until) -> task<> {
      co_await sleep_until(until);
      EXPECT_GE(wall_now(), until);
    };
    std::vector<join_handle<>> all;
    const auto begin = wall_now();
    for (int i = 0; i < 50; ++i) all.push_back(spawn(waits(begin + std::chrono::microseconds((i * 7919) % 5'000))));
    auto chosen = co_await select(at(begin + 1000h), at(begin + 2ms));
    EXPECT_EQ(chosen.index(), 1U);
    EXPECT_GE(wall_now(), chosen.get<1>());
    for (auto& each : all) co_await each.join();
  });
}

TEST(WallTime, OnRealTimeStopsTimeoutsAndTheEndLeaveNothingBehind) {
  test::on_real_processors([]() -> task<> {
    const auto far = wall_now() + 1000h;
    auto waits = [](sys_time<nanoseconds> until) -> task<> { co_await sleep_until(until); };
    auto part = waits(far);
    auto in_time = co_await with_timeout(std::move(part), 1ms);
    EXPECT_FALSE(in_time.has_value());
    auto other = spawn(waits(far));
    co_await yield();
    other.request_stop();
    bool stopped = false;
    try {
      co_await other.join();
    } catch (const cancelled&) {
      stopped = true;
    }
    EXPECT_TRUE(stopped);
    for (int i = 0; i < 10; ++i) static_cast<void>(spawn(waits(far)));
    co_await sleep(1ms);
  });
}

/// Without memory a wait does not begin; with memory the next one does.
TEST(WallTime, WithoutMemoryNothingIsHalfBegun) {
  for (const bool on_virtual_time : {true, false}) {
    virtual_clock clock;
    run_options options;
    if (on_virtual_time) options.clock = &clock;
    options.processors = 1;
    run(
        []() -> task<> {
          bool any_failed = true;
          for (std::size_t n = 0; any_failed; ++n) {
            const auto when = wall_now() + 1ms;
            bool refused = false;
            {
              const test::failing_allocations fail(n);
              try {
                co_await sleep_until(when);
              } catch (const std::bad_alloc&) {
                refused = true;
              }
              any_failed = fail.failed();
            }
            EXPECT_EQ(refused, any_failed);
            EXPECT_TRUE(refused || wall_now() >= when);
            co_await sleep_until(wall_now() + 1ms);
          }
        }(),
        options);
  }
}

}  // namespace
}  // namespace foliot::runtime
