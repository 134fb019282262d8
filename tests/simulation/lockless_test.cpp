// Stops and starts without the lock, under seeded schedules. A deadline that is used repeatedly makes different states
// of a timer have the same word.
#include <gtest/gtest.h>

#include <array>
#include <utility>

#include <foliot/service.hpp>

#include "foliot_simulation/world.hpp"
#include "support/engines.hpp"

namespace foliot::simulation {
namespace {

using namespace std::chrono_literals;

#if defined(FOLIOT_SANITIZED)
constexpr std::uint64_t worlds = 1'000;  // finds errors of memory; the other builds find errors of schedules
#else
constexpr std::uint64_t worlds = 20'000;  // without the wake-up world 10,700 is the first to oversleep
#endif
/// Where time only moves when all are blocked, a timer that fires later than this was overslept.
constexpr duration overslept = duration::nanoseconds(10'000);

class Lockless : public test::engine_suite {};
INSTANTIATE_TEST_SUITE_P(, Lockless, ::testing::Values("foliot"), test::engine_as_name);

/// A start has seen that the timer, which was stopped, is queued early enough; before that start returns, the timer
/// fires, and is queued for later and stopped with the same word. A start must then take effect, whether or not another
/// thread stops and starts it once more before the first start has repaired the queue.
TEST_P(Lockless, AStartOfATimerThatIsFiledForLaterMeanwhile) {
  for (const bool once_more : {false, true}) {
    explore(worlds, {}, [&] {
      timer_service timers(options());
      const instant begin = timers.now();
      int fired = 0;
      timer t(timers, [&](const firing& f) {
        ++fired;
        require(f.lateness() < overslept || f.deadline == begin, "overslept");
      });
      t.reset_at(begin + 10ms);
      t.reset_at(begin + 30ms);
      t.stop();
      seam::thread starts("starts", [&] { t.reset_at(begin + 20ms); });
      seam::thread files("files it for later", [&] {
        t.reset_at(begin);
        for (int looks = 0; looks < 40 && fired == 0; ++looks) point();
        t.reset_at(begin + 30ms);
        t.stop();
        if (once_more) t.reset_at(begin + 25ms);
      });
      starts.join();
      files.join();
      pass_time(40ms);
      require(!t.pending(), "a started timer has not fired");
      const service_counters counted = timers.counters();
      require(counted.started == counted.fired + counted.stopped, "each start ends once");
    });
  }
}

/// Two threads start a timer that was stopped, both for the same deadline, while the service begins to drain. If a
/// start or a reset was accepted, the timer fires, because the drain waits long enough; if all were refused, it does
/// not.
TEST_P(Lockless, AStartAndAResetToTheSameDeadlineAgainstADrain) {
  for (const std::size_t shards : {std::size_t{1}, std::size_t{2}}) {
    explore(worlds / 4, {}, [&] {
      service_options chosen = options();
      chosen.shards = shards;
      timer_service timers(std::move(chosen));
      const instant begin = timers.now();
      int fired = 0;
      timer t(timers, [&] { ++fired; });
      timer other(timers, [] {});  // keeps the drain waiting after the other timer has ended
      seam::thread elsewhere("has another shard", [&] { other = timer(timers, 5ms, [] {}); });
      elsewhere.join();
      t.reset_at(begin + 10ms);
      require(t.stop() == stop_result::stopped, "it was pending");
      std::array<reset_result, 2> answers{};
      const auto start = [&](std::size_t which) { answers[which] = t.reset_at(begin + 20ms); };
      seam::thread one("starts", [&] { start(0); });
      seam::thread two("resets", [&] { start(1); });
      const std::size_t dropped = timers.drain(1h);
      one.join();
      two.join();
      require(dropped == 0, "a drain with a limit of an hour dropped a timer that is due in 20 ms");
      const bool accepted = answers[0] != reset_result::closed || answers[1] != reset_result::closed;
      require(fired == (accepted ? 1 : 0), accepted ? "an accepted start did not fire" : "a refused start fired");
      require(answers[0] != answers[1] || answers[0] != reset_result::idle, "one start found it stopped");
      const service_counters counted = timers.counters();
      require(counted.started == counted.fired + counted.stopped, "each start ends once");
      require(counted.pending == 0 && counted.dropped == 0, "a timer is left");
    });
  }
}

/// A start without the lock is counted, and finds its timer closed: meanwhile the drain has counted one pending timer,
/// and counts again.
TEST_P(Lockless, AStartOfATimerThatIsClosedAgainstADrain) {
  explore(worlds, {}, [&] {
    service_options chosen = options();
    chosen.shards = 1;
    timer_service timers(std::move(chosen));
    const instant begin = timers.now();
    timer t(timers, [] {});
    timer u(timers, [] {});
    t.reset_at(begin + 2h);
    u.reset_at(begin + 2h);
    require(t.stop() == stop_result::stopped && u.stop() == stop_result::stopped, "they were pending");
    seam::thread one("starts", [&] { t.reset_at(begin + 3h); });
    seam::thread two("closes", [&] { t.stop_and_wait(); });
    const std::size_t dropped = timers.drain(1h);
    const instant end = timers.now();
    one.join();
    two.join();
    require(dropped == 0, "a drain dropped a timer that was closed");
    require(end < begin + 1h, "a drain with nothing pending was not notified");
  });
}

}  // namespace
}  // namespace foliot::simulation
