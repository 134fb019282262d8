// bucket-heaps, where a start moves a timer to the shard of the calling thread, under seeded schedules: the move
// against everything else that may happen to the timer at that moment.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <foliot/service.hpp>

#include "foliot_simulation/world.hpp"

namespace foliot::simulation {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t worlds = 500;

constexpr faults quiet{};
constexpr faults rough{.interrupts = true, .early_timeouts = true, .drift = duration::nanoseconds(2'000'000)};

service_options buckets() {
  service_options options;
  options.engine = "bucket-heaps";
  options.shards = 4;
  return options;
}

/// A timer that several threads move, and the record of its callbacks.
struct watched_timer {
  explicit watched_timer(timer_service& of)
      : timers(of), handle(timers, [this](const firing& now) {
          require(!running, "two callbacks of one timer overlap");
          running = true;
          require(now.now >= now.deadline, "early");
          point();
          ++fired;
          point();
          running = false;
        }) {}

  /// Resets the timer and counts the start that this reset ended. Any thread.
  void reset(duration delay) {
    const reset_result answer = handle.reset(delay);
    require(answer != reset_result::closed, "a reset was refused although the service has not ended");
    ++resets;
    superseded += answer == reset_result::superseded;
  }
  void stop() { stopped += handle.stop() == stop_result::stopped; }

  timer_service& timers;
  bool running = false;
  std::uint64_t resets = 0;
  std::uint64_t superseded = 0;
  std::uint64_t stopped = 0;
  std::uint64_t fired = 0;
  timer handle;
};

duration some_time(std::uint64_t bound) { return duration::nanoseconds(static_cast<std::int64_t>(choose(bound))); }

/// Each start of the timer has one outcome, and the service's counters say the same.
void require_one_outcome_for_each_start(const watched_timer& t, const timer_service& timers) {
  require(!t.handle.pending(), "the timer is still pending after its deadline");
  require(t.resets == t.superseded + t.stopped + t.fired, "a start has no outcome, or two");
  const service_counters now = timers.counters();
  require(now.pending == 0, "a timer is left");
  require(now.superseded == t.superseded && now.started == t.resets - t.superseded, "starts are counted once");
  require(now.stopped == t.stopped && now.fired == t.fired, "their ends are counted once");
}

TEST(Moves, ResetsFromThreeThreadsRace) {
  for (const faults& with : {quiet, rough}) {
    explore(worlds, with, [] {
      timer_service timers(buckets());
      watched_timer t(timers);
      const auto play = [&t] {
        for (int i = 0; i < 3; ++i) t.reset(some_time(2'000));
      };
      seam::thread first("first", play);
      seam::thread second("second", play);
      play();
      first.join();
      second.join();
      pass_time(1s);
      require_one_outcome_for_each_start(t, timers);
    });
  }
}

TEST(Moves, AResetAndAStopRace) {
  for (const faults& with : {quiet, rough}) {
    explore(worlds, with, [] {
      timer_service timers(buckets());
      watched_timer t(timers);
      t.reset(some_time(2'000));
      seam::thread stops("stops", [&t] {
        for (int i = 0; i < 3; ++i) t.stop();
      });
      seam::thread moves("moves", [&t] {
        for (int i = 0; i < 2; ++i) t.reset(some_time(2'000));
      });
      t.reset(some_time(2'000));
      stops.join();
      moves.join();
      pass_time(1s);
      require_one_outcome_for_each_start(t, timers);
    });
  }
}

/// While its callback runs, a timer that is reset stays with the thread that runs it.
TEST(Moves, AResetAndItsCallbackRace) {
  for (const faults& with : {quiet, rough}) {
    explore(worlds, with, [] {
      timer_service timers(buckets());
      watched_timer t(timers);
      t.reset(0ns);
      if (choose(2) == 0) pass_time(some_time(200));
      seam::thread moves("moves", [&t] { t.reset(0ns); });
      moves.join();
      seam::thread moves_again("moves again", [&t] { t.reset(0ns); });
      moves_again.join();
      pass_time(1s);
      require_one_outcome_for_each_start(t, timers);
    });
  }
}

/// The thread of the new shard sleeps past the deadline or for ever, or does not exist yet: the move wakes or makes it.
TEST(Moves, TheNewShardHearsOfIt) {
  explore(worlds, quiet, [] {
    timer_service timers(buckets());
    timer moved(timers, 1h, [](const firing& now) { require(now.lateness() < 10us, "a wake-up was lost"); });
    bool fired = false;
    seam::thread other("other", [&] {
      std::optional<timer> own;
      if (choose(3) != 0) own.emplace(timers, choose(2) == 0 ? duration(2h) : duration(20ms), [] {});
      pass_time(some_time(300));
      require(moved.reset(10ms) == reset_result::superseded, "it was pending");
      pass_time(15ms);
      fired = !moved.pending();
    });
    other.join();
    require(fired, "it has fired");
  });
}

/// The end of the handle leaves nothing behind, whichever shard has the timer by then.
TEST(Moves, TheHandleEndsAfterMoves) {
  for (const faults& with : {quiet, rough}) {
    explore(worlds, with, [] {
      const auto captured = std::make_shared<int>(0);
      std::optional<timer_service> timers(std::in_place, buckets());
      bool running = false;
      std::optional<timer> t(std::in_place, *timers, [&running, captured] {
        running = true;
        point();
        ++*captured;
        running = false;
      });
      const auto moves = [&t] {
        for (int i = 0; i < 2; ++i) t->reset(some_time(300));
      };
      seam::thread other("other", moves);
      moves();
      other.join();
      const bool service_first = choose(2) == 0;
      seam::thread ender("ender", [&] {
        if (service_first) timers.reset();
      });
      switch (choose(3)) {
        case 0: static_cast<void>(t->stop_and_wait()); break;
        case 1: t->detach(); break;
        default: t.reset();
      }
      ender.join();
      timers.reset();
      require(!running && captured.use_count() == 1, "the callback or its captures outlive the handle");
    });
  }
}

/// stop_and_wait() is final: later resets are refused, and no reset moves the timer to another shard.
TEST(Moves, AResetAndAStopAndWaitRace) {
  explore(worlds, quiet, [] {
    timer_service timers(buckets());
    bool running = false;
    timer t(timers, some_time(200), [&running] {
      running = true;
      point();
      running = false;
    });
    seam::thread moves("moves", [&t] { static_cast<void>(t.reset(some_time(200))); });
    static_cast<void>(t.stop_and_wait());
    require(!running, "the callback runs");
    const std::uint64_t fired = timers.counters().fired;
    moves.join();
    pass_time(1ms);
    require(!t.pending() && timers.counters().fired == fired, "it was started after its end");
    require(t.reset(0ns) == reset_result::closed, "a reset was accepted after the end");
  });
}

/// The end goes from shard to shard. A timer that moves meanwhile is dropped once, or not started.
TEST(Moves, ResetsAndTheEndOfTheServiceRace) {
  for (const bool drains : {false, true}) {
    explore(worlds, quiet, [drains] {
      timer_service timers(buckets());
      struct both {
        timer t;
        std::uint64_t starts = 0;
        std::uint64_t fired = 0;
      };
      std::array<both, 2> some;
      for (both& each : some) {
        each.t = timer(timers, [&each] { ++each.fired; });
        each.t.reset(1h);
        each.starts = 1;
      }
      const auto moves = [&some] {
        for (both& each : some) {
          const reset_result answer = each.t.reset(choose(2) == 0 ? duration(1h) : duration::nanoseconds(200));
          each.starts += answer == reset_result::idle || answer == reset_result::running;
          if (answer == reset_result::closed) require(!each.t.pending(), "it was found closed, and later pending");
        }
      };
      seam::thread first("first", moves);
      seam::thread second("second", moves);
      const std::size_t dropped = drains ? timers.drain(500ns) : timers.shut_down();
      first.join();
      second.join();
      std::uint64_t starts = 0;
      std::uint64_t fired = 0;
      for (const both& each : some) {
        require(!each.t.pending(), "the service has ended");
        starts += each.starts;
        fired += each.fired;
      }
      require(starts == fired + dropped, "a start has no outcome, or two");
    });
  }
}

/// A ticker is reset by another thread than the one that made it: it keeps to its new grid, and no tick is delivered
/// twice.
TEST(Moves, ATickerMovesWithItsNewGrid) {
  explore(worlds, quiet, [] {
    timer_service timers(buckets());
    bool running = false;
    std::uint64_t ticks = 0;
    ticker beat(timers, 1ms, [&](const firing& tick) {
      require(!running, "two ticks overlap");
      running = true;
      require(tick.now >= tick.deadline, "early");
      point();
      ticks += 1 + tick.skipped;
      running = false;
    });
    const auto restart = [&beat] { static_cast<void>(beat.reset(1ms)); };
    pass_time(some_time(2'000'000));
    seam::thread first("first", restart);
    seam::thread second("second", restart);
    first.join();
    second.join();
    pass_time(20ms);
    settle();
    beat.stop_and_wait();
    require(ticks >= 19 && ticks <= 22, "a tick is missing, or was delivered twice");
  });
}

/// The new shard's thread cannot be made: the timer stays pending in its old shard.
TEST(Moves, WithoutAThreadForTheNewShardItStays) {
  for (const std::uint64_t refused : {1U, 2U, 3U}) {
    explore(100, faults{.refuse_thread = refused}, [] {
      try {
        timer_service timers(buckets());
        bool fired = false;
        timer t(timers, 10ms, [&fired] { fired = true; });
        bool moved = false;
        seam::thread other("other", [&] {
          try {
            moved = t.reset(1h) == reset_result::superseded;
          } catch (const std::system_error&) {
            require(t.pending(), "a failed reset has stopped the timer");
          }
        });
        other.join();
        pass_time(20ms);
        require(fired != moved, "the timer fired at a deadline that it does not have");
        const service_counters now = timers.counters();
        require(now.started == 1 && now.superseded == (moved ? 1 : 0), "a failed reset was counted");
      } catch (const std::system_error&) {
        // The thread that could not be made was the first one, or the one that this test is about.
      }
    });
  }
}

/// A timer moves while its job is posted: its next start runs in that job or in one of its own, and no two run at once.
TEST(Moves, WithAnExecutorNoTwoCallbacksOverlap) {
  for (const faults& with : {quiet, rough}) {
    explore(worlds, with, [] {
      std::vector<posted_callback> jobs;
      bool end = false;
      service_options options = buckets();
      options.executor = [&jobs](posted_callback job) {
        point();
        jobs.push_back(std::move(job));
      };
      timer_service timers(std::move(options));
      watched_timer t(timers);
      const auto work = [&] {
        while (!end || !jobs.empty()) {
          if (jobs.empty()) {
            pass_time(2us);
            continue;
          }
          posted_callback job = std::move(jobs.back());
          jobs.pop_back();
          if (choose(8) != 0) job();
        }
      };
      std::vector<seam::thread> workers;
      for (int i = 0; i < 2; ++i) workers.emplace_back("worker", work);
      const auto moves = [&t] {
        for (int i = 0; i < 3; ++i) {
          t.reset(some_time(300));
          pass_time(some_time(300));
        }
      };
      seam::thread other("other", moves);
      moves();
      other.join();
      while (timers.counters().pending != 0) pass_time(20us);
      end = true;
      for (seam::thread& each : workers) each.join();
      const service_counters now = timers.counters();
      require(now.pending == 0, "a timer is left");
      require(t.resets == t.superseded + t.fired + now.dropped, "a start has no outcome, or two");
    });
  }
}

/// Counters are read while a timer moves: the timer is counted once, in either shard.
TEST(Moves, CountersAreOfOneMoment) {
  explore(worlds, quiet, [] {
    timer_service timers(buckets());
    timer t(timers, 1h, [] {});
    const auto moves = [&t] {
      for (int i = 0; i < 3; ++i) static_cast<void>(t.reset(1h));
    };
    seam::thread first("first", moves);
    seam::thread second("second", moves);
    for (int i = 0; i < 4; ++i) {
      const service_counters now = timers.counters();
      require(now.started == 1 && now.pending == 1 && now.stopped == 0, "it is counted once");
    }
    first.join();
    second.join();
  });
}

}  // namespace
}  // namespace foliot::simulation
