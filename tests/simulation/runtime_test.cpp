// The runtime under seeded schedules: random programs of tasks against a model of their results. No task is lost or run
// twice, none wakes early, every task that can run does, and run() ends cleanly at any moment.
#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>
#include <vector>

#include <foliot/core/seam/sync.hpp>
#include <foliot/runtime/cancelled.hpp>

#include "runtime_worlds.hpp"

namespace foliot::simulation {
namespace {

using namespace std::chrono_literals;
using runtime::blocking;
using runtime::cancelled;
using runtime::join_handle;
using runtime::now;
using runtime::set_processors;
using runtime::sleep;
using runtime::sleep_until;
using runtime::spawn;
using runtime::task;
using runtime::yield;

constexpr std::uint64_t worlds = 300;

/// The limits of a random program, and its results.
struct program {
  int budget = 12;  // tasks that may still be spawned
  bool punctual = false;
  bool computes = false;
  bool changes_processors = false;

  int begun = 0;
  int ended = 0;
  int stopped = 0;
  int alive = 0;
  int jobs = 0;
};

class counted {
 public:
  explicit counted(program& owner) : owner_(owner) { ++owner_.alive; }
  ~counted() { --owner_.alive; }
  counted(const counted&) = delete;
  counted& operator=(const counted&) = delete;

 private:
  program& owner_;
};

/// Checks that its task runs on time, and on one worker at a time.
class on_its_own {
 public:
  explicit on_its_own(bool& inside) : inside_(inside) {
    require(!inside_, "a task is run by one worker at a time");
    inside_ = true;
  }
  ~on_its_own() { inside_ = false; }
  on_its_own(const on_its_own&) = delete;
  on_its_own& operator=(const on_its_own&) = delete;

 private:
  bool& inside_;
};

void step(bool& inside) {
  const on_its_own alone(inside);
  for (std::uint64_t i = choose(4); i > 0; --i) point();
}

task<> sleep_a_while(program& all) {
  const instant deadline = now() + up_to(3ms);
  co_await sleep_until(deadline);
  const instant woken = now();
  require(woken >= deadline, "early");
  if (all.punctual) require(woken - deadline < overslept, "overslept: a wake-up was lost");
}

/// A task: does random things, waits for the tasks that it has spawned, and ends.
task<int> live(program& all, int depth) {
  const counted here(all);
  ++all.begun;
  bool inside = false;
  int sum = 1;
  std::vector<join_handle<int>> children;
  for (std::uint64_t left = 1 + choose(5); left > 0; --left) {
    step(inside);
    switch (choose(8)) {
      case 0: co_await yield(); break;
      case 1: co_await sleep_a_while(all); break;
      case 2:
      case 3:
        if (all.budget == 0 || depth == 4) break;
        --all.budget;
        children.push_back(spawn(live(all, depth + 1)));
        break;
      case 4: {
        if (children.empty()) break;
        const int got = co_await children.back().join();
        children.pop_back();
        sum += got;
        break;
      }
      case 5: {
        auto job = [&all] { ++all.jobs; };
        const int before = all.jobs;
        co_await blocking(job);
        require(all.jobs > before, "the call has returned without running");
        break;
      }
      case 6:
        if (all.changes_processors) set_processors(1 + choose(4));
        break;
      default:
        if (all.computes) compute(up_to(3ms));
        break;
    }
  }
  for (auto& each : children) {
    const int got = co_await each.join();
    sum += got;
  }
  step(inside);
  ++all.ended;
  co_return sum;
}

task<> live_to_the_end(program what) {
  const int sum = co_await live(what, 0);
  require(sum == what.begun && what.begun == what.ended, "each task has run once, to its end");
  require(what.alive == 0, "a task was not destroyed");
}

TEST(Runtime, EachTaskRunsOnceToItsEnd) {
  explore_runtimes(worlds, {quiet, interrupted}, [] { return live_to_the_end({.punctual = true}); });
  explore_runtimes(worlds, {rough}, [] { return live_to_the_end({}); });
}

TEST(Runtime, ComputingTasksLoseNobody) {
  explore_runtimes(worlds, {quiet, rough}, [] { return live_to_the_end({.computes = true}); });
}

TEST(Runtime, ProcessorsComeAndGoAndNothingIsLost) {
  explore_runtimes(worlds, {quiet, rough},
                   [] { return live_to_the_end({.computes = choose(2) == 0, .changes_processors = true}); });
}

// The main task ends at any moment: the other tasks are destroyed where they wait.

task<> leave_them(program& all) {
  for (int i = 0; i < 3; ++i) {
    --all.budget;
    static_cast<void>(spawn(live(all, 0)));
  }
  co_await sleep(up_to(2ms));
}

TEST(Runtime, EndsCleanlyAtAnyMoment) {
  for (const faults& with : {quiet, rough}) {
    explore(worlds, with, [] {
      program all{.computes = true, .changes_processors = true};
      run_task(1 + choose(3), leave_them(all));
      require(all.alive == 0, "a task that had not ended was not destroyed");
    });
  }
}

// Tasks are asked to stop, from other tasks and from outside.

task<> until_stopped(program& all, instant& asked) {
  const counted here(all);
  bool inside = false;
  try {
    for (;;) {
      step(inside);
      if (choose(2) == 0) {
        co_await yield();
      } else {
        co_await sleep(choose(2) == 0 ? duration(1h) : up_to(1ms));
      }
    }
  } catch (const cancelled&) {
    ++all.stopped;
    require(asked != instant::never(), "a task stopped without a request");
    if (all.punctual) require(now() - asked < overslept, "a task stopped late");
    throw;
  }
}

task<> stop_them(program& all) {
  constexpr int count = 3;
  std::vector<instant> asked(count, instant::never());
  std::vector<join_handle<>> handles;
  handles.reserve(count);
  for (int i = 0; i < count; ++i) handles.push_back(spawn(until_stopped(all, asked[static_cast<std::size_t>(i)])));
  seam::thread outside("outside", [&] {
    for (std::uint64_t i = choose(20); i > 0; --i) point();
    asked[0] = seam::monotonic_now();
    handles[0].request_stop();
    handles[0].request_stop();
  });
  for (std::size_t i = 1; i < count; ++i) {
    co_await sleep(up_to(2ms));
    asked[i] = now();
    handles[i].request_stop();
  }
  co_await joined(outside);
  for (auto& each : handles) {
    try {
      co_await each.join();
      require(false, "a task went on after a stop request");
    } catch (const cancelled&) {
    }
  }
  require(all.stopped == count && all.alive == 0, "a task has not stopped");
}

TEST(Runtime, TasksStopWhereverTheyAre) {
  for (const faults& with : {quiet, interrupted}) {
    explore(worlds, with, [] {
      program all{.punctual = true};
      run_task(1 + choose(3), stop_them(all));
    });
  }
}

/// A handle outlives its runtime: its task has ended with the runtime, and a stop request does nothing.
TEST(Runtime, AStopAfterTheEndDoesNothing) {
  explore(worlds, quiet, [] {
    std::optional<join_handle<>> kept;
    const auto sleeps = []() -> task<> { co_await sleep(1h); };
    const auto main = [](auto& make, std::optional<join_handle<>>& handle) -> task<> {
      handle.emplace(spawn(make()));
      if (choose(2) == 0) co_await sleep(1ms);
    };
    run_task(1 + choose(2), main(sleeps, kept));
    require(kept->done(), "a task outlived its runtime");
    kept->request_stop();
  });
}

/// A thread cannot be made: the caller gets the error, and nothing is left behind.
TEST(Runtime, AThreadThatCannotBeMadeIsToldOf) {
  for (std::uint64_t refused = 1; refused <= 4; ++refused) {
    explore(worlds / 10, faults{.refuse_thread = refused}, [] {
      program all;
      try {
        run_task(2, leave_them(all));
      } catch (const std::system_error&) {
      }
      require(all.alive == 0, "a task that had begun was not destroyed");
    });
  }
}

}  // namespace
}  // namespace foliot::simulation
