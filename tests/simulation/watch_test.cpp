// Watches under seeded schedules: a descriptor that becomes ready is reported at any moment, the callback of a closed
// watch is not called, and descriptors and timers do not starve each other.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <system_error>
#include <vector>

#include <foliot/core/sync/note.hpp>
#include <foliot/service.hpp>

#include "foliot_simulation/world.hpp"
#include "support/engines.hpp"

namespace foliot::simulation {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t worlds = 500;
constexpr faults quiet{};
constexpr faults rough{.interrupts = true, .early_timeouts = true, .drift = duration::nanoseconds(2'000'000)};

service_options reactor() { return test::with_engine("epoll-heap"); }

void explore_all(const std::function<void()>& life) {
  for (const faults& with : {quiet, rough}) explore(worlds, with, life);
}

TEST(Watch, WhatBecomesReadyIsToldWhereverTheThreadIs) {
  explore_all([] {
    timer_service timers(reactor());
    descriptor socket;
    note told;
    int calls = 0;
    watch input(timers, socket.number(), readiness::readable, [&](readiness now) {
      require(now == readiness::readable, "the callback got another readiness than the descriptor has");
      ++calls;
      socket.become(readiness::none);
      told.wake();
    });
    const timer far(timers, 1h, [] {});
    if (choose(2) == 0) settle();
    for (int i = 1; i <= 3; ++i) {
      told.clear();
      socket.become(readiness::readable);
      told.sleep_until(instant::never());  // a deadlock if the callback is not called
      require(calls == i, "the callback ran another number of times than the descriptor became ready");
    }
  });
}

TEST(Watch, TimersAndDescriptorsDoNotStarveEachOther) {
  for (const bool precise : {false, true}) {
    explore_all([precise] {
      service_options options = reactor();
      options.precise = precise;
      options.turn = 1 + choose(4);
      timer_service timers(std::move(options));
      descriptor socket;
      socket.become(readiness::readable);  // for good: a level
      int fired = 0;
      int told = 0;
      note both;
      const auto look = [&] {
        if (fired >= 20 && told >= 20) both.wake();
      };
      const watch input(timers, socket.number(), readiness::readable, [&] {
        ++told;
        look();
      });
      timer busy(timers, [&] {
        ++fired;
        busy.reset(0ns);
        look();
      });
      busy.reset(0ns);
      both.sleep_until(instant::never());
      require(fired < 2000 && told < 20000, "descriptors or timers starved the other kind");
    });
  }
}

TEST(Watch, AfterItsEndTheCallbackDoesNotRun) {
  explore_all([] {
    timer_service timers(reactor());
    descriptor socket;
    auto captured = std::make_shared<bool>(true);
    std::weak_ptr<bool> alive = captured;
    bool ended = false;
    std::optional<watch> input(std::in_place, timers, socket.number(), readiness::readable,
                               [&ended, kept = std::move(captured)] {
                                 require(!ended && *kept, "the callback ran after the end of its watch");
                                 point();
                                 require(!ended && *kept, "the callback ran while its watch ended");
                               });
    seam::thread other("other", [&] {
      for (std::uint64_t n = choose(4); n > 0; --n) socket.become(readiness::readable);
    });
    for (std::uint64_t n = choose(60); n > 0; --n) point();
    if (choose(2) == 0) {
      input->stop_and_wait();
      require(!input->watching() && !input->modify(readiness::readable), "the watch is not closed");
    } else {
      input.reset();
    }
    ended = true;
    require(alive.expired(), "the captures outlive the watch");
    other.join();
    socket.become(readiness::readable);
    settle();
  });
}

/// A report about a watch that was closed meanwhile reaches no watch, nor the one that reuses its slot.
TEST(Watch, AStaleEventFindsNobody) {
  explore_all([] {
    timer_service timers(reactor());
    descriptor one;
    descriptor two;
    const descriptor silent;
    std::optional<watch> first;
    std::optional<watch> second;
    std::optional<watch> third;
    int calls = 0;
    const auto end = [&](std::optional<watch>& other) {
      ++calls;
      other.reset();
      third.emplace(timers, silent.number(), readiness::readable,
                    [] { require(false, "a watch received the report of an earlier one"); });
      one.become(readiness::none);
      two.become(readiness::none);
    };
    timer both(timers, [&] {  // on the service's thread: both are ready at its next look
      one.become(readiness::readable);
      two.become(readiness::readable);
    });
    first.emplace(timers, one.number(), readiness::readable, [&] { end(second); });
    second.emplace(timers, two.number(), readiness::readable, [&] { end(first); });
    both.reset(0ns);
    settle();
    pass_time(1ms);
    settle();
    require(calls == 1, "the second callback ran although its watch was closed");
  });
}

TEST(Watch, OfNothingForNow) {
  explore_all([] {
    timer_service timers(reactor());
    descriptor socket;
    socket.become(readiness::readable | readiness::hung_up);
    bool wanted = false;
    int calls = 0;
    note told;
    watch input(timers, socket.number(), readiness::none, [&] {
      require(wanted, "the callback ran while the watch waits for nothing");
      wanted = false;
      ++calls;
      require(input.modify(readiness::none), "an open watch was not modified");
      told.wake();
    });
    for (int i = 1; i <= 3; ++i) {
      settle();
      told.clear();
      wanted = true;
      require(input.modify(readiness::readable), "an open watch was not modified");
      told.sleep_until(instant::never());
      require(calls == i, "the callback ran another number of times than once");
    }
  });
}

TEST(Watch, AnEdgeIsToldOnce) {
  explore_all([] {
    timer_service timers(reactor());
    descriptor socket;
    int calls = 0;
    watch input(timers, socket.number(), {readiness::readable, trigger::edge}, [&] { ++calls; });
    for (int i = 1; i <= 3; ++i) {
      socket.become(readiness::readable);
      settle();
      pass_time(10ms);
      settle();
      require(calls == i, "the callback ran another number of times than there were edges");
    }
    require(input.modify({readiness::readable, trigger::edge}), "an open watch was not modified");
    settle();
    pass_time(10ms);
    settle();
    require(calls == 4, "a modify did not report the readiness again");
  });
}

TEST(Watch, AfterTheEndOfTheServiceNothingRuns) {
  explore_all([] {
    std::optional<timer_service> timers(std::in_place, reactor());
    std::vector<std::unique_ptr<descriptor>> sockets;
    std::vector<watch> inputs;
    bool ended = false;
    for (int i = 0; i < 3; ++i) {
      sockets.push_back(std::make_unique<descriptor>());
      inputs.emplace_back(*timers, sockets.back()->number(), readiness::readable, [&] {
        require(!ended, "the callback ran after the end of the service");
        point();
        require(!ended, "the callback ran while the service ended");
      });
    }
    seam::thread other("other", [&] {
      for (const auto& each : sockets) each->become(readiness::readable);
      inputs.pop_back();
    });
    for (std::uint64_t n = choose(60); n > 0; --n) point();
    timers->shut_down();
    ended = true;
    other.join();
    for (watch& each : inputs) require(!each.watching() && !each.modify(readiness::readable), "closed");
    const watch late(*timers, sockets[0]->number(), readiness::readable,
                     [] { require(false, "the callback of a closed watch ran"); });
    require(!late.watching(), "a watch of an ended service is open");
    timers.reset();
  });
}

TEST(Watch, AServiceThatIsEndedFromInsideACallbackBeginsNoOther) {
  explore_all([] {
    timer_service timers(reactor());
    descriptor one;
    descriptor two;
    int calls = 0;
    const auto end = [&] {
      ++calls;
      timers.shut_down();
    };
    const timer both(timers, 1ms, [&] {  // on the service's thread: both are ready at its next look
      one.become(readiness::readable);
      two.become(readiness::readable);
    });
    const watch first(timers, one.number(), readiness::readable, end);
    const watch second(timers, two.number(), readiness::readable, end);
    pass_time(5ms);
    settle();
    require(calls == 1, "the callback of a dropped watch ran");
  });
}

TEST(Watch, WhatTheSystemRefusesLeavesNothing) {
  explore(worlds, quiet, [] {
    timer_service timers(reactor());
    descriptor socket;
    int calls = 0;
    const watch input(timers, socket.number(), {readiness::readable, trigger::edge}, [&] { ++calls; });
    const auto captured = std::make_shared<int>(0);
    bool refused = false;
    try {
      const watch again(timers, socket.number(), readiness::readable, [captured] {});
    } catch (const std::system_error&) {
      refused = true;
    }
    require(refused && captured.use_count() == 1, "a second watch of one descriptor was accepted");
    socket.become(readiness::readable);
    settle();
    require(calls == 1, "the first watch does not work any more");
  });
}

/// On clocks that can be set, an alarm is among the descriptors.
TEST(Watch, OnAllClocks) {
  for (const service_clock clock : {service_clock::boottime, service_clock::wall}) {
    explore_all([clock] {
      service_options options = reactor();
      options.clock = clock;
      timer_service timers(std::move(options));
      descriptor socket;
      int told = 0;
      int fired = 0;
      const watch input(timers, socket.number(), readiness::readable, [&] {
        ++told;
        socket.become(readiness::none);
      });
      const timer t(timers, 10min, [&] { ++fired; });
      settle();
      socket.become(readiness::readable);
      settle();
      require(told == 1 && fired == 0, "another callback than the descriptor's ran");
      suspend(1h);
      pass_time(1ms);
      settle();
      require(told == 1 && fired == 1, "the timer did not fire after the descriptor");
    });
  }
}

TEST(Watch, ADroppedWakeUpIsFound) {
  const auto life = [] {
    timer_service timers(reactor());
    const timer far(timers, 1h, [] {});
    settle();
    const timer near(timers, 1ms, [](const firing& f) { require(f.lateness() < 1ms, "overslept"); });
    pass_time(2ms);
    require(!near.pending(), "overslept");
  };
  EXPECT_FALSE(first_failure(worlds, {}, life)) << "a world fails without the fault";
  EXPECT_TRUE(first_failure(worlds, faults{.drop_wake = 1}, life));
}

}  // namespace
}  // namespace foliot::simulation
