// Services on clocks that a suspend or a user moves: timers that became due fire, once, and nothing else happens.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <foliot/service.hpp>

#include "foliot_simulation/world.hpp"
#include "support/engines.hpp"

namespace foliot::simulation {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t worlds = 50;
constexpr faults quiet{};
constexpr faults rough{.interrupts = true, .early_timeouts = true};

class Clocks : public test::engine_suite {
 protected:
  static service_options on(service_clock clock) {
    service_options chosen = options();
    chosen.clock = clock;
    return chosen;
  }
};

INSTANTIATE_TEST_SUITE_P(, Clocks, test::every_exact_engine(), test::engine_as_name);

/// The timers that fired, and the times of the service's clock.
struct record_of_firings {
  std::vector<firing> all{};
  auto note() {
    return [this](const firing& f) {
      require(f.now >= f.deadline, "early");
      all.push_back(f);
    };
  }
};

TEST_P(Clocks, OnBoottimeASuspendFiresWhatBecameDueOnce) {
  for (const faults& with : {quiet, rough}) {
    explore(worlds, with, [&] {
      timer_service timers(on(service_clock::boottime));
      record_of_firings fired;
      timer within(timers, 10min, fired.note());
      timer beyond(timers, 2h, fired.note());
      const instant start = timers.now();
      pass_time(1min);
      settle();
      suspend(1h);
      pass_time(1ms);
      settle();
      require(fired.all.size() == 1, "another timer than the due one fired, or none");
      require(fired.all[0].deadline - start < 10min + 1s, "the deadline has changed");
      require(beyond.pending(), "the later timer is not pending");
      pass_time(59min + 1s);
      settle();
      require(fired.all.size() == 2, "the later timer has not fired");
      require(fired.all[1].lateness() < 2s, "the timer was late by the clock that counts suspend");
    });
  }
}

TEST_P(Clocks, OnTheMonotonicClockASuspendIsNoTime) {
  explore(worlds, quiet, [&] {
    timer_service timers(on(service_clock::monotonic));
    record_of_firings fired;
    timer t(timers, 10min, fired.note());
    suspend(1h);
    pass_time(9min);
    settle();
    require(fired.all.empty(), "a timer fired although a minute awake is left");
    pass_time(1min + 1s);
    settle();
    require(fired.all.size() == 1, "the timer did not fire after that minute");
  });
}

TEST_P(Clocks, AWallClockSetForwardFiresWhatBecameDueOnce) {
  for (const faults& with : {quiet, rough}) {
    explore(worlds, with, [&] {
      timer_service timers(on(service_clock::wall));
      record_of_firings fired;
      timer within(timers, 10min, fired.note());
      timer beyond(timers, 2h, fired.note());
      ticker beat(timers, 7min, fired.note());
      pass_time(1s);
      settle();
      step_wall_clock(1h);
      pass_time(1ms);
      settle();
      require(fired.all.size() == 2, "the timer and the ticker did not fire once each");
      require(fired.all[0].skipped + fired.all[1].skipped == 7, "the missed ticks were miscounted");
      require(beyond.pending() && beat.pending(), "the later timer or the ticker is not pending");
    });
  }
}

TEST_P(Clocks, AWallClockSetBackFiresNothingUntilTheTimeComesAgain) {
  for (const faults& with : {quiet, rough}) {
    explore(worlds, with, [&] {
      timer_service timers(on(service_clock::wall));
      record_of_firings fired;
      timer t(timers, 10min, fired.note());
      pass_time(9min);
      settle();
      step_wall_clock(-1h);
      timer soon(timers, 5min, fired.note());  // by the clock as it is now
      pass_time(30min);
      settle();
      require(fired.all.size() == 1 && !soon.pending(), "another timer fired than the one started after the step");
      require(t.pending(), "the older timer is not pending");
      pass_time(31min + 1s);
      settle();
      require(fired.all.size() == 2 && !t.pending(), "the older timer has not fired");
    });
  }
}

/// The clock goes back between two looks of the thread: no timer fires early, and no tick is counted twice.
TEST_P(Clocks, AWallClockSetBackWhileATickerFires) {
  explore(worlds * 4, quiet, [&] {
    timer_service timers(on(service_clock::wall));
    record_of_firings fired;
    ticker beat(timers, 1us, fired.note());
    seam::thread other("sets the clock", [&] {
      for (int i = 0; i < 20; ++i) {
        step_wall_clock(3us);  // a tick is due
        for (std::uint64_t n = choose(30); n > 0; --n) point();
        step_wall_clock(-3us);  // that tick is not due any more
        pass_time(duration::nanoseconds(static_cast<std::int64_t>(choose(1'500))));
      }
    });
    other.join();
    pass_time(100us);
    settle();
    beat.stop_and_wait();
    std::uint64_t skipped = 0;
    for (const firing& each : fired.all) skipped += each.skipped;
    require(skipped < 200, "more ticks were counted as skipped than have passed");
    for (std::size_t i = 1; i < fired.all.size(); ++i) {
      require(fired.all[i].deadline > fired.all[i - 1].deadline, "a tick was delivered twice");
    }
  });
}

/// A thread that spins just before a deadline does not spin for an hour after the clock was set back.
TEST_P(Clocks, APreciseThreadSleepsAgainWhenTheWallClockIsSetBack) {
  explore(3, quiet, [&] {
    service_options precise = on(service_clock::wall);
    precise.precise = true;
    timer_service timers(std::move(precise));
    record_of_firings fired;
    timer t(timers, 1ms, fired.note());
    pass_time(duration::nanoseconds(static_cast<std::int64_t>(choose(1'000'000))));
    step_wall_clock(-1h);
    pass_time(59min);
    settle();
    require(fired.all.empty(), "a timer fired before the clock showed its deadline again");
    pass_time(2min);
    settle();
    require(fired.all.size() == 1, "the timer has not fired");
  });
}

/// A start that becomes the earliest wakes the sleeping thread on these clocks too.
TEST_P(Clocks, WhatBecomesTheEarliestIsHeard) {
  for (const service_clock clock : {service_clock::boottime, service_clock::wall}) {
    for (const faults& with : {quiet, rough}) {
      explore(worlds, with, [&] {
        timer_service timers(on(clock));
        record_of_firings fired;
        timer far(timers, 1h, fired.note());
        if (choose(2) == 0) settle();
        timer near(timers, duration::nanoseconds(static_cast<std::int64_t>(choose(1'000'000))), fired.note());
        pass_time(2ms);
        settle();
        require(fired.all.size() == 1, "the near timer has not fired");
      });
    }
  }
}

}  // namespace
}  // namespace foliot::simulation
