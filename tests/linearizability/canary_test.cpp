// The canaries: a service that is broken in one place must give histories that are not linearizable, or complaints.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "broken_service.hpp"
#include "checker.hpp"
#include "simulated.hpp"

namespace foliot::linearizability {
namespace {

using simulation::faults;

constexpr std::uint64_t worlds = 20'000;

class Canaries : public ::testing::Test {
 protected:
  /// The number of worlds until a failure was found.
  static std::optional<std::uint64_t> found(flaw broken, const setting& in, race around, const faults& with = {}) {
    present = broken;
    const auto seed = simulation::first_failure(worlds, with, [&] {
      const auto wrong = violation(play_one(around, in));
      simulation::require(!wrong, wrong.value_or(""));
    });
    present = flaw::none;
    return seed;
  }
  static std::optional<std::uint64_t> found(flaw broken, const std::string& engine, race around) {
    return found(broken, simulated(engine), around);
  }
};

TEST_F(Canaries, WithoutAFlawNothingIsFound) {
  for (const char* engine : {"foliot", "global-heap"}) {
    for (std::size_t around = 0; around < races; ++around) {
      for (std::uint64_t seed = 0; seed < 200; ++seed) {
        const auto wrong = simulation::run(seed, {}, [&] {
          const auto violated = violation(play_one(static_cast<race>(around), simulated(engine)));
          simulation::require(!violated, violated.value_or(""));
        });
        ASSERT_FALSE(wrong) << *wrong;
      }
    }
  }
}

TEST_F(Canaries, AClaimThatForgetsAPutOff) {
  EXPECT_TRUE(found(flaw::takes_forget_postponements, "foliot", race::reset_against_fire));
}

TEST_F(Canaries, AClaimThatForgetsAStop) {
  EXPECT_TRUE(found(flaw::takes_forget_stops, "foliot", race::stop_against_fire));
}

TEST_F(Canaries, AClaimThatIsNotAtomic) {
  EXPECT_TRUE(found(flaw::takes_are_not_atomic, "foliot", race::reset_against_fire));
}

TEST_F(Canaries, APutOffThatIsNotAtomic) {
  EXPECT_TRUE(found(flaw::postponing_is_not_atomic, "foliot", race::reset_against_fire));
}

TEST_F(Canaries, AWordThatStaysArmed) {
  EXPECT_TRUE(found(flaw::words_stay_as_they_are, "foliot", race::stop_against_reset));
}

TEST_F(Canaries, AStopThatComesSecond) {
  EXPECT_TRUE(found(flaw::stops_say_that_they_did, "foliot", race::stop_against_stop));
}

TEST_F(Canaries, AStartThatIsFiledTooLate) {
  // Histories do not record lateness; in a world where no thread stalls, no timer is late.
  const auto overslept = [](flaw broken) {
    present = broken;
    const auto seed = simulation::first_failure(1, {}, [] {
      using namespace std::chrono_literals;
      timer_service timers;
      duration late{};
      timer t(timers, 10ms, [&late](const firing& now) { late = now.lateness(); });
      simulation::require(t.stop() == stop_result::stopped, "the timer is not due yet");
      t.reset(1ms);
      simulation::require(sleep_for(timers, 20ms), "the service has not ended");
      simulation::require(late < 1ms, "the thread slept too long");
    });
    present = flaw::none;
    return seed.has_value();
  };
  EXPECT_FALSE(overslept(flaw::none));
  EXPECT_TRUE(overslept(flaw::starts_forget_where_it_lies));
}

TEST_F(Canaries, AStopThatLeavesTheTimerInTheQueue) {
  EXPECT_TRUE(found(flaw::stops_leave_it_in, "global-heap", race::stop_against_fire));
}

TEST_F(Canaries, AStopThatSaysIdle) {
  EXPECT_TRUE(found(flaw::stops_find_it_idle, "global-heap", race::stop_against_fire));
}

TEST_F(Canaries, AResetThatKeepsTheEarlierDeadline) {
  EXPECT_TRUE(found(flaw::resets_keep_the_earlier_deadline, "global-heap", race::reset_against_reset));
}

TEST_F(Canaries, ATimerThatFiresTwice) {
  EXPECT_TRUE(found(flaw::fires_one_twice, "global-heap", race::stop_against_fire));
}

TEST_F(Canaries, AStopAndWaitThatDoesNotWait) {
  setting in = simulated("global-heap");
  in.only_stops = true;
  EXPECT_TRUE(found(flaw::none, in, race::stop_and_wait_from_outside));
}

TEST_F(Canaries, AWakeUpThatIsDropped) {
  EXPECT_TRUE(found(flaw::none, simulated("global-heap"), race::reset_against_fire, faults{.drop_wake = 1}));
}

}  // namespace
}  // namespace foliot::linearizability
