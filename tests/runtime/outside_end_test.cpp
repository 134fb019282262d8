// The end of a runtime, and what threads outside of it are told: no task is lost without a word, and no call waits on.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/core/sync/note.hpp>
#include <foliot/runtime/background_runtime.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/runtime_handle.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/this_task.hpp>
#include <foliot/runtime/wait_group.hpp>

#include "small_tasks.hpp"
#include "support/counted.hpp"
#include "worlds.hpp"

namespace foliot::runtime {
namespace {

using namespace std::chrono_literals;
using test::seven;

/// Counts what becomes of the functions that threads pass to a runtime.
struct tally {
  std::atomic<int> made{0}, destroyed{0}, accepted{0}, refused{0}, began{0};
};

using counted = test::counted<tally>;

/// Threads spawn faster than a worker runs: they must not let the tasks grow without limit.
void wait_for_room(const runtime_handle& handle, const tally& all) {
  while (all.made - all.destroyed > 100 && !handle.ended()) std::this_thread::yield();
}

bool spawn_counted(const runtime_handle& handle, tally& all) {
  try {
    handle.spawn([capture = counted(all)]() -> task<> {
      ++capture.all().began;
      co_await yield();
    });
    ++all.accepted;
    return true;
  } catch (const runtime_ended&) {
    ++all.refused;
    return false;
  }
}

TEST(OutsideEnd, AfterTheRunASpawnIsRefusedAndTheFunctionDestroyedInTheCallersThread) {
  runtime_handle handle;
  tally all;
  int runs = 0;
  test::everywhere([&]() -> task<> {
    if (handle) {
      // In a later runtime, which may be where the first one was.
      EXPECT_NE(handle, this_runtime());
      EXPECT_TRUE(handle.ended());
      EXPECT_FALSE(spawn_counted(handle, all));
    } else {
      handle = this_runtime();
    }
    ++runs;
    co_return;
  });
  std::thread::id destroyed_in;
  const auto remember = [&destroyed_in](int*) { destroyed_in = std::this_thread::get_id(); };
  int nothing = 0;
  EXPECT_THROW(handle.spawn([kept = std::shared_ptr<int>(&nothing, remember)]() -> task<> { co_return; }),
               runtime_ended);
  EXPECT_EQ(destroyed_in, std::this_thread::get_id());
  std::stop_source source;
  EXPECT_THROW(handle.spawn(seven()), runtime_ended);
  EXPECT_THROW(handle.spawn(seven(), source.get_token()), runtime_ended);
  EXPECT_THROW(handle.spawn(seven, source.get_token()), runtime_ended);
  EXPECT_THROW(handle.call(seven()), runtime_ended);
  EXPECT_THROW(handle.call(seven), runtime_ended);
  EXPECT_THROW(handle.call([] { return 1; }), runtime_ended);
  EXPECT_TRUE(handle.ended());
  EXPECT_EQ(all.made, runs - 1);
  EXPECT_EQ(all.destroyed, all.made);
  EXPECT_EQ(all.began, 0);
}

// The main task has ended, but the run has not: it waits for a function of blocking().
TEST(OutsideEnd, OnceTheMainTaskHasEndedASpawnIsRefused) {
  tally all;
  background_runtime background;
  const runtime_handle handle = background.handle();
  note begun;
  note finish;
  handle.spawn([&]() -> task<> {
    const auto waits = [&] {
      begun.wake();
      finish.sleep_until(instant::never());
    };
    co_await blocking(waits);
  });
  begun.sleep_until(instant::never());
  background.request_stop();
  while (!handle.ended()) std::this_thread::yield();
  EXPECT_FALSE(spawn_counted(handle, all));
  finish.wake();
  background.stop();
  EXPECT_EQ(all.destroyed, 1);
}

TEST(OutsideEnd, ADestructorOfATaskThatTheEndDestroysIsRefused) {
  std::optional<bool> accepted;
  tally all;
  run([&]() -> task<> {
    spawn([handle = this_runtime(), &accepted, &all]() -> task<> {
      const auto spawns = [&](int*) { accepted = spawn_counted(handle, all); };
      int nothing = 0;
      const std::shared_ptr<int> at_the_end(&nothing, spawns);
      co_await sleep(duration::forever());
    });
    co_await sleep(1us);
  });
  if (accepted) {
    EXPECT_FALSE(*accepted);
    EXPECT_EQ(all.destroyed, 1);
  }
}

/// Threads spawn until they are refused, while the runtime ends.
void spawn_against_the_end(const run_options& options, int round) {
  tally all;
  std::vector<std::thread> threads;
  run(
      [&all, &threads, round]() -> task<> {
        for (int i = 0; i < 3; ++i) {
          threads.emplace_back([handle = this_runtime(), &all] {
            while (spawn_counted(handle, all)) wait_for_room(handle, all);
          });
        }
        while (all.began < round % 7 * 5) co_await yield();
      },
      options);
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(all.refused, 3);
  EXPECT_EQ(all.made, all.accepted + all.refused);
  EXPECT_EQ(all.destroyed, all.made);
  EXPECT_LE(all.began, all.accepted);
}

TEST(OutsideEnd, ASpawnThatRacesWithItIsAcceptedOrRefused) {
  for (int round = 0; round < 150; ++round) {
    run_options options;
    options.processors = 1 + static_cast<std::size_t>(round % 3);
    spawn_against_the_end(options, round);
  }
}

TEST(OutsideEnd, ASpawnThatRacesWithItOnVirtualTimeIsAcceptedOrRefused) {
  for (int round = 0; round < 150; ++round) {
    virtual_clock clock;
    run_options options;
    options.clock = &clock;
    options.processors = 1 + static_cast<std::size_t>(round % 3);
    options.seed = static_cast<std::uint64_t>(round);
    spawn_against_the_end(options, round);
  }
}

TEST(OutsideEnd, EndsACallWhoseTaskWaits) {
  for (const bool is_virtual : {false, true}) {
    virtual_clock clock;
    run_options options;
    if (is_virtual) options.clock = &clock;
    background_runtime background(options);
    note begun;
    std::thread calls([&begun, handle = background.handle()] {
      int local = 0;
      EXPECT_THROW(handle.call([&begun, &local]() -> task<> {
        const std::shared_ptr<int> at_the_end(&local, [](int* it) { *it += 1; });
        begun.wake();
        co_await sleep(duration::forever());
      }),
                   runtime_ended);
      EXPECT_EQ(local, 1) << "the task must have been destroyed before";
    });
    begun.sleep_until(instant::never());
    background.stop();
    calls.join();
  }
}

// The end waits for the function, and the call in it must not wait for the end.
TEST(OutsideEnd, EndsACallThatAFunctionOfBlockingWaitsFor) {
  for (const bool by_another_thread : {false, true}) {
    background_runtime background;
    note begun;
    std::atomic<int> ended = 0;
    background.handle().spawn([&, handle = background.handle()]() -> task<> {
      const auto calls = [&begun, &ended, &handle] {
        EXPECT_THROW(handle.call([&begun]() -> task<> {
          begun.wake();
          co_await sleep(duration::forever());
        }),
                     runtime_ended);
        EXPECT_THROW(handle.call(seven()), runtime_ended);
        ++ended;
      };
      const auto waits = [&calls, by_another_thread] {
        if (!by_another_thread) return calls();
        std::thread(calls).join();
      };
      co_await blocking(waits);
    });
    begun.sleep_until(instant::never());
    background.stop();
    EXPECT_EQ(ended, 1);
  }
}

TEST(OutsideEnd, ACallThatRacesWithItReturnsOrIsEnded) {
  for (int round = 0; round < 150; ++round) {
    run_options options;
    options.processors = 1 + static_cast<std::size_t>(round % 3);
    background_runtime background(options);
    std::atomic<int> returned = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([handle = background.handle(), &returned, i] {
        try {
          for (;;) {
            const int got = handle.call([i]() -> task<int> {
              co_await yield();
              co_return i;
            });
            EXPECT_EQ(got, i);
            ++returned;
          }
        } catch (const runtime_ended&) {
        }
        EXPECT_TRUE(handle.ended());
      });
    }
    while (returned < round % 7 * 5) std::this_thread::yield();
    background.stop();
    for (std::thread& each : threads) each.join();
  }
}

// Copies, drops, spawns, calls and stops of tasks by several threads, and the end in the middle of it.
TEST(OutsideEnd, EverythingAtOnce) {
  for (int round = 0; round < 60; ++round) {
    tally all;
    std::atomic<int> done = 0;
    std::optional<background_runtime> background(std::in_place);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([first = background->handle(), &all, &done, i] {
        std::vector<join_handle<>> spawned;
        try {
          for (int n = 0;; ++n, ++done) {
            runtime_handle copy = first;
            const runtime_handle moved = std::move(copy);
            switch ((n + i) % 4) {
              case 0:
                wait_for_room(moved, all);
                spawn_counted(moved, all);
                break;
              case 1: moved.call([] {}); break;
              case 2: spawned.push_back(moved.spawn([]() -> task<> { co_await sleep(duration::forever()); })); break;
              default:
                if (!spawned.empty()) spawned.back().request_stop();
                if (n % 16 == 0) spawned.clear();
            }
          }
        } catch (const runtime_ended&) {
        }
        for (join_handle<>& each : spawned) {
          each.request_stop();
          while (!each.done()) std::this_thread::yield();
        }
      });
    }
    while (done < round * 3) std::this_thread::yield();
    background.reset();
    for (std::thread& each : threads) each.join();
    EXPECT_EQ(all.made, all.accepted + all.refused);
    EXPECT_EQ(all.destroyed, all.made);
  }
}

}  // namespace
}  // namespace foliot::runtime
