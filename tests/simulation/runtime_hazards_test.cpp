// The hazards of timers in a scheduler, by the numbers that Go's have (docs/runtime/scheduler.md): each test fails when
// the defence that its comment names is taken away.
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include <foliot/core/seam/sync.hpp>
#include <foliot/runtime/callback_timer.hpp>
#include <foliot/runtime/channel.hpp>

#include "runtime_worlds.hpp"

namespace foliot::simulation {
namespace {

using namespace std::chrono_literals;
using runtime::join_handle;
using runtime::set_processors;
using runtime::sleep;
using runtime::sleep_until;
using runtime::spawn;
using runtime::task;
using runtime::yield;

constexpr std::uint64_t worlds = 200;

/// Runs worlds in which only an error can make a timer late.
template <class Make>
void explore_punctual(std::size_t processors, Make make) {
  for (const faults& with : {quiet, interrupted}) {
    explore(worlds, with, [&] { run_task(processors, make()); });
  }
}

/// A task that notes when it ran.
task<> note_when(instant& at) {
  at = runtime::now();
  co_return;
}

/// H1: a worker has decided until when it sleeps, and an earlier timer comes from outside. (wake_for() wakes
/// it; the word of parker.hpp sticks; a worker that receives another one's break passes it on.)
TEST(Hazards, H1AnEarlierTimerForAProcessorThatGoesToSleep) {
  const auto main = []() -> task<> {
    constexpr int count = 4;
    std::deque<probe> timers;
    for (int i = 0; i < count; ++i) timers.emplace_back(true);
    const instant far = runtime::now() + 50ms;
    for (probe& each : timers) each.reset(far);
    seam::thread outside("outside", [&] {
      for (int i = 0; i < count; ++i) {
        timers[static_cast<std::size_t>(i)].reset(seam::monotonic_now() + 20ms - 4ms * i);  // each the earliest so far
        if (choose(2) == 0) pass_time(up_to(100us));
      }
    });
    co_await sleep_until(far + 1ms);
    co_await joined(outside);
    for (probe& each : timers) require(each.fired() == 1, "a timer was lost");
  };
  for (const std::size_t processors : {1U, 2U}) explore_punctual(processors, main);
}

/// H2, with more than two processors: a worker that was woken for one task takes it, and must wake another one for the
/// next task, wherever that is queued. (stop_spinning() looks at all queues.)
TEST(Hazards, H2TwoTasksThatComputeBesideTheirMaker) {
  const auto computes = [](instant& begun) -> task<> {
    begun = runtime::now();
    compute(50ms);
    co_return;
  };
  const auto main = [&computes]() -> task<> {
    co_await sleep(1ms);  // the others are asleep
    instant one = instant::never();
    instant other = instant::never();
    const instant made_at = runtime::now();
    auto first = spawn(computes(one));
    auto second = spawn(computes(other));
    compute(50ms);
    co_await first.join();
    co_await second.join();
    require(one - made_at < 5ms, "no worker took the first task");
    require(other - made_at < 5ms, "no worker took the second task");
  };
  explore_punctual(3, main);
}

/// Two processors: a task makes another one and computes; the other processor is anywhere between looking for work and
/// sleeping. The new task must not wait for the first to end.
task<> hand_over() {
  for (int round = 0; round < 3; ++round) {
    instant run_at = instant::never();
    // The other processor is woken, and is then at any point of its way to sleep.
    auto bait = spawn([]() -> task<> { co_return; }());
    for (std::uint64_t left = choose(200); left > 0; --left) point();
    const instant made_at = runtime::now();
    auto made = spawn(note_when(run_at));
    compute(5ms);
    require(run_at - made_at < overslept, "no worker took the task");
    co_await bait.join();
    co_await made.join();
  }
}

/// H2: the last spinning worker goes to sleep as work comes, and the thread that made the work has woken no worker,
/// since one was spinning. (look_again(), after it is no longer counted)
/// H3: no processor is idle when work comes, and then one is. (look_again(), after it has listed itself as
/// idle)
TEST(Hazards, H2H3WorkComesAsTheOtherProcessorGoesToSleep) {
  for (const faults& with : {quiet, interrupted}) {
    explore(worlds * 3, with, [] { run_task(2, hand_over()); });
  }
}

/// H2, for tasks for which no worker is woken: a task makes other tasks ready, and goes on computing. They may have to
/// wait seven times on each processor; after that the processor's handovers count as slow.
class ComputesOn {
 public:
  explicit ComputesOn(std::size_t receivers) : made_(receivers) {}

  task<> run(int rounds) {
    std::vector<join_handle<>> receivers;
    for (const runtime::channel<sent>& each : made_) receivers.push_back(spawn(receive(each, rounds)));
    for (int i = 0; i < rounds; ++i) {
      co_await sleep(3ms + up_to(1ms));  // all are idle
      if (choose(2) == 0) {              // another processor is woken, and is then at any point of its way to sleep
        static_cast<void>(spawn([]() -> task<> { co_return; }()));
        for (std::uint64_t left = choose(2'000); left > 0; --left) point();
      }
      const bool known = ++rounds_at_[&seam::this_thread()] > 7;
      for (const runtime::channel<sent>& each : made_) co_await each.send(sent{.at = runtime::now(), .known = known});
      compute(2ms);
    }
    for (join_handle<>& each : receivers) co_await each.join();
  }

 private:
  struct sent {
    instant at;
    bool known;
  };

  static task<> receive(runtime::channel<sent> made, int rounds) {
    for (int i = 0; i < rounds; ++i) {
      const auto each = co_await made.receive();
      require(!each.value().known || runtime::now() - each.value().at < overslept, "no worker took the task");
      compute(1ms);  // the worker that came for it does not come for another one
    }
  }

  std::vector<runtime::channel<sent>> made_;
  std::map<const void*, int> rounds_at_;  // by worker
};

/// (handover_meter.hpp; sees_overdue(), stop_spinning(), look_again())
TEST(Hazards, H2WhatIsMadeReadyByATaskThatComputesOn) {
  const auto main = [](std::size_t processors) -> task<> {
    ComputesOn tasks(processors - 1);
    co_await tasks.run(40);
  };
  for (const faults& with : {quiet, interrupted}) {
    for (const std::size_t processors : {2U, 3U}) {
      explore(worlds / 4, with, [&] { run_task(processors, main(processors)); });
    }
  }
}

/// A worker that must not take the task sleeps. (look_again())
TEST(Hazards, H2WhatComputesOnAtAProcessorThatGoesAwayKeepsNobodyAwake) {
  const auto main = []() -> task<> {
    ComputesOn tasks(1);
    co_await tasks.run(40);
    const runtime::channel<int> made(1);
    auto receiver =
        spawn([](runtime::channel<int> from) -> task<> { static_cast<void>(co_await from.receive()); }(made));
    co_await sleep(2ms);
    const std::uint64_t before = runtime::counters().rounds;
    co_await made.send(1);
    set_processors(1);
    compute(20ms);
    require(runtime::counters().rounds - before < 50, "a worker was kept awake");
    co_await receiver.join();
  };
  explore(worlds, quiet, [&] { run_task(2, main()); });
}

/// H4: a timer is started for a processor that is going away. (foliot_timers.hpp: under its lock the old
/// home names the processor that has its timers now.)
TEST(Hazards, H4ATimerForAProcessorThatGoesAway) {
  const auto main = []() -> task<> {
    std::deque<probe> timers;
    const auto make = [](std::deque<probe>& all) -> task<> {
      for (int i = 0; i < 3; ++i) {
        all.emplace_back(true);
        all.back().reset(runtime::now() + 20ms);
        co_await sleep(up_to(100us));
      }
    };
    // On any of three processors, two of which are then removed.
    auto one = spawn(make(timers));
    co_await one.join();
    seam::thread outside("outside", [&] {
      for (int i = 0; i < 6; ++i) {
        probe& which = timers[choose(3)];
        if (choose(2) == 0) {
          which.stop();
          pass_time(up_to(500us));  // it is pending nowhere, and its home is where it was
        }
        which.reset(which.now() + 1ms + up_to(2ms));
        pass_time(up_to(200us));
      }
    });
    for (int i = 0; i < 3; ++i) {
      co_await sleep(up_to(500us));
      set_processors(choose(2) == 0 ? 1 : 3);
    }
    co_await joined(outside);
    co_await sleep(30ms);
    for (probe& each : timers) require(!each.pending(), "a timer was lost");
  };
  explore_punctual(3, main);
}

/// H5, H6: a processor's first deadline, which other threads read without its lock, is never later than its first
/// timer, not even for a moment: not while timers are fired by another thread, and not while one is made earlier. (It
/// is written once in each locked section, at its end; and a worker that is about to sleep reads it under the lock.)
TEST(Hazards, H5H6TheFirstDeadlineIsNotLateForAMoment) {
  const auto main = []() -> task<> {
    std::deque<probe> timers;
    for (int i = 0; i < 4; ++i) timers.emplace_back(true);
    const instant begin = runtime::now();
    for (int i = 0; i < 4; ++i) timers[static_cast<std::size_t>(i)].reset(begin + 1ms + up_to(10us) + 1ms * (i / 2));
    // The worker computes until the monitor fires its timers, goes to sleep meanwhile, and is to wake for the others.
    compute(1ms + up_to(20us));
    seam::thread outside("outside", [&] {
      for (int i = 0; i < 3; ++i) timers[3].reset(begin + 1500us + up_to(50us));
    });
    co_await sleep_until(begin + 5ms);
    co_await joined(outside);
    for (probe& each : timers) require(each.fired() >= 1, "a timer was lost");
  };
  for (const std::size_t processors : {1U, 2U}) explore_punctual(processors, main);
}

/// H7: a first deadline that is too early costs one look, not endless ones: when its timer was stopped, and nothing
/// else is pending, the workers sleep. (foliot_timers.hpp: run_due() and refresh_first() set it to the earliest pending
/// timer.)
TEST(Hazards, H7AFirstDeadlineOfNothingKeepsNobodyAwake) {
  const auto main = []() -> task<> {
    probe stopped;
    probe late;
    stopped.reset(runtime::now() + 1ms);
    if (choose(2) == 0) late.reset(runtime::now() + 1ms);
    if (choose(2) == 0) co_await yield();
    stopped.stop();
    co_await sleep(5ms);
    const std::uint64_t before = runtime::counters().rounds;
    co_await sleep(1h);
    require(runtime::counters().rounds - before < 50, "a worker was kept awake");
  };
  for (const std::size_t processors : {1U, 2U}) explore_punctual(processors, main);
}

/// H8: a timer that is due on a processor that is in a task which computes. (monitor.hpp: its start sets the
/// monitor's alarm, if another processor is free; else the monitor comes after its patience.)
TEST(Hazards, H8ATimerBehindATaskThatComputes) {
  const auto main = [](std::size_t processors) -> task<> {
    co_await sleep(1ms);  // all are asleep by now
    probe timer;
    const instant deadline = runtime::now() + 2ms;
    timer.reset(deadline);
    instant run_at = instant::never();
    const auto wait = [](instant until, instant& at) -> task<> {
      co_await sleep_until(until);
      at = runtime::now();
    };
    auto waits = spawn(wait(deadline, run_at));
    co_await yield();  // it waits, here or at another processor
    compute(100ms);
    const duration allowed = processors > 1 ? duration(1ms) : duration(25ms);
    require(timer.fired() == 1 && timer.fired_at() - deadline < allowed, "the timer had to wait for the task");
    if (processors > 1) require(run_at - deadline < allowed, "the other task had to wait for this one");
    co_await waits.join();
  };
  for (const std::size_t processors : {1U, 2U}) {
    explore_punctual(processors, [&] { return main(processors); });
  }
}

/// H8 too: no other thread has a reason to wake.
TEST(Hazards, H8ATimerBehindTheOnlyTask) {
  const auto main = []() -> task<> {
    co_await sleep(1ms);
    compute(choose(2) == 0 ? 30ms : 33ms);  // the monitor has grown patient: it is about to look, or has just looked
    probe timer;
    const instant deadline = runtime::now() + up_to(2ms);
    timer.reset(deadline);
    compute(100ms);
    require(timer.fired() == 1 && timer.fired_at() - deadline < 1ms, "the timer had to wait for the task");
  };
  explore_punctual(2, main);
}

/// H8 too: a timer that is started by a callback on the monitor's thread does not wait behind the same task.
/// (processor_for_start())
TEST(Hazards, H8WhatTheMonitorsCallbacksStartGoesToAnIdleProcessor) {
  constexpr int links = 20;
  const auto main = []() -> task<> {
    co_await sleep(1ms);  // all are asleep by now
    std::deque<runtime::callback_timer> chain;
    std::function<void()> next = [&] {
      if (chain.size() < links) chain.push_back(runtime::after_func(1ms, std::ref(next)));
    };
    const std::uint64_t before = runtime::counters().rescues;
    chain.push_back(runtime::after_func(1ms, std::ref(next)));
    compute(100ms);
    require(chain.size() == links, "the timers had to wait for the task");
    // Besides the first time, the monitor sometimes finds the task stuck again.
    require(runtime::counters().rescues - before < links, "the monitor had to run all of them");
  };
  explore_punctual(2, main);
}

/// Not a hazard but its price: a running worker fires its own timers, and neither an idle worker nor the monitor takes
/// them from it. (worker_status.hpp: will_check_timers().)
TEST(Hazards, H8TimersOfAWorkerThatGoesRoundAreLeftToIt) {
  constexpr int links = 100;
  const auto main = []() -> task<> {
    co_await sleep(1ms);  // all are asleep, or on their way
    const runtime::channel<bool> done(1);
    std::deque<runtime::callback_timer> chain;
    const void* here = nullptr;
    int moves = 0;
    std::function<void()> next = [&] {
      const void* const thread = &seam::this_thread();
      moves += std::exchange(here, thread) != thread ? 1 : 0;
      if (chain.size() == links) return static_cast<void>(done.try_send(true));
      chain.push_back(runtime::after_func(0ns, std::ref(next)));
      compute(up_to(5us));
    };
    auto bait = spawn([]() -> task<> { co_return; }());  // another worker looks for work, and goes to sleep again
    chain.push_back(runtime::after_func(0ns, std::ref(next)));
    co_await done.receive();
    co_await bait.join();
    // The first timer may be due before the task waits, or while the worker enters another task.
    require(moves <= 5, "the timers went from thread to thread");
  };
  for (const std::size_t processors : {2U, 3U}) explore_punctual(processors, main);
}

/// H10: a wait that ends too early, by a rounded timeout, a signal or without a reason, fires no timer early.
/// (run_timers(): the clock alone decides what is due.)
TEST(Hazards, H10AWaitThatEndsEarly) {
  const auto main = []() -> task<> {
    std::deque<probe> timers;
    for (int i = 0; i < 4; ++i) {
      timers.emplace_back();
      timers.back().reset(runtime::now() + up_to(3ms));
    }
    const instant deadline = runtime::now() + 5ms;
    co_await sleep_until(deadline);
    require(runtime::now() >= deadline, "early");
    while (timers[0].pending() || timers[1].pending() || timers[2].pending() || timers[3].pending())
      co_await sleep(1ms);
  };
  for (const std::size_t processors : {1U, 2U}) {
    explore(worlds, faults{.interrupts = true, .early_timeouts = true}, [&] { run_task(processors, main()); });
  }
}

}  // namespace
}  // namespace foliot::simulation
