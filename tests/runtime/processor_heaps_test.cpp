// The peculiarities of processor_heaps: the entries that stops and resets leave in the heap, and the hazards that Go
// met, by the numbers of its issues.
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/death_tests.hpp"
#include "timers_fixture.hpp"

namespace foliot::runtime::detail {
namespace {

heap_timer& record_of(timer_entry& entry) {
  return *static_cast<heap_timer*>(timer_entry_access::record(entry).load(seam::relaxed));
}

class ProcessorHeaps : public testing::Test {
 protected:
  std::vector<std::unique_ptr<counted_timer>> started(int count, std::int64_t from) {
    std::vector<std::unique_ptr<counted_timer>> all;
    for (int i = 0; i < count; ++i) {
      all.push_back(std::make_unique<counted_timer>());
      all.back()->reset(timers, at(from + i));
    }
    return all;
  }

  processor_heaps timers{0};
};

TEST_F(ProcessorHeaps, AStopLeavesTheTimerWhereItStands) {
  auto all = started(10, 100);
  EXPECT_TRUE(all[5]->stop());
  EXPECT_EQ(timers.size(), 9u);
  EXPECT_EQ(timers.heap_size(), 10u);
  all[5].reset();  // it may be gone; its record stays
  EXPECT_EQ(broken_invariant(timers), "");
  run_all_due(timers, at(200));
  EXPECT_EQ(timers.heap_size(), 0u);
}

TEST_F(ProcessorHeaps, AStoppedTimerIsTakenBackByAReset) {
  auto all = started(10, 100);
  EXPECT_TRUE(all[5]->stop());
  EXPECT_FALSE(all[5]->reset(timers, at(50)));
  EXPECT_EQ(timers.heap_size(), 10u) << "the record and its place in the heap are used again";
  EXPECT_EQ(timers.size(), 10u);
  EXPECT_EQ(timers.first(), at(50));
  run_all_due(timers, at(50));
  EXPECT_EQ(all[5]->fired(), 1);
  EXPECT_EQ(all[0]->fired(), 0);
  timers.forget_all();
}

TEST_F(ProcessorHeaps, AResetToWhereATimerStandsLeavesItWaitingThere) {
  auto all = started(10, 100);
  counted_timer& one = *all[5];
  const auto status = [&one] { return record_of(one).status.seen(); };
  EXPECT_TRUE(one.reset(timers, at(105)));
  EXPECT_EQ(status(), timer_status::state::waiting);
  EXPECT_TRUE(one.stop());
  EXPECT_FALSE(one.reset(timers, at(105)));
  EXPECT_EQ(status(), timer_status::state::waiting);
  for (const std::int64_t elsewhere : {50, 500}) {
    EXPECT_TRUE(one.reset(timers, at(elsewhere)));
    EXPECT_EQ(broken_invariant(timers), "");
    EXPECT_TRUE(one.reset(timers, at(105)));
    EXPECT_EQ(status(), timer_status::state::waiting);
  }
  EXPECT_EQ(broken_invariant(timers), "");
  EXPECT_EQ(timers.size(), 10u);
  run_all_due(timers, at(104));
  EXPECT_EQ(one.fired(), 0);
  run_all_due(timers, at(105));
  EXPECT_EQ(one.fired(), 1);
  timers.forget_all();
}

TEST_F(ProcessorHeaps, TheHeadIsCleanedByWhoAddsOrGoesToSleep) {
  auto all = started(4, 100);
  EXPECT_TRUE(all[0]->stop());
  EXPECT_TRUE(all[1]->reset(timers, at(1'000)));
  EXPECT_EQ(timers.first(), at(100)) << "no round has repaired the bound";
  timers.refresh_first();
  EXPECT_EQ(timers.first(), at(102));
  EXPECT_EQ(timers.heap_size(), 3u);
  EXPECT_TRUE(all[2]->stop());
  counted_timer other;
  other.reset(timers, at(500));
  EXPECT_EQ(timers.heap_size(), 3u);
  EXPECT_EQ(timers.first(), at(103));
  timers.forget_all();
}

// Memory grew with stopped timeouts (Go's change 214299), also where no timer was ever due (215722).
TEST_F(ProcessorHeaps, DeletedTimersAreNoMoreThanAQuarter) {
  auto all = started(1'000, 100);
  std::size_t stopped = 0;
  for (auto& each : all) {
    EXPECT_TRUE(each->stop());
    ++stopped;
    ASSERT_LE(timers.heap_size() - timers.size(), std::max(timers.heap_size() / 4, processor_heaps::few_deleted));
    ASSERT_EQ(timers.size(), 1'000 - stopped);
  }
  EXPECT_LE(timers.heap_size(), processor_heaps::few_deleted);
}

// Issues 47329, 47762: a timer that was brought forward was forgotten, as the bound was cleared while others moved in
// the array.
TEST_F(ProcessorHeaps, NoneOfManyThatAreBroughtForwardIsForgotten) {
  auto all = started(500, 10'000);
  for (std::size_t i = 0; i < all.size(); i += 2) EXPECT_TRUE(all[i]->reset(timers, at(std::int64_t(500 - i))));
  for (std::size_t i = 1; i < all.size(); i += 4) EXPECT_TRUE(all[i]->stop());
  run_all_due(timers, at(250));
  EXPECT_EQ(broken_invariant(timers), "");
  for (std::size_t i = 0; i < all.size(); i += 2) EXPECT_EQ(all[i]->fired(), 500 - i <= 250 ? 1 : 0) << i;
  run_all_due(timers, at(500));
  for (std::size_t i = 0; i < all.size(); i += 2) EXPECT_EQ(all[i]->fired(), 1) << i;
  EXPECT_EQ(timers.size(), 125u);
  timers.forget_all();
}

// Issue 41699: a server that moved its timers back and forth did little else.
TEST_F(ProcessorHeaps, WhatIsBroughtForwardIsFiledWhenTheFirstOfItIsDue) {
  auto all = started(100, 10'000);
  EXPECT_TRUE(all[99]->reset(timers, at(5'000)));
  EXPECT_TRUE(all[98]->reset(timers, at(20'000)));
  EXPECT_TRUE(all[97]->stop());
  EXPECT_EQ(timers.first(), at(5'000));
  run_all_due(timers, at(4'999));
  EXPECT_EQ(timers.first(), at(5'000));
  EXPECT_EQ(timers.heap_size(), 100u) << "no timer was repaired";
  run_all_due(timers, at(5'000));
  EXPECT_EQ(all[99]->fired(), 1);
  EXPECT_EQ(timers.first(), at(10'000));
  EXPECT_EQ(timers.heap_size(), 98u);
  timers.forget_all();
}

// Issue 51654: a bound that was left on an empty heap kept a thread busy for ever.
TEST_F(ProcessorHeaps, AnEmptyHeapHasNoBound) {
  {
    counted_timer stopped;
    stopped.reset(timers, at(1'000));
    EXPECT_TRUE(stopped.reset(timers, at(10)));
    EXPECT_TRUE(stopped.stop());
  }
  EXPECT_EQ(timers.first(), at(10)) << "no round has repaired the bound";
  timers.refresh_first();
  EXPECT_TRUE(timers.first().is_never());

  counted_timer postpone;
  postpone.reset(timers, at(1'000));
  EXPECT_TRUE(postpone.reset(timers, at(10)));
  EXPECT_TRUE(postpone.reset(timers, at(2'000)));
  EXPECT_EQ(timers.first(), at(10));
  run_all_due(timers, at(10));
  EXPECT_EQ(timers.first(), at(2'000)) << "one look for nothing";
  EXPECT_TRUE(postpone.stop());
}

/// Nor one beside timers that never come: its worker would wake for nothing.
TEST_F(ProcessorHeaps, AStoppedTimerLeavesNoBoundBesideTimersThatNeverCome) {
  counted_timer never;
  never.reset(timers, instant::never());
  {
    counted_timer stopped;
    stopped.reset(timers, at(1'000));
    EXPECT_TRUE(stopped.reset(timers, at(10)));
    EXPECT_TRUE(stopped.stop());
  }
  timers.refresh_first();
  EXPECT_TRUE(timers.first().is_never());
  EXPECT_TRUE(never.stop());
}

// Issues 44868 and 45716: a timer that came to a processor that was going away never fired.
TEST_F(ProcessorHeaps, NoneStaysWhereAProcessorHasGone) {
  processor_heaps heir(1);
  counted_timer fired_there;
  fired_there.reset(timers, at(1));
  run_all_due(timers, at(1));
  counted_timer stopped_there;
  stopped_there.reset(timers, at(5));
  EXPECT_TRUE(stopped_there.stop());
  heir.take_all(timers);
  for (counted_timer* each : {&fired_there, &stopped_there}) {
    EXPECT_EQ(timers.reset(*each, at(10)), home_answer::moved);
    EXPECT_EQ(each->lives_at(), &heir);
    EXPECT_FALSE(each->reset(timers, at(10)));
  }
  EXPECT_EQ(timers.reset(fired_there, at(7)), home_answer::moved) << "the caller has to know where it is";
  EXPECT_EQ(heir.size(), 2u);
  EXPECT_EQ(timers.size(), 0u);
  EXPECT_EQ(timers.stop(fired_there), home_answer::was_pending)
      << "any heap may stop the timer, since a stop wakes no processor";
  run_all_due(heir, at(10));
  EXPECT_EQ(fired_there.fired(), 1);
  EXPECT_EQ(stopped_there.fired(), 1);
}

TEST_F(ProcessorHeaps, TheArrayIsGivenBack) {
  auto all = started(100'000, 100);
  EXPECT_GE(timers.room(), 100'000u);
  for (auto& each : all) EXPECT_TRUE(each->stop());
  EXPECT_LE(timers.room(), 2'048u);
}

constexpr duration period_of(std::int64_t nanoseconds) { return duration::nanoseconds(nanoseconds); }

TEST_F(ProcessorHeaps, ATimerWithAPeriodNeverLeavesTheHeap) {
  const auto others = started(20, 1'000);
  counted_timer periodic;
  EXPECT_FALSE(periodic.reset_every(timers, at(100), period_of(10)));
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(timers.first(), at(100 + i * 10));
    run_all_due(timers, at(100 + i * 10 - 1));
    EXPECT_EQ(periodic.fired(), i);
    run_all_due(timers, at(100 + i * 10));
    EXPECT_EQ(periodic.fired(), i + 1);
    EXPECT_EQ(timers.heap_size(), 21u);
    EXPECT_EQ(timers.size(), 21u);
    EXPECT_EQ(record_of(periodic).status.seen(), timer_status::state::waiting);
    EXPECT_EQ(broken_invariant(timers), "");
  }
  EXPECT_TRUE(periodic.stop());
  run_all_due(timers, at(999));
  EXPECT_EQ(periodic.fired(), 50);
  timers.forget_all();
}

TEST_F(ProcessorHeaps, ALateTimerWithAPeriodRunsOnceAndGoesOnOnItsGrid) {
  counted_timer periodic;
  periodic.reset_every(timers, at(100), period_of(10));
  run_all_due(timers, at(129));
  EXPECT_EQ(periodic.fired(), 1);
  EXPECT_EQ(timers.first(), at(130));
  run_all_due(timers, at(140));
  EXPECT_EQ(periodic.fired(), 2);
  EXPECT_EQ(timers.first(), at(150)) << "the tick that is due now has come; the next one is after now";
  run_all_due(timers, at(1'000'000'007));
  EXPECT_EQ(periodic.fired(), 3);
  EXPECT_EQ(timers.first(), at(1'000'000'010));
  EXPECT_TRUE(periodic.stop());
}

TEST_F(ProcessorHeaps, AResetGivesATimerAnotherPeriodOrNone) {
  counted_timer periodic;
  periodic.reset_every(timers, at(100), period_of(10));
  run_all_due(timers, at(100));
  EXPECT_TRUE(periodic.reset_every(timers, at(103), period_of(7))) << "it is pending from tick to tick";
  EXPECT_EQ(timers.first(), at(103));
  run_all_due(timers, at(103));
  EXPECT_EQ(timers.first(), at(110));
  EXPECT_TRUE(periodic.reset_every(timers, at(110), period_of(3))) << "to the deadline at which it is queued";
  run_all_due(timers, at(110));
  EXPECT_EQ(timers.first(), at(113));
  EXPECT_TRUE(periodic.stop());
  EXPECT_FALSE(periodic.reset_every(timers, at(200), period_of(5))) << "a stopped timer is not pending";
  run_all_due(timers, at(200));
  EXPECT_EQ(periodic.fired(), 4);
  EXPECT_TRUE(periodic.reset(timers, at(300))) << "without a period from now on";
  run_all_due(timers, at(299));
  EXPECT_EQ(periodic.fired(), 4);
  run_all_due(timers, at(300));
  EXPECT_EQ(periodic.fired(), 5);
  EXPECT_EQ(timers.heap_size(), 0u);
  EXPECT_FALSE(periodic.reset_every(timers, at(400), period_of(1))) << "a timer that has fired is not pending";
  run_all_due(timers, at(400));
  EXPECT_EQ(timers.first(), at(401));
  EXPECT_TRUE(periodic.stop());
}

TEST_F(ProcessorHeaps, ABeatPastTheEndOfTimeNeverComes) {
  const std::int64_t last = instant::latest().nanoseconds();
  for (const std::int64_t period : {std::int64_t{1}, std::int64_t{2}, std::int64_t{1} << 40, last, INT64_MAX}) {
    counted_timer periodic;
    periodic.reset_every(timers, at(last), period_of(period));
    run_all_due(timers, instant::latest());
    EXPECT_EQ(periodic.fired(), 1) << period;
    EXPECT_TRUE(timers.first().is_never());
    EXPECT_EQ(timers.size(), 1u) << "it waits for ever";
    EXPECT_TRUE(periodic.stop());
  }
  counted_timer from_the_beginning;
  from_the_beginning.reset_every(timers, instant::earliest(), period_of(INT64_MAX - 1));
  run_all_due(timers, at(0));
  EXPECT_TRUE(timers.first() > at(0));
  EXPECT_TRUE(from_the_beginning.stop());
}

TEST_F(ProcessorHeaps, ATimerWithAPeriodMovesWithItsProcessorsTimers) {
  processor_heaps heir(1);
  counted_timer periodic;
  periodic.reset_every(timers, at(100), period_of(10));
  run_all_due(timers, at(105));
  heir.take_all(timers);
  EXPECT_EQ(periodic.lives_at(), &heir);
  EXPECT_EQ(heir.first(), at(110));
  run_all_due(heir, at(110));
  EXPECT_EQ(heir.first(), at(120));
  EXPECT_EQ(periodic.fired(), 2);
  heir.forget_all();
  EXPECT_FALSE(periodic.stop()) << "the end of the runtime has stopped it";
}

// Go throws ("badTimer", "bad p") where it meets a state in a heap that no timer of a heap has; so does this, in every
// build.
TEST_F(ProcessorHeaps, ATimerInABadStateStopsTheProgram) {
  test::run_death_tests_in_new_processes();
  counted_timer one;
  one.reset(timers, at(10));
  timer_status& status = record_of(one).status;
  const auto force = [&status](timer_status::state to) {
    ASSERT_EQ(status.modify().what, timer_status::outcome::taken);
    status.give_back(to);
  };
  processor_heaps heir(1);
  using enum timer_status::state;
  for (const timer_status::state bad : {none, removed, running, removing, moving}) {
    const std::string message =
        std::string("processor_heaps.*state '") + timer_status::name(bad) + "'.*that of a timer in a heap";
    EXPECT_DEATH((force(bad), run_all_due(timers, at(10))), message);
    EXPECT_DEATH((force(bad), heir.take_all(timers)), message);
  }
  processor_heaps* const elsewhere = &heir;
  EXPECT_DEATH((record_of(one).home = elsewhere, run_all_due(timers, at(10))),
               "state 'running'.*whose home is the heap that it is in");
  EXPECT_DEATH((force(deleted), run_all_due(timers, at(10))), "state 'removing'.*counted as deleted");
  EXPECT_TRUE(one.stop()) << "nothing of that was here";
}

}  // namespace
}  // namespace foliot::runtime::detail
