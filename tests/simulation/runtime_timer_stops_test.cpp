// The stop of a timer against the delivery of its instant, the end of its handle, the stop of the waiting task and the
// end of the waiting task's runtime, under seeded schedules. Each start has one outcome, on which all sides agree; no
// task waits for ever.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include <foliot/core/seam/sync.hpp>
#include <foliot/runtime/cancelled.hpp>
#include <foliot/runtime/channel.hpp>
#include <foliot/runtime/select.hpp>
#include <foliot/runtime/ticker.hpp>
#include <foliot/runtime/timer.hpp>

#include "runtime_worlds.hpp"

namespace foliot::simulation {
namespace {

using namespace std::chrono_literals;
using runtime::cancelled;
using runtime::channel;
using runtime::join_handle;
using runtime::sleep;
using runtime::spawn;
using runtime::task;
using runtime::ticker;
using runtime::timer;
using runtime::timer_stopped;
using runtime::yield;

constexpr std::uint64_t worlds = 50;

enum class ending { received, stopped, cancelled };

template <class Timer>
task<ending> wait_for(Timer& from) {
  try {
    co_await from;
  } catch (const timer_stopped&) {
    co_return ending::stopped;
  } catch (const cancelled&) {
    co_return ending::cancelled;
  }
  co_return ending::received;
}

/// All kinds of timers, and tasks or threads that interfere.
template <class Make>
void explore_stops(Make make, std::uint64_t count = worlds) {
  for (const char* const kind : {"foliot", "processor-heaps", "processor-heaps-1.14"}) {
    for (const faults& with : {quiet, interrupted}) {
      explore(count, with, [&] {
        runtime::run_options options;
        options.processors = 1 + choose(3);
        options.seed = choose(1'000'000);
        options.timers = kind;
        runtime::run(make(), options);
      });
    }
  }
}

/// Calls the function, in a task or in a thread outside of the runtime.
template <class Function>
task<> by_somebody(Function what) {
  if (choose(2) == 0) {
    seam::thread outside("outside", [&what] {
      for (std::uint64_t left = choose(100); left > 0; --left) point();
      what();
    });
    co_await joined(outside);
  } else {
    if (choose(2) == 0) co_await sleep(up_to(40us));
    what();
  }
}

TEST(RuntimeTimerStops, AgreeWithTheDelivery) {
  explore_stops([]() -> task<> {
    timer t{up_to(30us)};
    std::vector<join_handle<ending>> all;
    const auto waiters = 1 + choose(3);
    for (std::uint64_t i = 0; i < waiters; ++i) all.push_back(spawn(wait_for(t)));
    bool stopped = false;
    const auto stop = [&] { stopped = t.stop() == stop_result::stopped; };
    co_await by_somebody(stop);
    int received = 0;
    for (auto& each : all) {
      const ending how = co_await each.join();
      require(how != ending::cancelled, "a task was cancelled without a request");
      received += how == ending::received ? 1 : 0;
    }
    require(received == (stopped ? 0 : 1), "the stop's answer contradicts the number of received instants");
  });
}

TEST(RuntimeTimerStops, OfATickerEndEachWait) {
  explore_stops([]() -> task<> {
    ticker beat{10us};
    const auto listen = [](ticker& from) -> task<int> {
      int heard = 0;
      for (;;) {
        auto wait = wait_for(from);
        const ending how = co_await wait;
        if (how == ending::stopped) co_return heard;
        ++heard;
      }
    };
    auto first = spawn(listen(beat));
    auto second = spawn(listen(beat));
    co_await sleep(up_to(100us));
    const auto stop = [&beat] { require(beat.stop() == stop_result::stopped, "the timer was not pending"); };
    co_await by_somebody(stop);
    static_cast<void>(co_await first.join());
    static_cast<void>(co_await second.join());
  });
}

/// The handle is destroyed while its instant comes, and while the waiting tasks are asked to stop.
TEST(RuntimeTimerStops, TheEndOfTheHandleMeetsTheDelivery) {
  explore_stops([]() -> task<> {
    std::optional<timer> t(20us);
    std::vector<join_handle<ending>> all;
    for (int i = 0; i < 2; ++i) all.push_back(spawn(wait_for(*t)));
    co_await sleep(10us);  // time moves when all wait: they do
    const bool asks = choose(2) == 0;
    if (asks) {
      co_await sleep(up_to(12us));
      all[0].request_stop();
    }
    const auto destroy = [&t] { t.reset(); };
    co_await by_somebody(destroy);
    int received = 0;
    for (auto& each : all) {
      const ending how = co_await each.join();
      require(how != ending::cancelled || (asks && &each == all.data()), "a task was cancelled without a request");
      received += how == ending::received ? 1 : 0;
    }
    require(received <= 1, "two tasks received one instant");
  });
}

TEST(RuntimeTimerStops, MeetTheStopOfTheTask) {
  explore_stops([]() -> task<> {
    timer t{1h};
    const auto body = [](timer& from) -> task<ending> {
      auto wait = wait_for(from);
      const ending how = co_await wait;
      if (how == ending::stopped) {
        bool seen = false;
        try {
          co_await runtime::select();
        } catch (const cancelled&) {
          seen = true;
        }
        require(seen, "the stop of the task was lost");
      }
      co_return how;
    };
    auto waits = spawn(body(t));
    seam::thread asks("asks", [&waits] {
      for (std::uint64_t left = choose(100); left > 0; --left) point();
      waits.request_stop();
    });
    const auto stop = [&t] { require(t.stop() == stop_result::stopped, "the timer was not pending"); };
    co_await by_somebody(stop);
    const ending how = co_await waits.join();
    require(how == ending::stopped || how == ending::cancelled,
            "the wait ended in another way than by one of the two stops");
    co_await joined(asks);
  });
}

/// The waiting task belongs to another runtime, which ends at this moment.
TEST(RuntimeTimerStops, MeetTheEndOfTheWaitingTasksRuntime) {
  explore_stops(
      []() -> task<> {
        std::optional<timer> t(up_to(40us));
        bool begun = false;
        seam::thread other("other", [&] {
          run_task(1 + choose(2), [](timer& from, bool& says) -> task<> {
            for (int i = 0; i < 2; ++i) static_cast<void>(spawn(wait_for(from)));
            co_await yield();
            co_await yield();
            co_await sleep(up_to(20us));
            says = true;
            for (std::uint64_t left = choose(100); left > 0; --left) point();
          }(*t, begun));
        });
        while (!begun) co_await sleep(1us);
        for (std::uint64_t left = choose(200); left > 0; --left) point();
        if (choose(2) == 0) {
          t->stop();
        } else {
          co_await sleep(up_to(40us));
        }
        co_await joined(other);
        t.reset();
      },
      worlds / 10);
}

}  // namespace
}  // namespace foliot::simulation
