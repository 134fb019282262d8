// Starts, sleeps and watches that come after the end of a service: one answer for all of them. The timer is closed, it
// is not pending, nothing throws, and the statistics count the call.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "fixture.hpp"
#include "support/fork.hpp"
#include "watch_fixture.hpp"

namespace foliot::test {
namespace {

using namespace std::chrono_literals;

/// A call that would start something, and whether it answered that nothing was started.
struct late_start {
  std::string name;
  std::function<bool(timer_service&)> is_refused;
};

std::vector<late_start> late_starts() {
  const auto never = [] { ADD_FAILURE() << "a refused start fired"; };
  return {
      {"a timer with a duration", [never](timer_service& timers) { return !timer(timers, 0ns, never).pending(); }},
      {"a timer with a deadline",
       [never](timer_service& timers) { return !timer(timers, timers.now(), never).pending(); }},
      {"after_func", [never](timer_service& timers) { return !after_func(timers, 0ns, never).pending(); }},
      {"after_func, detached",
       [never](timer_service& timers) {
         after_func(timers, 0ns, never).detach();
         return true;
       }},
      {"a ticker", [never](timer_service& timers) { return !ticker(timers, 1ns, never).pending(); }},
      {"reset",
       [never](timer_service& timers) {
         timer idle(timers, never);
         return idle.reset(0ns) == reset_result::closed && !idle.pending() && idle.stop() == stop_result::idle;
       }},
      {"a sleep", [](timer_service& timers) { return !sleep_for(timers, 1h); }},
  };
}

class Refused : public engine_suite {
 protected:
  timer_service timers{options()};
  virtual_clock clock;
};

INSTANTIATE_TEST_SUITE_P(, Refused, every_engine(), engine_as_name);

TEST_P(Refused, AfterAShutDownAndADrain) {
  for (const bool drained : {false, true}) {
    for (const bool was_used : {false, true}) {
      timer_service ended(options());
      timer pending;
      if (was_used) pending = timer(ended, 1h, [] {});
      ASSERT_EQ(drained ? ended.drain(0ns) : ended.shut_down(), was_used ? 1u : 0u);
      std::uint64_t refused = 0;
      for (const late_start& each : late_starts()) {
        EXPECT_TRUE(each.is_refused(ended)) << each.name;
        EXPECT_EQ(ended.counters().refused, ++refused) << each.name;
      }
      EXPECT_EQ(pending.pending(), false);
      EXPECT_EQ(ended.counters().started, was_used ? 1u : 0u);
      EXPECT_EQ(ended.statistics().counters.refused, refused);
    }
  }
}

TEST_P(Refused, OnVirtualTime) {
  timer_service ended(clock, options());
  ended.shut_down();
  std::uint64_t refused = 0;
  for (const late_start& each : late_starts()) {
    EXPECT_TRUE(each.is_refused(ended)) << each.name;
    EXPECT_EQ(ended.counters().refused, ++refused) << each.name;
  }
  clock.advance(2h);
}

TEST_P(Refused, InTheChildOfAFork) {
  timer far(timers, 1h, [] {});
  expect_in_child([&] {
    bool fine = far.reset(2h) == reset_result::closed && timers.counters().refused == 1;
    std::uint64_t refused = 1;
    for (const late_start& each : late_starts()) {
      fine = fine && each.is_refused(timers) && timers.counters().refused == ++refused;
    }
    return fine;
  });
  EXPECT_TRUE(far.pending()) << "the service must go on in the parent";
  EXPECT_EQ(timers.counters().refused, 0u);
}

TEST_P(Refused, AResetAfterStopAndWaitCountsAndOneOfAPendingTimerDoesNot) {
  timer t(timers, 1h, [] {});
  EXPECT_EQ(t.reset(2h), reset_result::superseded);
  EXPECT_EQ(timers.counters().refused, 0u);
  t.stop_and_wait();
  EXPECT_EQ(t.reset(1h), reset_result::closed);
  EXPECT_EQ(timers.counters().refused, 1u);
}

TEST(RefusedWatch, AfterTheEndAndInTheChildOfAFork) {
  const connection pair;
  pair.write();
  const auto never = [] { ADD_FAILURE() << "a refused watch was called"; };
  const auto is_refused = [&](timer_service& timers) {
    const std::uint64_t before = timers.counters().refused;
    watch late(timers, pair.here(), readiness::readable, never);
    return !late.watching() && !late.modify(readiness::readable) && timers.counters().refused == before + 2;
  };
  for (const bool was_used : {false, true}) {
    timer_service timers(with_engine("epoll-heap"));
    timer pending;
    if (was_used) pending = timer(timers, 1h, [] {});
    expect_in_child([&] { return is_refused(timers); });
    timers.shut_down();
    EXPECT_TRUE(is_refused(timers));
  }
}

}  // namespace
}  // namespace foliot::test
