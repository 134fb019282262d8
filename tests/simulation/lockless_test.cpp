// Stops and starts without the lock, under seeded schedules, where a deadline that comes again and again makes one
// state of a timer's word look like another.
#include <gtest/gtest.h>

#include <foliot/service.hpp>

#include "foliot_simulation/world.hpp"
#include "support/engines.hpp"

namespace foliot::simulation {
namespace {

using namespace std::chrono_literals;

#if defined(FOLIOT_SANITIZED)
constexpr std::uint64_t worlds = 1'000;  // for the memory; the schedules are for the others
#else
constexpr std::uint64_t worlds = 20'000;  // without its wake-up the first that oversleeps is number 10,700
#endif
/// Where time only moves when all are blocked, a timer that fires later than this was overslept.
constexpr duration overslept = duration::nanoseconds(10'000);

class Lockless : public test::engine_suite {};
INSTANTIATE_TEST_SUITE_P(, Lockless, ::testing::Values("foliot"), test::engine_as_name);

/// A start has seen that the timer, which was stopped, is filed early enough; before it says so the timer fires, and
/// is filed for later and stopped with the same word. Whoever starts it then must be heard, whether or not somebody
/// stops and starts it once more before it is put right.
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
      require(!t.pending(), "what was started has fired");
      const service_counters counted = timers.counters();
      require(counted.started == counted.fired + counted.stopped, "each start ends once");
    });
  }
}

}  // namespace
}  // namespace foliot::simulation
