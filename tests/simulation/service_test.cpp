// The protocol of every exact engine under seeded schedules, on the monotonic clock with its own thread: the lost
// wake-up hazards, and the contract as oracle: never early, exactly one outcome, stopped never fires,
// no timer is forgotten.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <foliot/core/sync/note.hpp>
#include <foliot/service.hpp>

#include "foliot_simulation/world.hpp"
#include "support/engines.hpp"

namespace foliot::simulation {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t worlds = 1500;

class Engine : public test::engine_suite {};

INSTANTIATE_TEST_SUITE_P(, Engine, test::every_exact_engine(), test::engine_as_name);

constexpr faults quiet{};
constexpr faults interrupted{.interrupts = true};
constexpr faults rough{.interrupts = true, .early_timeouts = true, .drift = duration::nanoseconds(2'000'000)};

/// Where time only moves when all are blocked, a timer that fires later than this was overslept.
constexpr duration overslept = duration::nanoseconds(10'000);

/// H1: the thread has computed how long it sleeps, and an earlier timer arrives. Two threads start
/// timers in falling order, and each start must wake the thread in time.
TEST_P(Engine, AnEarlierTimerIsHeardWhereverTheThreadIs) {
  for (const faults& with : {quiet, interrupted}) {
    explore(worlds, with, [&] {
      timer_service timers(options());
      std::vector<timer> many;
      many.reserve(6);
      int fired = 0;
      const auto arm = [&](int first) {
        for (int i = 0; i < 3; ++i) {
          many.emplace_back(timers, 10ms - 2ms * i - 1ms * first, [&](const firing& f) {
            ++fired;
            require(f.lateness() >= duration::zero(), "early");
            require(f.lateness() < overslept, "overslept: a wake-up was lost");
          });
        }
      };
      seam::thread other("other", [&] { arm(1); });
      other.join();
      arm(0);
      pass_time(20ms);
      require(fired == 6, "a timer has not fired");
    });
  }
}

/// A thread that an earlier start wakes finds no timer due, and sleeps until that timer is; a thread that sleeps until
/// a deadline finds a due timer.
TEST_P(Engine, WakeUpsAreCountedByWhetherSomethingWasDue) {
  explore(worlds, quiet, [&] {
    timer_service timers(options());
    const timer far(timers, 1h, [] {});
    pass_time(1ms);  // the thread sleeps
    const timer near(timers, 10ms, [] {});
    const timer no_earlier(timers, 20ms, [] {});
    pass_time(15ms);
    const service_counters one_fired = timers.counters();
    require(one_fired.fired == 1 && one_fired.wakes_with_work == 1,
            "one deadline caused another number of wake-ups with work");
    require(one_fired.wakes_without_work == one_fired.wake_ups, "a wake-up without work was not an early one");
    require(one_fired.wake_ups <= 1, "a start with a later deadline woke the thread");
    pass_time(15ms);
    require(timers.counters().wakes_with_work == 2, "the next deadline caused another number of wake-ups with work");
  });
}

/// The same with starts from several threads at once, on timers of their own, moving both ways.
TEST_P(Engine, ResetsFromManyThreadsAreAllHeard) {
  for (const faults& with : {quiet, interrupted}) {
    explore(worlds, with, [&] {
      timer_service timers(options());
      struct beat {
        timer t;
        instant deadline = instant::never();
        int fired = 0;
      };
      std::array<beat, 3> beats;
      for (beat& b : beats) {
        b.t = timer(timers, [&b](const firing& f) {
          ++b.fired;
          require(f.deadline == b.deadline, "the deadline is the latest one");
          require(f.now >= b.deadline, "early");
          require(f.lateness() < overslept, "overslept: a wake-up was lost");
        });
      }
      std::vector<seam::thread> threads;
      for (beat& b : beats) {
        threads.emplace_back("resets", [&timers, &b] {
          for (int i = 0; i < 4; ++i) {
            b.deadline = timers.now() + 1ms * static_cast<std::int64_t>(1 + choose(20));
            b.t.reset_at(b.deadline);
            if (choose(2) == 0) pass_time(duration::nanoseconds(static_cast<std::int64_t>(choose(500'000))));
          }
        });
      }
      for (seam::thread& each : threads) each.join();
      pass_time(50ms);
      for (const beat& b : beats) require(b.fired >= 1 && !b.t.pending(), "it has fired");
    });
  }
}

/// Starts, stops and resets by two threads on shared timers, in worlds where waits are interrupted, time
/// jumps and deadlines pass early: each start has exactly one outcome.
TEST_P(Engine, EachStartHasExactlyOneOutcome) {
  for (const faults& with : {quiet, rough}) {
    explore(worlds, with, [&] {
      timer_service timers(options());
      std::uint64_t fired = 0;
      std::uint64_t started = 0;
      std::uint64_t taken_back = 0;
      std::array<timer, 2> shared;
      for (timer& t : shared) {
        t = timer(timers, [&](const firing& f) {
          ++fired;
          require(f.now >= f.deadline, "early");
        });
      }
      const auto play = [&] {
        for (int i = 0; i < 5; ++i) {
          timer& t = shared[choose(2)];
          if (choose(3) == 0) {
            taken_back += t.stop() == stop_result::stopped;
          } else {
            ++started;
            taken_back +=
                t.reset(duration::nanoseconds(static_cast<std::int64_t>(choose(3'000)))) == reset_result::superseded;
          }
        }
      };
      seam::thread other("other", play);
      play();
      other.join();
      pass_time(1s);
      require(started == fired + taken_back, "a start has no outcome, or two");
      require(timers.counters().pending == 0, "a timer is left");
    });
  }
}

/// Contract 4: whichever thread wins, after stop_and_wait no callback runs and the captures are destroyed.
TEST_P(Engine, StopAndWaitAgainstFire) {
  for (const faults& with : {quiet, rough}) {
    explore(worlds, with, [&] {
      timer_service timers(options());
      struct slow_to_die {  // another thread may look while the capture is destroyed
        slow_to_die() = default;
        slow_to_die(slow_to_die&&) noexcept {}
        ~slow_to_die() { point(); }
      };
      const auto captured = std::make_shared<int>(0);
      bool running = false;
      timer t(timers, duration::nanoseconds(static_cast<std::int64_t>(choose(200))),
              [&running, captured, slow = slow_to_die()] {
                running = true;
                point();
                ++*captured;
                running = false;
              });
      if (choose(2) == 0) pass_time(duration::nanoseconds(static_cast<std::int64_t>(choose(200))));
      const auto end = [&] {
        const stop_result answer = t.stop_and_wait();
        require(!running, "the callback runs");
        require(captured.use_count() == 1, "the captures outlive stop_and_wait");
        return answer;
      };
      stop_result theirs{};
      seam::thread other("other", [&] { theirs = end(); });
      const stop_result mine = end();
      other.join();
      const bool stopped = mine == stop_result::stopped || theirs == stop_result::stopped;
      require(*captured == (stopped ? 0 : 1), "the answers contradict the number of calls");
      if (stopped)
        require(mine == stop_result::idle || theirs == stop_result::idle, "both threads have stopped the timer");
    });
  }
}

TEST_P(Engine, DestroyAgainstFireAndShutDown) {
  for (const faults& with : {quiet, rough}) {
    explore(worlds, with, [&] {
      auto timers = std::make_unique<timer_service>(options());
      auto captured = std::make_shared<int>(0);
      const std::weak_ptr<int> watch = captured;
      std::optional<timer> t(std::in_place, *timers, duration::nanoseconds(static_cast<std::int64_t>(choose(100))),
                             [captured] { point(); });
      timer(*timers, duration::nanoseconds(static_cast<std::int64_t>(choose(100))), [captured] { point(); }).detach();
      captured.reset();
      seam::thread destroyer("destroyer", [&] { t.reset(); });
      timers.reset();
      destroyer.join();
      require(watch.expired(), "a closure was leaked");
    });
  }
}

/// While one timer after the other is dropped, none that has been found closed is found pending after that.
TEST_P(Engine, TheEndComesOnceForEachTimer) {
  explore(worlds, quiet, [&] {
    timer_service timers(options());
    struct slow_to_die {
      slow_to_die() = default;
      slow_to_die(slow_to_die&&) noexcept {}
      ~slow_to_die() { point(); }
    };
    std::vector<timer> both;
    for (int i = 0; i < 2; ++i) both.emplace_back(timers, 1h, [slow = slow_to_die()] {});
    std::size_t dropped = 0;
    seam::thread ender("ender", [&] { dropped = timers.shut_down(); });
    std::size_t stopped = 0;
    for (timer& t : both) {
      const bool closed = t.reset(1ms) == reset_result::closed;
      const bool pending = t.pending();
      const bool taken_back = t.stop() == stop_result::stopped;
      require(!closed || (!pending && !taken_back), "a timer was found closed, and later pending");
      stopped += taken_back;
    }
    ender.join();
    require(dropped + stopped == 2, "each start has one outcome");
  });
}

TEST_P(Engine, ShutDownFromInsideACallback) {
  explore(worlds, quiet, [&] {
    auto timers = std::make_unique<timer_service>(options());
    note done;
    timer t(*timers, 1us, [&] {
      timers.reset();
      done.wake();
    });
    done.sleep_until(instant::never());
    require(t.reset(1us) == reset_result::closed, "the service is closed");
    t = timer();
    pass_time(1s);  // the thread, let go of, comes to its end
  });
}

/// On a virtual clock: another thread that ends the service waits for the running callback.
TEST_P(Engine, ShutDownWaitsForTheCallbackOfWhoeverAdvances) {
  explore(worlds, quiet, [&] {
    virtual_clock clock;
    timer_service timers(clock, options());
    bool running = false;
    timer t(timers, 1ms, [&] {
      running = true;
      point();
      point();
      running = false;
    });
    seam::thread ender("ender", [&] {
      timers.shut_down();
      require(!running, "the callback runs after shut_down has returned");
    });
    clock.advance(1ms);
    ender.join();
  });
}

/// Advances of several threads add up, in any order.
TEST_P(Engine, AdvancesOfSeveralThreadsAddUp) {
  explore(worlds, quiet, [&] {
    virtual_clock clock;
    timer_service timers(clock, options());
    int fired = 0;
    timer t(timers, 15s, [&] { ++fired; });
    seam::thread other("other", [&] { clock.advance(10s); });
    clock.advance(10s);
    other.join();
    require(clock.now() == instant{} + 20s, "a part of the time was lost");
    require(fired == 1, "it has fired");
  });
}

TEST_P(Engine, SleepersAllWakeAndNeverEarly) {
  for (const faults& with : {quiet, rough}) {
    explore(worlds, with, [&] {
      timer_service timers(options());
      std::vector<seam::thread> sleepers;
      for (int i = 0; i < 3; ++i) {
        sleepers.emplace_back("sleeper", [&] {
          const instant until = timers.now() + duration::nanoseconds(static_cast<std::int64_t>(choose(5'000)));
          require(sleep_until(timers, until), "slept the whole time");
          require(timers.now() >= until, "early");
        });
      }
      for (seam::thread& each : sleepers) each.join();
    });
  }
}

TEST_P(Engine, TickersKeepTheirGridUnderAnySchedule) {
  for (const faults& with : {quiet, rough}) {
    explore(worlds, with, [&] {
      timer_service timers(options());
      const instant start = timers.now();
      instant last = start;
      std::uint64_t ticks = 0;
      ticker beat(timers, 1ms, [&](const firing& tick) {
        require(tick.now >= tick.deadline, "early");
        require((tick.deadline - last).count() % 1'000'000 == 0 || ticks == 0, "off the grid");
        last = tick.deadline;
        ticks += 1 + tick.skipped;
      });
      pass_time(20ms);
      settle();  // the thread has caught up, and sleeps
      require(ticks >= 20, "a tick is missing");
      beat.stop_and_wait();
    });
  }
}

/// A thread that spins the last stretch notices an earlier start meanwhile, and fires no timer early.
TEST_P(Engine, APreciseThreadIsNeverEarlyAndHearsWhatBecomesTheEarliest) {
  for (const faults& with : {faults{.drift = 5us}, rough}) {
    explore(20, with, [&] {
      service_options precise = options();
      precise.precise = true;
      timer_service timers(std::move(precise));
      int fired = 0;
      const auto count = [&](const firing& f) {
        ++fired;
        require(f.now >= f.deadline, "early");
      };
      timer far(timers, choose(2) == 0 ? duration(300us) : duration(1h), count);
      pass_time(duration::nanoseconds(static_cast<std::int64_t>(choose(300'000))));
      timer near(timers, duration::nanoseconds(static_cast<std::int64_t>(choose(20'000))), count);
      pass_time(10ms);
      require(!near.pending(), "a timer was overslept");
      require(fired == (far.pending() ? 1 : 2), "each has fired once, if its time has come");
    });
  }
}

/// Only a start or a reset that becomes the earliest wakes the thread, and only if the thread would otherwise wake too
/// late.
TEST_P(Engine, OnlyWhatBecomesTheEarliestWakesTheThread) {
  const std::uint64_t woken = GetParam() == "goim" ? 0 : 1;  // goim sets its bell instead
  explore(200, quiet, [&] {
    timer_service timers(options());
    std::vector<timer> keep;
    keep.reserve(10);
    const auto wakes = [&](auto&& action) {
      settle();  // the thread sleeps now
      const std::uint64_t before = timers.counters().wake_ups;
      action();
      return timers.counters().wake_ups - before;
    };
    const auto start = [&](duration delay) { return wakes([&] { keep.emplace_back(timers, delay, [] {}); }); };
    start(3h);  // makes the thread
    require(start(1h) == woken, "earlier than all: woken");
    require(start(2h) == 0, "later than the earliest: not");
    require(start(duration::forever()) == 0, "never: not");
    require(wakes([&] { keep[1].reset(90min); }) == 0, "later than it was: not");
    require(wakes([&] { keep[1].reset(45min); }) == woken, "earlier than all: woken");
    require(wakes([&] { keep[1].stop(); }) == 0, "a stop: never");
    require(start(50min) == 0, "the thread looks at 45 min anyway: not");
    require(wakes([&] { keep.clear(); }) == 0, "destruction: never");
    pass_time(1h);  // it has looked, found nothing, and sleeps for good
    require(start(duration::forever()) == 0, "never: not, even when nothing else is pending");
    require(start(1h) == woken, "the first one pending: woken");
  });
}

TEST_P(Engine, IdleMeansNoWaits) {
  explore(200, quiet, [&] {
    timer_service timers(options());
    timer once(timers, 1us, [] {});
    timer far(timers, 1h, [] {});
    pass_time(1ms);
    settle();
    const instant before = seam::monotonic_now();
    pass_time(30min);
    // Each look at the clock costs time here: if the thread had run in between, more time would have passed.
    require(seam::monotonic_now() - before < 30min + 100ns, "a thread ran while no timer was due");
  });
}

TEST_P(Engine, AThreadThatCannotBeMadeIsReportedAndNothingIsArmed) {
  explore(50, faults{.refuse_thread = 1}, [&] {
    timer_service timers(options());
    int fired = 0;
    timer t(timers, [&] { ++fired; });
    bool refused = false;
    try {
      t.reset(1ms);
    } catch (const std::system_error&) {
      refused = true;
    }
    require(refused, "the start did not throw");
    require(!t.pending() && timers.counters() == service_counters{}, "a refused start has left a trace");
    t.reset(1ms);  // the system has threads again
    pass_time(2ms);
    require(fired == 1, "the next start works");
  });
}

}  // namespace
}  // namespace foliot::simulation
