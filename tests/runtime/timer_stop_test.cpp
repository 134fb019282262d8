// Tasks that wait for a timer or a ticker while it is stopped, destroyed or assigned to.
#include <foliot/runtime/timer_stopped.hpp>

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

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
#include <foliot/runtime/with_timeout.hpp>

#include "worlds.hpp"

namespace foliot::runtime {
namespace {

using namespace std::chrono_literals;

/// How a lone wait has ended: `received`, `cancelled`, or the message of timer_stopped.
template <class Timer>
task<std::string> wait_for(Timer& from) {
  std::string how = "received";
  try {
    co_await from;
  } catch (const timer_stopped& stopped) {
    how = stopped.what();
  } catch (const cancelled&) {
    how = "cancelled";
  }
  co_return how;
}
template <class Timer>
task<std::string> wait_for_next(Timer& from) {
  std::string how = "received";
  try {
    co_await from.c();
  } catch (const timer_stopped& stopped) {
    how = stopped.what();
  }
  co_return how;
}

void expect_has(const std::string& text, const char* part) { EXPECT_NE(text.find(part), std::string::npos) << text; }

template <class Timer>
task<> stop_during_waits() {
  Timer t{1h};
  std::vector<join_handle<std::string>> all;
  for (int i = 0; i < 3; ++i) {
    all.push_back(spawn(wait_for(t)));
    all.push_back(spawn(wait_for_next(t)));
  }
  co_await sleep(1ms);
  EXPECT_EQ(t.stop(), stop_result::stopped);
  for (auto& each : all) {
    const std::string how = co_await each.join();
    expect_has(how, "a timer that was stopped");
  }
  EXPECT_EQ(t.stop(), stop_result::idle);
}

TEST(TimerStop, EndsAllLoneWaits) {
  test::everywhere(stop_during_waits<timer>);
  test::everywhere(stop_during_waits<ticker>);
}

template <class Timer>
task<> stop_before_the_wait() {
  Timer t{1ms};
  t.stop();
  for (int i = 0; i < 2; ++i) {
    auto body = wait_for(t);
    const std::string how = co_await body;
    expect_has(how, "a timer that was stopped");
  }
  t.reset(1ms);
  auto body = wait_for(t);
  const std::string how = co_await body;
  EXPECT_EQ(how, "received");
}

TEST(TimerStop, EndsWaitsUntilTheNextReset) {
  test::everywhere(stop_before_the_wait<timer>);
  test::everywhere(stop_before_the_wait<ticker>);
}

/// The instant was due, and no task had received it: the stop discards it.
TEST(TimerStop, TakesBackWhatHasComeAndSaysSoToBoth) {
  test::in_virtual_worlds([]() -> task<> {
    timer t{1s};
    co_await sleep(2s);
    EXPECT_EQ(t.stop(), stop_result::stopped);
    auto body = wait_for(t);
    const std::string how = co_await body;
    expect_has(how, "a timer that was stopped");
  });
}

/// As wait_for_next. From `is_held` on the task does not touch the handle any more: another task may change it.
template <class Timer>
task<std::string> wait_without_the_handle(Timer& from, std::atomic<bool>& is_held) {
  std::string how = "received";
  auto next = from.c();
  is_held = true;
  try {
    co_await next;
  } catch (const timer_stopped& stopped) {
    how = stopped.what();
  }
  co_return how;
}
/// Returns when that task waits: it is the only one, and its alarm is the only timer. Until then the handle must live.
task<> until_a_task_waits(const std::atomic<bool>& is_held) {
  while (!is_held || counters().timers == 0) co_await sleep(1ms);
}

template <class Timer>
task<> destroy_during_waits() {
  std::optional<Timer> t(std::in_place, 1h);
  std::atomic<bool> first_holds{false};
  auto first = spawn(wait_without_the_handle(*t, first_holds));
  co_await until_a_task_waits(first_holds);
  t.reset();
  const std::string one = co_await first.join();
  expect_has(one, "destroyed, or assigned to");

  Timer assigned{1h};
  std::atomic<bool> second_holds{false};
  auto second = spawn(wait_without_the_handle(assigned, second_holds));
  co_await until_a_task_waits(second_holds);
  assigned = Timer();
  const std::string other = co_await second.join();
  expect_has(other, "destroyed, or assigned to");

  Timer moved{1h};
  std::atomic<bool> third_holds{false};
  auto third = spawn(wait_without_the_handle(moved, third_holds));
  co_await until_a_task_waits(third_holds);
  Timer here = std::move(moved);
  EXPECT_FALSE(third.done());
  here.reset(1ms);
  const std::string last = co_await third.join();
  EXPECT_EQ(last, "received");
}

TEST(TimerStop, TheEndOfTheHandleEndsThemToo) {
  test::everywhere(destroy_during_waits<timer>);
  test::everywhere(destroy_during_waits<ticker>);
}

/// The idiom that disables a case of a select, and enables it again.
template <class Timer>
task<> select_goes_on() {
  Timer t{1h};
  channel<int> others;
  const auto waits = [](Timer& from, channel<int> other) -> task<std::size_t> {
    const auto chosen = co_await select(from.c(), other.receive());
    co_return chosen.index();
  };
  const auto waits_for_one = [](Timer& from) -> task<> { static_cast<void>(co_await select(from.c())); };
  auto first = spawn(waits(t, others));
  auto lone = spawn(wait_for(t));
  co_await sleep(1ms);
  t.stop();
  const std::string how = co_await lone.join();
  expect_has(how, "a timer that was stopped");
  co_await sleep(30ms);
  EXPECT_FALSE(first.done());
  co_await others.send(1);
  const std::size_t from_channel = co_await first.join();
  EXPECT_EQ(from_channel, 1U);

  auto second = spawn(waits(t, others));
  auto only = spawn(waits_for_one(t));
  co_await sleep(30ms);
  EXPECT_FALSE(second.done() || only.done());
  t.reset(1ms);
  co_await sleep(1ms);
  while (!second.done() && !only.done()) co_await sleep(1ms);
  t.reset(1ms);
  const std::size_t from_timer = co_await second.join();
  EXPECT_EQ(from_timer, 0U);
  co_await only.join();
}

TEST(TimerStop, LeavesASelectWaiting) {
  test::everywhere(select_goes_on<timer>);
  test::everywhere(select_goes_on<ticker>);
}

/// A select with a destroyed timer goes on too.
TEST(TimerStop, LeavesASelectWaitingWhenTheHandleGoes) {
  test::everywhere([]() -> task<> {
    std::optional<timer> t(1h);
    channel<int> others;
    std::atomic<bool> is_held{false};
    const auto waits = [](timer& from, channel<int> other, std::atomic<bool>& holds) -> task<std::size_t> {
      auto next = from.c();
      holds = true;
      const auto chosen = co_await select(next, other.receive());
      co_return chosen.index();
    };
    auto first = spawn(waits(*t, others, is_held));
    co_await until_a_task_waits(is_held);
    t.reset();
    co_await others.send(1);
    const std::size_t from_channel = co_await first.join();
    EXPECT_EQ(from_channel, 1U);
  });
}

/// (Go: TestMultiWakeupTimer.) The timer has fired and is not stopped, so the second task waits for the next reset. A
/// stop then returns idle, and still ends the wait.
TEST(TimerStop, OneThatHasFiredIsNotStopped) {
  test::in_virtual_worlds([]() -> task<> {
    timer t{1ms};
    co_await t;
    auto second = spawn(wait_for(t));
    co_await sleep(1h);
    EXPECT_FALSE(second.done());
    EXPECT_EQ(t.reset(1ms), reset_result::idle);
    const std::string one = co_await second.join();
    EXPECT_EQ(one, "received");
    auto third = spawn(wait_for(t));
    co_await sleep(1h);
    EXPECT_EQ(t.stop(), stop_result::idle);
    const std::string other = co_await third.join();
    expect_has(other, "a timer that was stopped");
  });
}

/// A timeout ends a lone wait too; of a timeout and a stop the first decides which exception the task gets.
TEST(TimerStop, MeetsATimeout) {
  test::in_virtual_worlds([]() -> task<> {
    timer t{1h};
    auto body = wait_for(t);
    const auto late = co_await with_timeout(std::move(body), 1s);
    EXPECT_FALSE(late.has_value());
    auto stopper = after_func(1s, [&t] { t.stop(); });
    auto again = wait_for(t);
    const auto stopped = co_await with_timeout(std::move(again), 2s);
    expect_has(stopped.value(), "a timer that was stopped");
  });
}

/// The stop comes first, or the instant; both sides agree on which.
TEST(TimerStop, AgreesWithTheWaiterWhateverRaces) {
  test::on_real_processors([]() -> task<> {
    for (int i = 0; i < 200; ++i) {
      timer t{std::chrono::microseconds(20)};
      auto waits = spawn(wait_for(t));
      co_await sleep(std::chrono::microseconds(i % 40));
      const bool stopped = t.stop() == stop_result::stopped;
      const std::string how = co_await waits.join();
      EXPECT_EQ(stopped, how != "received") << how;
    }
  });
}

/// One of the two ends the wait; if it was not the stop of the task, the task sees that later.
TEST(TimerStop, MeetsTheStopOfTheTask) {
  test::on_real_processors([]() -> task<> {
    for (int i = 0; i < 200; ++i) {
      timer t{1h};
      const auto body = [](timer& from) -> task<std::string> {
        auto wait = wait_for(from);
        std::string how = co_await wait;
        if (how == "cancelled") co_return how;
        try {
          co_await select();
        } catch (const cancelled&) {
          how += ", then cancelled";
        }
        co_return how;
      };
      auto waits = spawn(body(t));
      auto stops = spawn([](timer& which) -> task<> {
        EXPECT_EQ(which.stop(), stop_result::stopped);
        co_return;
      }(t));
      if (i % 2 == 0) co_await yield();
      waits.request_stop();
      co_await stops.join();
      const std::string how = co_await waits.join();
      EXPECT_TRUE(how == "cancelled" || how.ends_with(", then cancelled")) << how;
    }
  });
}

/// From a thread outside of the runtime.
TEST(TimerStop, ComesFromAnyThread) {
  test::on_real_processors([]() -> task<> {
    for (int i = 0; i < 20; ++i) {
      timer t{1h};
      auto first = spawn(wait_for(t));
      auto second = spawn(wait_for(t));
      std::thread outside([&t] { EXPECT_EQ(t.stop(), stop_result::stopped); });
      const std::string one = co_await first.join();
      const std::string other = co_await second.join();
      expect_has(one, "a timer that was stopped");
      expect_has(other, "a timer that was stopped");
      outside.join();
    }
  });
}

/// A task that tries a stopped timer again and again does not starve other tasks.
TEST(TimerStop, IsAStepOfATurnLikeAnyOther) {
  test::everywhere([]() -> task<> {
    timer t{1h};
    t.stop();
    std::atomic<bool> over{false};  // another processor may be at work still
    set_processors(1);
    auto other = spawn([](std::atomic<bool>& ends) -> task<> {
      co_await yield();
      ends = true;
    }(over));
    while (!over) {
      auto body = wait_for(t);
      const std::string how = co_await body;
      expect_has(how, "a timer that was stopped");
    }
    co_await other.join();
  });
}

/// At the end of the run: one task's frame has the timer at which another one waits.
TEST(TimerStop, MayComeFromADestructorAtTheEndOfTheRun) {
  test::everywhere([]() -> task<> {
    const auto owns = [](channel<timer*> tell) -> task<> {
      timer t{1h};
      co_await tell.send(&t);
      co_await select();
    };
    channel<timer*> told;
    static_cast<void>(spawn(owns(told)));
    const auto which = co_await told.receive();
    for (int i = 0; i < 3; ++i) static_cast<void>(spawn(wait_for(*which.value())));
    static_cast<void>(spawn(owns(told)));
    const auto other = co_await told.receive();
    for (int i = 0; i < 3; ++i) static_cast<void>(spawn(wait_for(*other.value())));
    co_await sleep(1ms);
  });
}

}  // namespace
}  // namespace foliot::runtime
