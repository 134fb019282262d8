// Tasks that wait for a time of the wall clock, on real time, while that clock is set and the machine is suspended:
// each wakes when the clock shows its time, no earlier, and soon after.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include <foliot/core/clock.hpp>
#include <foliot/core/seam/alarm.hpp>
#include <foliot/runtime/cancelled.hpp>
#include <foliot/runtime/wall_time.hpp>
#include <foliot/runtime/with_timeout.hpp>

#include "runtime_worlds.hpp"

namespace foliot::simulation {
namespace {

using namespace std::chrono_literals;
using runtime::join_handle;
using runtime::set_processors;
using runtime::sleep;
using runtime::spawn;
using runtime::task;
using runtime::yield;

constexpr std::uint64_t worlds = 200;

instant wall() { return seam::now(seam::clock_id::wall); }
auto to_sys(instant when) { return wall_clock::to_sys(when); }

task<> wait_for(instant until) {
  co_await runtime::sleep_until(to_sys(until));
  require(wall() >= until, "early");
}

TEST(RuntimeWall, WakesWhenTheClockShowsIt) {
  const auto main = [](bool punctual) -> task<> {
    std::vector<join_handle<>> all;
    const instant begin = wall();
    instant last = begin;
    for (int i = 0; i < 6; ++i) {
      const instant until = begin + up_to(5ms);
      last = std::max(last, until);
      all.push_back(spawn(wait_for(until)));
      if (choose(2) == 0) co_await yield();
    }
    for (auto& each : all) co_await each.join();
    if (punctual) require(wall() - last < overslept, "overslept: a ring was lost");
  };
  explore_runtimes(worlds, {quiet, interrupted}, [&] { return main(true); });
  explore_runtimes(worlds, {rough}, [&] { return main(false); });
}

TEST(RuntimeWall, AClockSetForwardWakesAtOnce) {
  const auto main = []() -> task<> {
    const instant begin = wall();
    auto one = spawn(wait_for(begin + 10h));
    auto two = spawn(wait_for(begin + 12h));
    co_await sleep(up_to(1ms));
    seam::thread outside("sets the clock", [] {
      pass_time(up_to(2ms));
      step_wall_clock(10h);
    });
    co_await one.join();
    require(wall() - (begin + 10h) < 5ms + overslept, "the task did not wake when the clock was set");
    co_await joined(outside);
    step_wall_clock(2h);
    const instant before = seam::monotonic_now();
    co_await two.join();
    require(seam::monotonic_now() - before < overslept, "the next task did not wake either");
  };
  for (const faults& with : {quiet, interrupted}) {
    explore(worlds, with, [&] { run_task(1 + choose(3), main()); });
  }
}

TEST(RuntimeWall, AClockSetBackIsWaitedForAgain) {
  const auto main = []() -> task<> {
    const instant start = seam::monotonic_now();
    const instant begin = wall();
    auto waits = spawn(wait_for(begin + 1h));
    co_await sleep(59min);
    step_wall_clock(-24h);
    co_await waits.join();
    const duration took = seam::monotonic_now() - start;
    require(took >= 25h && took < 25h + overslept, "the wait took another time than a day and an hour");
  };
  for (const faults& with : {quiet, interrupted}) {
    explore(worlds, with, [&] { run_task(1 + choose(3), main()); });
  }
}

TEST(RuntimeWall, ASuspendCounts) {
  const auto main = []() -> task<> {
    const instant start = seam::monotonic_now();
    const instant begin = wall();
    auto waits = spawn(wait_for(begin + 2h));
    co_await sleep(30min);
    suspend(1h);
    co_await waits.join();
    const duration awake = seam::monotonic_now() - start;
    require(awake >= 1h && awake < 1h + overslept, "the wait took another time than an hour awake");
  };
  for (const faults& with : {quiet, interrupted}) {
    explore(worlds, with, [&] { run_task(1 + choose(3), main()); });
  }
}

/// The clock is set back and forth around the deadlines, also between a ring and its handling: no task is forgotten,
/// and none wakes before the clock has shown its time.
TEST(RuntimeWall, AClockThatIsSetToAndFro) {
  const auto main = []() -> task<> {
    const auto wait_for_what_may_go = [](instant until) -> task<> {
      co_await runtime::sleep_until(to_sys(until));
      require(wall() + 1ms >= until, "early");  // the clock may have been set back since it showed the deadline
    };
    std::vector<join_handle<>> all;
    const instant begin = wall();
    for (int i = 0; i < 5; ++i) all.push_back(spawn(wait_for_what_may_go(begin + 1ms + up_to(20us))));
    seam::thread outside("sets the clock", [] {
      for (int i = 0; i < 20; ++i) {
        step_wall_clock(1ms);
        for (std::uint64_t n = choose(30); n > 0; --n) point();
        step_wall_clock(-1ms);
        pass_time(up_to(3us));
      }
    });
    co_await joined(outside);
    const instant stepped = wall();
    for (auto& each : all) co_await each.join();
    const instant last = std::max(stepped, begin + 1ms + 20us);
    require(wall() - last < overslept, "overslept: a ring was lost");
  };
  for (const faults& with : {quiet, interrupted}) {
    explore(worlds, with, [&] { run_task(1 + choose(3), main()); });
  }
}

/// Waits come, are stopped and time out, so that the first deadline moves back and forth, while processors come and go.
TEST(RuntimeWall, WaitsThatComeAndGo) {
  const auto main = [](bool punctual) -> task<> {
    const auto comes_and_goes = [](bool is_punctual) -> task<> {
      for (int i = 0; i < 4; ++i) {
        const instant until = wall() + up_to(2ms);
        if (choose(2) == 0) {
          auto part = wait_for(until);
          static_cast<void>(co_await runtime::with_timeout(std::move(part), up_to(2ms)));
        } else {
          co_await wait_for(until);
          if (is_punctual) require(wall() - until < overslept, "overslept: a ring was lost");
        }
      }
    };
    std::vector<join_handle<>> all;
    for (int i = 0; i < 4; ++i) all.push_back(spawn(comes_and_goes(punctual)));
    for (int i = 0; i < 3; ++i) {
      co_await sleep(up_to(2ms));
      set_processors(1 + choose(3));
    }
    for (auto& each : all) co_await each.join();
  };
  explore_runtimes(worlds, {quiet, interrupted}, [&] { return main(true); });
  explore_runtimes(worlds, {rough}, [&] { return main(false); });
}

/// A wait for the wall clock costs an idle runtime no wake-up, neither during the wait nor after it.
TEST(RuntimeWall, CostsNoWakeUps) {
  const auto main = []() -> task<> {
    const instant begin = wall();
    auto waits = spawn(wait_for(begin + 1000h));
    {
      auto part = wait_for(begin + 1h);
      static_cast<void>(co_await runtime::with_timeout(std::move(part), 1min));
    }
    const auto before = runtime::counters();
    co_await sleep(500h);
    const auto after = runtime::counters();
    require(after.rounds - before.rounds < 20, "an idle runtime was woken");
    waits.request_stop();
    bool stopped = false;
    try {
      co_await waits.join();
    } catch (const runtime::cancelled&) {
      stopped = true;
    }
    require(stopped, "a stop did not end the wait");
  };
  explore(worlds, quiet, [&] { run_task(1 + choose(3), main()); });
}

/// The runtime ends while tasks wait, and while the alarm rings.
TEST(RuntimeWall, TheEndMayComeMeanwhile) {
  const auto main = []() -> task<> {
    const instant begin = wall();
    for (int i = 0; i < 4; ++i) static_cast<void>(spawn(wait_for(begin + up_to(1ms))));
    co_await sleep(up_to(1ms));
  };
  explore_runtimes(worlds, {quiet, rough}, [&] { return main(); });
}

}  // namespace
}  // namespace foliot::simulation
