// Threads outside of a runtime under seeded schedules: a spawn wakes the runtime, and gets in completely or is refused;
// no call waits on; and the end waits for no thread that waits for the end.
#include <gtest/gtest.h>

#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include <foliot/core/seam/sync.hpp>
#include <foliot/core/sync/note.hpp>
#include <foliot/core/virtual_clock.hpp>
#include <foliot/runtime/background_runtime.hpp>
#include <foliot/runtime/call_on.hpp>
#include <foliot/runtime/runtime_handle.hpp>
#include <foliot/runtime/wait_group.hpp>

#include "runtime_worlds.hpp"
#include "support/counted.hpp"

namespace foliot::simulation {
namespace {

using namespace std::chrono_literals;
using runtime::background_runtime;
using runtime::blocking;
using runtime::now;
using runtime::run_options;
using runtime::runtime_ended;
using runtime::runtime_handle;
using runtime::sleep;
using runtime::task;
using runtime::this_runtime;
using runtime::wait_group;
using runtime::yield;

constexpr std::uint64_t worlds = 200;

void dawdle() {
  for (std::uint64_t i = choose(30); i > 0; --i) point();
}

/// What became of the functions that threads passed to a runtime.
struct tally {
  int made = 0;
  int destroyed = 0;
  int accepted = 0;
  int ended = 0;
};

using counted = test::counted<tally>;

/// Returns whether the runtime took the task.
bool spawn_counted(const runtime_handle& handle, tally& all) {
  try {
    handle.spawn([mine = counted(all)]() -> task<> {
      co_await yield();
      if (choose(2) == 0) co_await sleep(up_to(10us));
      ++mine.all().ended;
    });
  } catch (const runtime_ended&) {
    return false;
  }
  ++all.accepted;
  return true;
}

run_options options() {
  run_options made;
  made.processors = 1 + choose(3);
  made.seed = choose(1'000'000);
  made.blocking_threads = 1 + choose(2);
  made.on_failure = [](std::string_view, const std::exception_ptr&) {};
  return made;
}

TEST(RuntimeOutside, ASpawnWakesTheRuntime) {
  for (const faults& with : {quiet, interrupted}) {
    explore(worlds, with, [] {
      const auto main = []() -> task<> {
        wait_group group;
        group.add(3);
        instant spawned = instant::never();
        seam::thread outside("outside", [handle = this_runtime(), &group, &spawned] {
          for (int i = 0; i < 3; ++i) {
            pass_time(up_to(100us));
            spawned = seam::monotonic_now();
            handle.spawn([&group, at = spawned]() -> task<> {
              require(now() - at < overslept, "a spawn from outside did not wake the runtime");
              group.done();
              co_return;
            });
          }
        });
        co_await group.wait();
        co_await joined(outside);
      };
      run_task(1 + choose(3), main());
    });
  }
}

TEST(RuntimeOutside, ASpawnThatRacesWithTheEndIsAcceptedOrRefused) {
  for (const faults& with : {quiet, interrupted}) {
    explore(worlds, with, [] {
      tally all;
      std::optional<seam::thread> threads[2];
      const auto main = [&]() -> task<> {
        for (auto& each : threads) {
          each.emplace("outside", [handle = this_runtime(), &all] {
            dawdle();
            while (spawn_counted(handle, all)) dawdle();
            require(handle.ended(), "a spawn was refused before the end");
          });
        }
        const std::uint64_t turns = choose(20);
        for (std::uint64_t i = 0; i < turns; ++i) co_await yield();
      };
      run_task(1 + choose(3), main());
      require(all.destroyed >= all.accepted, "a task outlived its runtime");
      for (auto& each : threads) each->join();
      // Not before: a task may have ended before the thread has counted that it was accepted.
      require(all.ended <= all.accepted, "a task ran that was refused");
      require(all.made == all.accepted + 2 && all.destroyed == all.made, "a function was not destroyed");
    });
  }
}

TEST(RuntimeOutside, ACallThatRacesWithTheEndReturnsOrIsEnded) {
  for (const faults& with : {quiet, interrupted}) {
    explore(worlds, with, [] {
      background_runtime background(options());
      std::optional<seam::thread> threads[2];
      for (auto& each : threads) {
        each.emplace("outside", [handle = background.handle()] {
          try {
            for (;;) {
              int local = 0;
              const int got = handle.call([&local]() -> task<int> {
                const auto at_the_end = [](int* count) { *count = 2; };
                const std::shared_ptr<int> guard(&local, at_the_end);
                if (choose(2) == 0) co_await yield();
                if (choose(8) == 0) co_await sleep(duration::forever());
                co_return ++local;
              });
              require(got == 1 && local == 2, "a call returned before its task had ended");
            }
          } catch (const runtime_ended&) {
            require(handle.ended(), "a call was ended before the runtime");
          }
        });
      }
      if (choose(2) == 0) pass_time(up_to(50us));
      dawdle();
      background.stop();
      for (auto& each : threads) each->join();
    });
  }
}

/// The end waits for a function of blocking(), which waits for a call: the call must not wait for the end.
TEST(RuntimeOutside, TheEndEndsACallThatAFunctionOfBlockingWaitsFor) {
  explore(worlds, quiet, [] {
    background_runtime background(options());
    bool ended = false;
    background.handle().spawn([&ended]() -> task<> {
      const auto calls = [&ended, handle = this_runtime()] {
        try {
          for (;;) {
            handle.call([]() -> task<> {
              co_await yield();
              if (choose(3) == 0) co_await sleep(duration::forever());
            });
          }
        } catch (const runtime_ended&) {
          ended = true;
        }
      };
      co_await blocking(calls);
    });
    dawdle();
    if (choose(2) == 0) pass_time(up_to(50us));
    background.stop();
    static_cast<void>(ended);  // the function was not called, if the end came first
  });
}

TEST(RuntimeOutside, SeveralThreadsStopABackgroundRuntime) {
  explore(worlds, interrupted, [] {
    background_runtime background(options());
    seam::thread outside("outside", [&background] {
      dawdle();
      background.stop();
      require(background.handle().ended(), "stop() returned before the end");
    });
    dawdle();
    if (choose(2) == 0) background.request_stop();
    background.stop();
    outside.join();
  });
}

/// The handle of a failed task is dropped by a thread outside, before or after the failure.
TEST(RuntimeOutside, AFailureIsReportedOrTheRuntimeHasEnded) {
  explore(worlds, quiet, [] {
    int reported = 0;
    bool runs = true;
    run_options with = options();
    with.on_failure = [&reported, &runs](std::string_view, const std::exception_ptr&) {
      require(runs, "a failure was reported after the end");
      ++reported;
    };
    background_runtime background(with);
    std::optional<runtime::join_handle<>> failing;
    failing.emplace(background.handle().spawn([]() -> task<> {
      if (choose(2) == 0) co_await yield();
      throw std::runtime_error("no");
    }));
    seam::thread outside("outside", [&failing] {
      dawdle();
      failing.reset();
    });
    const bool ends_early = choose(2) == 0;
    if (!ends_early) outside.join();
    if (!ends_early) background.handle().call([]() -> task<> { co_await sleep(100us); });
    background.stop();
    runs = false;
    if (ends_early) {
      outside.join();
    } else {
      require(reported == 1, "a failure was lost");
    }
  });
}

/// On virtual time the spawn comes before the drop: a driver that sees the drop must see the task.
TEST(RuntimeOutside, ASpawnJustBeforeTheLastDropIsNoDeadlock) {
  for (const faults& with : {quiet, interrupted}) {
    explore(worlds * 2, with, [] {
      virtual_clock clock;
      run_options on_virtual_time = options();
      on_virtual_time.clock = &clock;
      std::optional<seam::thread> outside;
      const auto main = [&outside]() -> task<> {
        wait_group group;
        group.add();
        outside.emplace("outside", [handle = this_runtime(), &group]() mutable {
          dawdle();
          handle.spawn([&group]() -> task<> {
            group.done();
            co_return;
          });
          handle = {};
        });
        co_await group.wait();
      };
      bool dead = false;
      try {
        runtime::run(main, on_virtual_time);
      } catch (const runtime::deadlock&) {
        dead = true;
      }
      outside->join();
      require(!dead, "a deadlock was reported although a task had been spawned");
    });
  }
}

/// A job of call_on() is called or destroyed by another thread, or kept beyond the end.
TEST(RuntimeOutside, AJobThatRacesWithTheEndIsCalledOrDoesNothing) {
  for (const faults& with : {quiet, interrupted}) {
    explore(worlds, with, [] {
      std::optional<background_runtime> background(std::in_place, options());
      std::optional<seam::thread> outside;
      note posted;
      bool runs = true;
      int called = 0;
      int returned = 0;
      int dropped = 0;
      background->handle().spawn([&]() -> task<> {
        const auto executor = [&outside, &posted](runtime::posted_call job) {
          auto shared = std::make_shared<runtime::posted_call>(std::move(job));
          outside.emplace("executor", [kept = std::move(shared)]() mutable {
            dawdle();
            if (choose(3) != 0) (*kept)();
            kept.reset();
          });
          posted.wake();
        };
        const auto counts = [&called, &runs] {
          require(runs, "a function was called after the end");
          dawdle();
          return ++called;
        };
        try {
          returned = co_await runtime::call_on(executor, counts);
        } catch (const runtime::call_dropped&) {
          ++dropped;
        }
      });
      posted.sleep_until(instant::never());
      dawdle();
      if (choose(2) == 0) {
        outside->join();
        background->handle().call([]() -> task<> { co_await sleep(100us); });
        require(returned + dropped == 1, "the wait for a job did not end");
      }
      background.reset();
      runs = false;
      if (outside->joinable()) outside->join();
      require(returned <= called && called + dropped <= 1, "a job had two ends");
    });
  }
}

}  // namespace
}  // namespace foliot::simulation
