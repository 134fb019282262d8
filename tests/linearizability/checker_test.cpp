// The checker on histories that are written by hand, both linearizable and not.
#include "checker.hpp"

#include <gtest/gtest.h>

#include <utility>

#include <foliot/core/outcome.hpp>

namespace foliot::linearizability {
namespace {

constexpr instant at(std::int64_t nanoseconds) { return instant::from_nanoseconds(nanoseconds); }

/// Named as in the histories that the checker prints.
class Histories : public ::testing::Test {
 protected:
  void reset(moment begin, moment end, reset_result answer, std::int64_t deadline, std::size_t timer = 0) {
    add({verb::reset, timer, begin, end, static_cast<std::uint64_t>(answer), inside_, at(deadline), at(deadline)});
  }
  void stop(moment begin, moment end, stop_result answer, verb how = verb::stop) {
    add({how, 0, begin, end, static_cast<std::uint64_t>(answer), inside_});
  }
  void stop_and_wait(moment begin, moment end, stop_result answer) { stop(begin, end, answer, verb::stop_and_wait); }
  void destroy(moment begin, moment end) { add({verb::destroy, 0, begin, end, 0, inside_}); }
  void pending(moment begin, moment end, bool answer) { add({verb::pending, 0, begin, end, answer}); }
  void shut_down(moment begin, moment end, std::uint64_t dropped) {
    add({verb::shut_down, 0, begin, end, dropped, inside_});
  }
  void drain(moment begin, moment end, std::uint64_t dropped) { add({verb::drain, 0, begin, end, dropped}); }
  void fire(moment begin, moment end, std::int64_t deadline, std::size_t timer = 0) {
    add({verb::fire, timer, begin, end, 0, {}, at(deadline), at(deadline)});
  }
  void die(moment when) { add({verb::die, 0, when, when}); }
  /// The calls after this are made inside the callback.
  void inside() { inside_ = 0; }
  void outside() { inside_.reset(); }

  void second_timer(std::size_t shard) { seen_.shard_of.push_back(shard); }

  [[nodiscard]] bool linearizable() const { return !violation(seen_); }

  history seen_{{0}, {}};

 private:
  void add(operation one) { seen_.operations.push_back(one); }
  std::optional<std::size_t> inside_;
};

TEST_F(Histories, NothingHappened) { EXPECT_TRUE(linearizable()); }

TEST_F(Histories, AStartFires) {
  reset(1, 2, reset_result::idle, 100);
  fire(3, 4, 100);
  pending(5, 6, false);
  EXPECT_TRUE(linearizable());
}

TEST_F(Histories, CanaryAFireAfterStopped) {
  reset(1, 2, reset_result::idle, 100);
  stop(3, 4, stop_result::stopped);
  fire(5, 6, 100);
  EXPECT_FALSE(linearizable());
}

TEST_F(Histories, CanaryAFireBesideStopped) {
  reset(1, 2, reset_result::idle, 100);
  stop(3, 6, stop_result::stopped);
  fire(4, 5, 100);
  EXPECT_FALSE(linearizable()) << "neither order may be linearizable";
}

TEST_F(Histories, CanaryTwoFiresOfOneStart) {
  reset(1, 2, reset_result::idle, 100);
  fire(3, 4, 100);
  fire(5, 6, 100);
  EXPECT_FALSE(linearizable());
}

TEST_F(Histories, CanaryAFireBeforeItsStart) {
  fire(1, 2, 100);
  reset(3, 4, reset_result::idle, 100);
  EXPECT_FALSE(linearizable());
}

TEST_F(Histories, CanaryIdleForWhatFiresLater) {
  reset(1, 2, reset_result::idle, 100);
  stop(3, 4, stop_result::idle);
  fire(5, 6, 100);
  EXPECT_FALSE(linearizable());
}

TEST_F(Histories, CanaryALostStart) {
  reset(1, 2, reset_result::idle, 100);
  pending(3, 4, false);
  EXPECT_FALSE(linearizable());
}

TEST_F(Histories, AStopBesideACallbackHasThreeAnswers) {
  for (const stop_result answer : {stop_result::running, stop_result::idle}) {
    seen_.operations.clear();
    reset(1, 2, reset_result::idle, 100);
    fire(3, 5, 100);
    stop(4, 6, answer);
    EXPECT_TRUE(linearizable());
  }
}

TEST_F(Histories, CanaryIdleInTheMiddleOfACallback) {
  reset(1, 2, reset_result::idle, 100);
  fire(3, 6, 100);
  stop(4, 5, stop_result::idle);
  EXPECT_FALSE(linearizable());
}

TEST_F(Histories, RunningEvenAfterTheLastActOfTheCallback) {
  reset(1, 2, reset_result::idle, 100);
  fire(3, 4, 100);
  stop(5, 6, stop_result::running);
  stop(7, 8, stop_result::idle);
  EXPECT_TRUE(linearizable()) << "a stop may return running until the service has learnt that the callback has ended";
}

TEST_F(Histories, CanaryRunningAfterIdle) {
  reset(1, 2, reset_result::idle, 100);
  fire(3, 4, 100);
  stop(5, 6, stop_result::idle);
  stop(7, 8, stop_result::running);
  EXPECT_FALSE(linearizable());
}

TEST_F(Histories, OfTwoStopsOneFindsItStopped) {
  reset(1, 2, reset_result::idle, 100);
  stop(3, 6, stop_result::stopped);
  stop(4, 5, stop_result::idle);
  EXPECT_TRUE(linearizable());
}

TEST_F(Histories, CanaryTwoStopsOfOneStart) {
  reset(1, 2, reset_result::idle, 100);
  stop(3, 6, stop_result::stopped);
  stop(4, 5, stop_result::stopped);
  EXPECT_FALSE(linearizable());
}

TEST_F(Histories, OfTwoResetsOneSupersedesAndTheOtherFires) {
  reset(1, 4, reset_result::superseded, 100);
  reset(2, 3, reset_result::idle, 200);
  fire(5, 6, 100);
  EXPECT_TRUE(linearizable());
}

TEST_F(Histories, CanaryWhatWasSupersededFires) {
  reset(1, 4, reset_result::superseded, 100);
  reset(2, 3, reset_result::idle, 200);
  fire(5, 6, 200);
  EXPECT_FALSE(linearizable());
}

TEST_F(Histories, CanaryTwoResetsThatBothFoundItIdle) {
  reset(1, 4, reset_result::idle, 100);
  reset(2, 3, reset_result::idle, 200);
  EXPECT_FALSE(linearizable());
}

TEST_F(Histories, AResetInsideTheCallbackFindsItRunning) {
  reset(1, 2, reset_result::idle, 100);
  fire(3, 6, 100);
  inside();
  reset(4, 5, reset_result::running, 200);
  fire(7, 8, 200);
  EXPECT_TRUE(linearizable());
}

TEST_F(Histories, CanaryCallbacksOfATimerOverlap) {
  reset(1, 2, reset_result::idle, 100);
  fire(3, 8, 100);
  reset(4, 5, reset_result::running, 200);
  fire(6, 7, 200);
  EXPECT_FALSE(linearizable());
}

TEST_F(Histories, CallbacksOfTwoShardsMayOverlapAndOfOneMustNot) {
  for (const std::size_t shard : {1U, 0U}) {
    seen_ = {{0}, {}};
    second_timer(shard);
    reset(1, 2, reset_result::idle, 100);
    reset(3, 4, reset_result::idle, 200, 1);
    fire(5, 8, 100);
    fire(6, 7, 200, 1);
    EXPECT_EQ(linearizable(), shard == 1);
  }
}

TEST_F(Histories, StopAndWaitReturnsWhenTheClosureIsDead) {
  reset(1, 2, reset_result::idle, 100);
  stop_and_wait(3, 7, stop_result::running);
  fire(4, 5, 100);
  die(6);
  reset(8, 9, reset_result::closed, 200);
  EXPECT_TRUE(linearizable());
}

TEST_F(Histories, CanaryStopAndWaitThatDoesNotWait) {
  reset(1, 2, reset_result::idle, 100);
  fire(3, 6, 100);
  stop_and_wait(4, 5, stop_result::running);
  die(7);
  EXPECT_FALSE(linearizable());
}

TEST_F(Histories, CanaryAClosureThatOutlivesStopAndWait) {
  reset(1, 2, reset_result::idle, 100);
  stop_and_wait(3, 4, stop_result::stopped);
  die(5);
  EXPECT_FALSE(linearizable());
}

TEST_F(Histories, CanaryAClosureThatDiesUnderItsCallback) {
  reset(1, 2, reset_result::idle, 100);
  fire(3, 6, 100);
  stop_and_wait(4, 7, stop_result::running);
  die(5);
  EXPECT_FALSE(linearizable());
}

TEST_F(Histories, CanaryAClosureThatDiesWhileItsTimerIsOpen) {
  reset(1, 2, reset_result::idle, 100);
  fire(3, 4, 100);
  die(5);
  EXPECT_FALSE(linearizable());
}

TEST_F(Histories, CanaryAStartAfterStopAndWait) {
  stop_and_wait(1, 3, stop_result::idle);
  die(2);
  reset(4, 5, reset_result::idle, 100);
  EXPECT_FALSE(linearizable());
}

TEST_F(Histories, FromInsideItsCallbackStopAndWaitDoesNotWait) {
  reset(1, 2, reset_result::idle, 100);
  fire(3, 6, 100);
  inside();
  stop_and_wait(4, 5, stop_result::running);
  die(7);
  EXPECT_TRUE(linearizable());
}

TEST_F(Histories, DestroyWaitsToo) {
  reset(1, 2, reset_result::idle, 100);
  fire(3, 6, 100);
  destroy(4, 8);
  die(7);
  EXPECT_TRUE(linearizable());
}

TEST_F(Histories, CanaryDestroyThatDoesNotWait) {
  reset(1, 2, reset_result::idle, 100);
  fire(3, 6, 100);
  destroy(4, 5);
  die(7);
  EXPECT_FALSE(linearizable());
}

TEST_F(Histories, ShutDownDropsWhatIsPending) {
  second_timer(0);
  reset(1, 2, reset_result::idle, 100);
  reset(3, 4, reset_result::idle, 200, 1);
  shut_down(5, 7, 2);
  die(6);
  reset(8, 9, reset_result::closed, 300);
  stop(10, 11, stop_result::idle);
  EXPECT_TRUE(linearizable());
}

TEST_F(Histories, CanaryShutDownThatCountsWrong) {
  reset(1, 2, reset_result::idle, 100);
  shut_down(3, 4, 0);
  EXPECT_FALSE(linearizable());
}

TEST_F(Histories, CanaryWhatWasDroppedFires) {
  reset(1, 2, reset_result::idle, 100);
  shut_down(3, 4, 1);
  fire(5, 6, 100);
  EXPECT_FALSE(linearizable());
}

TEST_F(Histories, ShutDownWaitsForTheCallbackUnlessItIsTheCaller) {
  for (const bool from_inside : {true, false}) {
    seen_.operations.clear();
    reset(1, 2, reset_result::idle, 100);
    fire(3, 6, 100);
    if (from_inside) inside();
    shut_down(4, 5, 0);
    outside();
    EXPECT_EQ(linearizable(), from_inside);
  }
}

TEST_F(Histories, TwoShutDownsShareWhatTheyDrop) {
  second_timer(0);
  reset(1, 2, reset_result::idle, 100);
  reset(3, 4, reset_result::idle, 200, 1);
  shut_down(5, 8, 1);
  shut_down(6, 7, 1);
  EXPECT_TRUE(linearizable());
  seen_.operations.pop_back();
  shut_down(6, 7, 2);
  EXPECT_FALSE(linearizable());
}

TEST_F(Histories, WhileItDrainsWhatIsPendingMayBeResetAndNothingElseStarts) {
  second_timer(0);
  reset(1, 2, reset_result::idle, 100);
  drain(3, 10, 0);
  reset(4, 5, reset_result::superseded, 200);
  reset(6, 7, reset_result::closed, 300, 1);
  fire(8, 9, 200);
  EXPECT_TRUE(linearizable());
}

TEST_F(Histories, CanaryAStartAfterADrain) {
  drain(1, 2, 0);
  reset(3, 4, reset_result::idle, 100);
  EXPECT_FALSE(linearizable());
}

TEST_F(Histories, CanaryDrainThatRefusesTheResetOfAPendingTimer) {
  reset(1, 2, reset_result::idle, 100);
  drain(3, 10, 0);
  reset(4, 5, reset_result::closed, 200);
  pending(6, 7, true);
  fire(8, 9, 100);
  EXPECT_FALSE(linearizable());
}

TEST_F(Histories, AViolationIsToldInWords) {
  reset(1, 2, reset_result::idle, 100);
  stop(3, 4, stop_result::stopped);
  fire(5, 6, 100);
  EXPECT_EQ(violation(seen_),
            "no order of these explains their answers:\n"
            "  [1, 2] timer 0 reset for 100: idle\n"
            "  [3, 4] timer 0 stop: stopped\n"
            "  [5, 6] timer 0 fire for 100\n"
            "the longest order leaves\n"
            "  [5, 6] timer 0 fire for 100\n");
}

/// Many overlapping operations: without the memory of visited states the search would not end.
TEST_F(Histories, OperationsThatAllOverlap) {
  for (moment i = 0; i < 7; ++i) {
    reset(1 + i, 100 + i, i == 0 ? reset_result::idle : reset_result::superseded, static_cast<std::int64_t>(i));
  }
  for (moment i = 7; i < 13; ++i) stop(1 + i, 100 + i, i == 7 ? stop_result::stopped : stop_result::idle);
  EXPECT_TRUE(linearizable());
  stop(200, 201, stop_result::stopped);
  EXPECT_FALSE(linearizable());
}

}  // namespace
}  // namespace foliot::linearizability
