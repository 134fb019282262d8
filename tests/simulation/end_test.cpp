// The end of a service under seeded schedules: which timers it drops, and which threads it wakes. A thread that nothing
// wakes is a deadlock, which the world reports.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include <foliot/service.hpp>

#include "foliot_simulation/world.hpp"
#include "support/engines.hpp"

namespace foliot::simulation {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t worlds = 200;
constexpr faults quiet{};

/// A service whose executor keeps its jobs. Threads of a world take turns, so that the list needs no lock.
class End : public test::engine_suite {
 protected:
  struct keeps_jobs {
    keeps_jobs() : timers(keeping(jobs)) {}

    static service_options keeping(std::vector<posted_callback>& jobs) {
      service_options chosen = options();
      chosen.shards = 1;
      chosen.executor.emplace([&jobs](posted_callback job) { jobs.push_back(std::move(job)); });
      return chosen;
    }
    void wait_for_jobs(std::size_t count) const {
      while (jobs.size() < count) pass_time(1ms);
    }
    /// Runs the kept jobs, or destroys them.
    void end_jobs(bool run) {
      std::vector<posted_callback> all = std::exchange(jobs, {});
      for (posted_callback& each : all) {
        if (run) each();
      }
    }

    std::vector<posted_callback> jobs{};
    timer_service timers;
  };
};

INSTANTIATE_TEST_SUITE_P(, End, test::every_exact_engine(), test::engine_as_name);

/// The job of the sleep's timer is run after the end, destroyed after the end, or kept.
TEST_P(End, OfTheServiceEndsASleepWhoseJobTheExecutorKeeps) {
  for (const int job_is : {0, 1, 2}) {
    explore(worlds, quiet, [&] {
      keeps_jobs s;
      bool whole = true;
      seam::thread sleeper("sleeps", [&] { whole = sleep_for(s.timers, 1ms); });
      s.wait_for_jobs(1);
      require(s.timers.shut_down() == 1, "the sleep's timer was pending");
      if (job_is != 2) s.end_jobs(job_is == 0);
      sleeper.join();
      require(!whole, "its timer has not fired");
      s.end_jobs(true);
    });
  }
}

TEST_P(End, OfTheJobEndsASleepThatItWasToEnd) {
  for (const bool run : {false, true}) {
    explore(worlds, quiet, [&] {
      keeps_jobs s;
      bool whole = !run;
      seam::thread sleeper("sleeps", [&] { whole = sleep_for(s.timers, 1ms); });
      s.wait_for_jobs(1);
      s.end_jobs(run);
      sleeper.join();
      require(whole == run, "sleep_for did not return whether its timer has fired");
    });
  }
}

TEST_P(End, OfTheJobEndsASleepWhileTheExecutorIsBeingCalled) {
  for (const bool run : {false, true}) {
    explore(worlds, quiet, [&] {
      service_options chosen = options();
      chosen.executor.emplace([run](posted_callback job) {
        if (run) job();
      });
      timer_service timers(std::move(chosen));
      require(sleep_for(timers, 1ms) == run, "sleep_for did not return whether its timer has fired");
    });
  }
}

/// One thread ends the service and destroys the captures of posted timers, a second one runs or destroys the jobs, and
/// a third one destroys a handle.
TEST_P(End, DestroysTheCapturesOfWhatIsPosted) {
  for (const bool run : {false, true}) {
    explore(worlds, quiet, [&] {
      keeps_jobs s;
      std::array<int, 3> fired{};
      std::array<std::weak_ptr<int>, 3> watch;
      std::array<timer, 3> held;
      for (std::size_t i = 0; i < held.size(); ++i) {
        auto captured = std::make_shared<int>(0);
        watch[i] = captured;
        held[i] = timer(s.timers, 1ms, [&fired, i, captured] { ++fired[i]; });
      }
      held[0].detach();
      s.wait_for_jobs(3);
      seam::thread executor("executor", [&] { s.end_jobs(run); });
      seam::thread destroyer("destroys a handle", [&] { held[1] = timer(); });
      const std::size_t dropped = s.timers.shut_down();
      // A job that was destroyed before the end has left its timer idle, with its callback.
      const bool ended = run ? fired[2] == 0 : dropped == 3;
      require(!ended || watch[2].expired(), "captures outlive the end");
      executor.join();
      destroyer.join();
      require(watch[0].expired() && watch[1].expired(), "captures outlive their job and their handle");
      const service_counters now = s.timers.counters();
      require(now.fired == static_cast<std::uint64_t>(fired[0] + fired[1] + fired[2]),
              "a callback is not counted as fired");
      require(now.started == now.stopped + now.fired + now.dropped && now.pending == 0, "each start has one outcome");
      require(held[2].reset(1ms) == reset_result::closed && held[2].stop() == stop_result::idle,
              "a timer of an ended service does something");
    });
  }
}

TEST_P(End, OfTheServiceEndsADrainThatWaitsForAJob) {
  explore(worlds, quiet, [&] {
    keeps_jobs s;
    timer t(s.timers, 1ms, [] {});
    s.wait_for_jobs(1);
    seam::thread other("shuts down", [&] {
      pass_time(100ms);
      require(s.timers.shut_down() == 1, "the posted timer was not dropped");
    });
    const instant begin = seam::monotonic_now();
    require(s.timers.drain(10s) <= 1, "the posted timer was not dropped");
    require(seam::monotonic_now() - begin < 1s, "the drain waits for a dropped timer");
    other.join();
  });
}

TEST_P(End, OfADrainComesInItsTimeWhereTheWallClockIsSetBack) {
  explore(worlds, quiet, [&] {
    service_options chosen = options();
    chosen.clock = service_clock::wall;
    timer_service timers(std::move(chosen));
    timer t(timers, 10h, [] {});
    seam::thread setter("sets the clock", [] {
      pass_time(50ms);
      step_wall_clock(-1h);
    });
    const instant begin = seam::monotonic_now();
    require(timers.drain(200ms) == 1, "the timer that is not due in time was not dropped");
    const duration took = seam::monotonic_now() - begin;
    require(took >= 200ms && took < 300ms, "the drain measures its limit by the wall clock");
    setter.join();
  });
}

/// The wall clock is set forward: a drain does not give up early when a timer fires.
TEST_P(End, OfADrainComesInItsTimeWhereTheWallClockIsSetForward) {
  explore(worlds, quiet, [&] {
    service_options chosen = options();
    chosen.clock = service_clock::wall;
    timer_service timers(std::move(chosen));
    timer t(timers, 10h, [] {});
    timer due(timers, 30min, [] {});
    seam::thread setter("sets the clock", [] {
      pass_time(50ms);
      step_wall_clock(1h);
    });
    const instant begin = seam::monotonic_now();
    require(timers.drain(200ms) == 1, "the timer that is not due in time was not dropped");
    require(seam::monotonic_now() - begin >= 200ms, "the drain measures its limit by the wall clock");
    setter.join();
  });
}

}  // namespace
}  // namespace foliot::simulation
