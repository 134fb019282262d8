// Objects that outlive their runtime, after run() has returned and in later runs: timers report the end of the runtime,
// and objects that belong to no runtime work as before.
#include <atomic>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/runtime/callback_timer.hpp>
#include <foliot/runtime/channel.hpp>
#include <foliot/runtime/context.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/select.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/task_condition.hpp>
#include <foliot/runtime/task_mutex.hpp>
#include <foliot/runtime/task_semaphore.hpp>
#include <foliot/runtime/this_task.hpp>
#include <foliot/runtime/ticker.hpp>
#include <foliot/runtime/timer.hpp>
#include <foliot/runtime/wait_group.hpp>

#include "worlds.hpp"

namespace foliot::runtime {
namespace {

using namespace std::chrono_literals;
using test::everywhere;

/// Callback timers in each state in which the end of a runtime may find them.
struct callbacks {
  std::atomic<int> calls = 0;
  callback_timer idle, pending, postpone, stopped, fired, closed;

  task<> make() {
    const auto count = [this] { ++calls; };
    idle = callback_timer(count);
    pending = after_func(1h, count);
    postpone = after_func(1h, count);
    postpone.reset(2h);
    stopped = after_func(1h, count);
    stopped.stop();
    fired = after_func(1us, count);
    while (calls == 0) co_await sleep(1us);
    closed = after_func(1h, count);
    static_cast<void>(co_await closed.stop_and_wait());
  }
  [[nodiscard]] std::vector<callback_timer*> all() { return {&idle, &pending, &postpone, &stopped, &fired, &closed}; }

  void expect_ended() {
    for (callback_timer* const each : all()) {
      EXPECT_EQ(each->reset(1ms), reset_result::closed);
      EXPECT_EQ(each->reset(duration::zero()), reset_result::closed);
      EXPECT_EQ(each->reset_at(instant::never()), reset_result::closed);
      EXPECT_EQ(each->reset_at(instant::earliest()), reset_result::closed);
      EXPECT_EQ(each->stop(), stop_result::idle);
    }
    EXPECT_EQ(calls.load(), 1);
  }
};

// A reset must not touch the freed scheduler.
TEST(AfterTheRun, ACallbackTimerAnswersClosed) {
  std::optional<callbacks> earlier;
  everywhere([&earlier]() -> task<> {
    if (earlier) earlier->expect_ended();  // inside a later runtime, which may be where the first one was
    earlier.emplace();
    co_await earlier->make();
  });
  for (const std::string_view timers : test::kinds_of_timers) {
    callbacks kept;
    run_options options;
    options.timers = timers;
    run(kept.make(), options);
    kept.expect_ended();
  }
}

TEST(AfterTheRun, ACallbackTimerIsStoppedForGoodInAnotherRun) {
  for (const std::string_view timers : test::kinds_of_timers) {
    callbacks kept;
    run_options options;
    options.timers = timers;
    run(kept.make(), options);
    run([](callbacks& old) -> task<> {
      for (callback_timer* const each : old.all()) {
        const stop_result result = co_await each->stop_and_wait();
        EXPECT_EQ(result, stop_result::idle);
      }
    }(kept));
    kept.expect_ended();
  }
}

/// The same for timers that tasks wait for.
struct receivables {
  timer pending, come, stopped;
  ticker beating;

  task<> make() {
    pending = timer(1h);
    come = timer(duration::zero());
    stopped = timer(1h);
    stopped.stop();
    beating = ticker(1us, first_tick::at_once);
    co_await sleep(1us);
  }
  void expect_ended() {
    for (timer* const each : {&pending, &come, &stopped}) {
      EXPECT_EQ(each->reset(1ms), reset_result::closed);
      EXPECT_EQ(each->reset_at(instant::earliest()), reset_result::closed);
      EXPECT_EQ(each->try_receive(), std::nullopt);
      EXPECT_EQ(each->stop(), stop_result::idle);
    }
    EXPECT_EQ(beating.reset(1ms), reset_result::closed);
    EXPECT_EQ(beating.reset_at(instant{}, 1ms), reset_result::closed);
    EXPECT_EQ(beating.try_receive(), std::nullopt);
    EXPECT_EQ(beating.stop(), stop_result::idle);
    EXPECT_EQ(beating.skipped(), 0U);
  }
};

TEST(AfterTheRun, ATimerAnswersClosedAndGivesNothing) {
  std::optional<receivables> earlier;
  everywhere([&earlier]() -> task<> {
    if (earlier) earlier->expect_ended();
    earlier.emplace();
    co_await earlier->make();
  });
  receivables kept;
  run(kept.make());
  kept.expect_ended();
}

TEST(AfterTheRun, AWaitForATimerThrowsInAnotherRun) {
  receivables kept;
  run(kept.make());
  run([](receivables& old) -> task<> {
    const std::string expected = "foliot: the timer's runtime has ended: make a timer in the current runtime";
    std::string said;
    try {
      static_cast<void>(co_await old.come);
    } catch (const std::logic_error& error) {
      said = error.what();
    }
    EXPECT_EQ(said, expected);
    said.clear();
    auto beat = old.beating.c();
    try {
      auto chosen = co_await select(beat, otherwise());
      EXPECT_EQ(chosen.index(), 2U) << "a case of an ended runtime was chosen";
    } catch (const std::logic_error& error) {
      said = error.what();
    }
    EXPECT_EQ(said, expected);
  }(kept));
}

TEST(AfterTheRun, ATimerIsClosedWhileOtherRuntimesLive) {
  callbacks kept;
  const auto third = [&kept] {
    run([](callbacks& old) -> task<> {
      old.expect_ended();
      co_return;
    }(kept));
  };
  run(kept.make());
  run([](callbacks& old, auto run_third) -> task<> {
    callbacks own;
    co_await own.make();
    co_await blocking(run_third);  // its end is not that of this one
    EXPECT_EQ(own.pending.reset(2h), reset_result::superseded);
    EXPECT_EQ(own.idle.reset(2h), reset_result::idle);
    old.expect_ended();
  }(kept, third));
}

TEST(AfterTheRun, TheFunctionOfACancelledContextIsNotCalled) {
  bool called = false;
  cancel_context request = with_cancel(background());
  context_callback kept;
  const auto make = [&]() -> task<> {
    kept = after_func(request, [&called] { called = true; });
    co_return;
  };
  run(make);
  request.cancel();
  run([]() -> task<> { co_await sleep(1ms); }());
  EXPECT_FALSE(called);
  EXPECT_EQ(kept.stop(), stop_result::idle);
}

/// Objects that belong to no runtime.
struct shared_things {
  channel<int> numbers{1};
  wait_group group;
  task_semaphore slots{1};
  task_mutex guard;
  task_condition changed{guard};
};

TEST(AfterTheRun, ChannelsGroupsSemaphoresAndMutexesGoOn) {
  shared_things kept;
  const auto waits_for_all = [](shared_things& all) -> task<> {
    auto takes = [](shared_things& of) -> task<> {
      co_await of.slots.acquire();
      co_await of.slots.acquire();
    };
    auto joins = [](shared_things& of) -> task<> { co_await of.group.wait(); };
    auto notified = [](shared_things& of) -> task<> {
      auto held = co_await of.guard.lock();
      co_await of.changed.wait(held);
    };
    auto sends = [](shared_things& of) -> task<> {
      for (int i = 0; i < 3; ++i) co_await of.numbers.send(i);
    };
    spawn(takes(all));
    spawn(joins(all));
    spawn(notified(all));
    spawn(sends(all));
    while (all.slots.available() != 0 || all.numbers.size() != 1) co_await sleep(1us);
  };
  kept.group.add();
  run(waits_for_all(kept));  // the waiting tasks are destroyed where they wait
  EXPECT_EQ(kept.numbers.try_receive(), 0);
  EXPECT_EQ(kept.numbers.try_receive(), std::nullopt);
  kept.group.done();
  kept.slots.release();
  kept.changed.notify_all();
  run([](shared_things& all) -> task<> {
    co_await all.slots.acquire();
    co_await all.group.wait();
    auto held = co_await all.guard.lock();
    co_await all.numbers.send(7);
    const auto got = co_await all.numbers.receive();
    EXPECT_EQ(got, 7);
  }(kept));
}

}  // namespace
}  // namespace foliot::runtime
