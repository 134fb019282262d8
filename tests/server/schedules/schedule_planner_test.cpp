// What a schedule makes, and when, and what becomes of the rest: each case on its own.
#include "server/schedules/schedule_planner.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "schedule_world.hpp"

namespace foliot::program {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using outcome = occurrence_outcome;
using reason = occurrence_reason;

TEST(SchedulePlanner, MakesEachInstantWhenItComes) {
  schedule_world world(plan_of_rule("0 9 * * *", R"("zone":"Europe/Berlin")"), time_at("2026-10-23T12:00:00Z"));
  EXPECT_EQ(world.due(), time_at("2026-10-24T07:00:00Z"));
  world.go_to("2026-10-26T12:00:00Z");
  EXPECT_THAT(world.log(), ElementsAre("regular 2026-10-24T07:00:00Z", "regular 2026-10-25T08:00:00Z",
                                       "regular 2026-10-26T08:00:00Z"));
  EXPECT_EQ(world.made().back().when.abbreviation, "CET");
  EXPECT_EQ(world.made().back().due, time_at("2026-10-26T08:00:00Z"));
  EXPECT_EQ(world.state().next->at, second_at("2026-10-27T08:00:00Z"));
  EXPECT_THAT(world.faults(), IsEmpty());
}

TEST(SchedulePlanner, ANewScheduleStartsNowAndNotInThePast) {
  schedule_world world(plan_of_rule("0 * * * *", R"("starts":"2020-01-01T00:00:00Z","missed":"all")"),
                       time_at("2026-11-30T09:00:00Z"));
  EXPECT_THAT(world.log(), IsEmpty());
  EXPECT_EQ(world.due(), time_at("2026-11-30T10:00:00Z"));
}

TEST(SchedulePlanner, JitterDelaysTheJobAndNotTheDecision) {
  schedule_world world(plan_of_rule("* * * * *", R"("jitter":"10m")"), time_at("2026-11-30T09:00:00Z"));
  world.go_to("2026-11-30T09:30:00Z");
  ASSERT_EQ(world.made().size(), 30u);
  bool is_delayed = false;
  for (const planned_occurrence& each : world.made()) {
    EXPECT_EQ(each.due, each.name.at + world.table().delay_of(each.name.at));
    EXPECT_EQ(each.reason, reason::regular);
    is_delayed = is_delayed || each.due > each.name.at;
  }
  EXPECT_TRUE(is_delayed);
  EXPECT_THAT(world.faults(), IsEmpty());
}

TEST(SchedulePlanner, JitterGoesByTheTubeAndTheName) {
  const schedule_plan plan = plan_of_rule("0 9 * * *", R"("jitter":"7d")");
  const auto one = plan.table_in({}, "mail", "a");
  const auto same = plan.table_in({}, "mail", "a");
  const auto other = plan.table_in({}, "mail", "b");
  const auto instant = second_at("2026-11-30T09:00:00Z");
  EXPECT_EQ(one->delay_of(instant), same->delay_of(instant));
  EXPECT_NE(one->delay_of(instant), other->delay_of(instant));
}

TEST(SchedulePlanner, WhatIsLessThanTheGraceLateIsRegular) {
  schedule_world world(plan_of_rule("0 * * * *", R"("missed":"none")"), time_at("2026-11-30T09:30:00Z"));
  world.turn("2026-11-30T10:01:00Z");
  EXPECT_THAT(world.log(), ElementsAre("regular 2026-11-30T10:00:00Z"));
  world.turn("2026-11-30T11:01:00.001Z");
  EXPECT_EQ(world.made().size(), 1u);
  EXPECT_EQ(world.count_of(outcome::skipped_missed), 1u);
  EXPECT_THAT(world.faults(), IsEmpty());
}

TEST(SchedulePlanner, OfMissedOnesTheLastIsMadeLate) {
  schedule_world world(plan_of_rule("0 * * * *"), time_at("2026-11-30T09:30:00Z"));
  world.turn("2026-11-30T14:30:00Z");
  EXPECT_THAT(world.log(), ElementsAre("late 2026-11-30T14:00:00Z"));
  EXPECT_EQ(world.count_of(outcome::skipped_missed), 4u);
  EXPECT_EQ(world.made().back().due, time_at("2026-11-30T14:30:00Z"));
}

TEST(SchedulePlanner, TheLastMissedOneIsMadeAlsoWhenItTakesManyTurns) {
  schedule_world world(plan_of_rule("* * * * *"), time_at("2026-11-30T09:00:00Z"));
  world.bounds = {.most_made = 100, .most_steps = 7};
  EXPECT_GT(world.turn("2026-11-30T12:00:30Z"), 20);
  EXPECT_THAT(world.log(), ElementsAre("late 2026-11-30T11:59:00Z", "regular 2026-11-30T12:00:00Z"));
  EXPECT_EQ(world.count_of(outcome::skipped_missed), 178u);
  EXPECT_THAT(world.faults(), IsEmpty());
}

TEST(SchedulePlanner, WhatBecomesLateWhileItCatchesUpIsAnotherStretch) {
  schedule_world world(plan_of_rule("* * * * *"), time_at("2026-11-30T09:00:00Z"));
  world.bounds = {.most_made = 100, .most_steps = 100};
  EXPECT_FALSE(world.turn_once(time_at("2026-11-30T12:00:30Z")));
  world.turn("2026-11-30T12:10:30Z");
  EXPECT_THAT(world.log(),
              ElementsAre("late 2026-11-30T11:59:00Z", "late 2026-11-30T12:09:00Z", "regular 2026-11-30T12:10:00Z"));
  EXPECT_THAT(world.faults(), IsEmpty());
}

TEST(SchedulePlanner, OfAllMissedOnesTheLatestAreMadeUpToTheLimit) {
  schedule_world world(plan_of_rule("* * * * *", R"("missed":"all","missed_limit":250)"),
                       time_at("2026-11-30T09:00:00Z"));
  EXPECT_GE(world.turn("2026-12-01T09:00:30Z"), 3);
  ASSERT_EQ(world.made().size(), 251u);
  EXPECT_EQ(world.log().front(), "late 2026-12-01T04:50:00Z");
  EXPECT_EQ(world.log()[249], "late 2026-12-01T08:59:00Z");
  EXPECT_EQ(world.log()[250], "regular 2026-12-01T09:00:00Z");
  EXPECT_EQ(world.count_of(outcome::skipped_limit), 1440u - 251u);
  EXPECT_THAT(world.faults(), IsEmpty());
}

TEST(SchedulePlanner, AYearOfMinutesIsCountedTurnByTurn) {
  schedule_world world(plan_of_rule("* * * * *", R"("missed_window":"30d")"), time_at("2025-11-30T09:00:00Z"));
  EXPECT_GE(world.turn("2026-11-30T09:00:30Z"), 50);
  EXPECT_THAT(world.log(), ElementsAre("late 2026-11-30T08:59:00Z", "regular 2026-11-30T09:00:00Z"));
  EXPECT_EQ(world.state().counters.decided, 365u * 1440u);
  EXPECT_EQ(world.count_of(outcome::expired_by_window), 335u * 1440u);
  EXPECT_THAT(world.faults(), IsEmpty());
}

TEST(SchedulePlanner, LaterThanTheDeadlineNothingIsMade) {
  schedule_world world(plan_of_rule("0 * * * *", R"("missed":"all","deadline":"2h")"), time_at("2026-11-30T09:30:00Z"));
  world.turn("2026-11-30T14:30:00Z");
  EXPECT_THAT(world.log(), ElementsAre("late 2026-11-30T13:00:00Z", "late 2026-11-30T14:00:00Z"));
  EXPECT_EQ(world.count_of(outcome::expired_by_deadline), 3u);
  EXPECT_THAT(world.faults(), IsEmpty());
}

TEST(SchedulePlanner, ADeadlineMayBeShorterThanTheGrace) {
  schedule_world world(plan_of_rule("0 * * * *", R"("deadline":10)"), time_at("2026-11-30T09:30:00Z"));
  world.turn("2026-11-30T10:00:10Z");
  world.turn("2026-11-30T11:00:11Z");
  EXPECT_THAT(world.log(), ElementsAre("regular 2026-11-30T10:00:00Z"));
  EXPECT_EQ(world.count_of(outcome::expired_by_deadline), 1u);
}

// Cases of others' reports that are about more than times (../shared/reference/cron-cases.tsv).

TEST(SchedulePlanner, AFirstOccurrenceIsMissedToo) {  // C196
  schedule_world world(plan_of_rule("0 0 1 1 *"), time_at("2025-12-31T23:50:00Z"));
  world.turn("2026-01-01T06:00:00Z");
  EXPECT_THAT(world.log(), ElementsAre("late 2026-01-01T00:00:00Z")) << "the cursor begins with the schedule";
  EXPECT_THAT(world.faults(), IsEmpty());
}

TEST(SchedulePlanner, AnInstantThatNobodyIsThereForIsMadeByTheNext) {  // C202
  schedule_world world(plan_of_rule("0 10 * * *"), time_at("2026-01-01T09:59:57Z"));
  world.turn("2026-01-01T10:00:01Z");
  world.turn("2026-01-01T10:00:02Z");
  EXPECT_THAT(world.log(), ElementsAre("regular 2026-01-01T10:00:00Z"));
  EXPECT_THAT(world.faults(), IsEmpty());
}

TEST(SchedulePlanner, AClockThatGoesBackRepeatsNothing) {  // C204
  schedule_world world(plan_of_rule("30 18 * * *"), time_at("2026-01-01T12:00:00Z"));
  world.go_to("2026-01-01T18:31:00Z");
  world.turn("2026-01-01T16:31:00Z");
  EXPECT_EQ(world.due(), time_at("2026-01-02T18:30:00Z"));
  world.turn("2026-01-01T18:30:00Z");
  world.turn("2026-01-01T18:31:00Z");
  world.go_to("2026-01-02T19:00:00Z");
  EXPECT_THAT(world.log(), ElementsAre("regular 2026-01-01T18:30:00Z", "regular 2026-01-02T18:30:00Z"));
  EXPECT_THAT(world.faults(), IsEmpty());
}

/// An occurrence is decided at its instant, and its job waits for the jitter. So an hour whose job would come at 09:55
/// is missed from 09:01 on; and that it is made late takes nothing from the next one.
TEST(SchedulePlanner, AMissedOneWithJitterDoesNotConsumeTheNext) {  // C215
  schedule_world world(plan_of_rule("@hourly", R"("jitter":"1h","missed":"all")"), time_at("2026-01-01T08:30:00Z"));
  const jobs::utc_time back = time_at("2026-01-01T10:05:00Z");
  world.turn(back);
  world.go_to("2026-01-01T11:00:30Z");
  EXPECT_THAT(world.log(),
              ElementsAre("late 2026-01-01T09:00:00Z", "late 2026-01-01T10:00:00Z", "regular 2026-01-01T11:00:00Z"));
  for (const planned_occurrence& each : world.made()) {
    const jobs::utc_time delayed = each.name.at + world.table().delay_of(each.name.at);
    EXPECT_EQ(each.due, std::max(delayed, each.reason == reason::late ? back : delayed));
  }
  EXPECT_THAT(world.faults(), IsEmpty());
}

TEST(SchedulePlanner, PausedTimeIsNotMissed) {
  schedule_world world(plan_of_rule("0 * * * *", R"("missed":"all")"), time_at("2026-11-30T08:30:00Z"));
  world.turn("2026-11-30T09:00:00Z");
  ASSERT_TRUE(pause_schedule(world.changed_state(), time_at("2026-11-30T09:30:00Z"), "anna", "repair", {}));
  world.turn("2026-11-30T09:30:00Z");
  EXPECT_EQ(world.state().pause_note, "repair");
  world.go_to("2026-11-30T13:29:00Z");
  EXPECT_TRUE(resume_schedule(world.changed_state(), time_at("2026-11-30T13:30:00Z")));
  EXPECT_FALSE(resume_schedule(world.changed_state(), time_at("2026-11-30T13:30:00Z")));
  world.turn("2026-11-30T13:30:00Z");
  EXPECT_EQ(world.count_of(outcome::skipped_paused), 4u);
  EXPECT_THAT(world.state().pauses, IsEmpty());
  world.go_to("2026-11-30T14:00:00Z");
  EXPECT_THAT(world.log(), ElementsAre("regular 2026-11-30T09:00:00Z", "regular 2026-11-30T14:00:00Z"));
  EXPECT_THAT(world.faults(), IsEmpty());
}

TEST(SchedulePlanner, WhatWasDueBeforeAPauseIsMade) {
  schedule_world world(plan_of_rule("0 * * * *"), time_at("2026-11-30T08:30:00Z"));
  ASSERT_TRUE(pause_schedule(world.changed_state(), time_at("2026-11-30T09:00:30Z"), "", "", {}));
  world.turn("2026-11-30T09:00:31Z");
  EXPECT_THAT(world.log(), ElementsAre("regular 2026-11-30T09:00:00Z"));
  // The last missed one is the last that was not paused.
  world.turn("2026-11-30T12:30:00Z");
  EXPECT_EQ(world.made().size(), 1u);
  schedule_world other(plan_of_rule("0 * * * *"), time_at("2026-11-30T08:30:00Z"));
  ASSERT_TRUE(pause_schedule(other.changed_state(), time_at("2026-11-30T10:30:00Z"), "", "", {}));
  other.turn("2026-11-30T12:30:00Z");
  EXPECT_THAT(other.log(), ElementsAre("late 2026-11-30T10:00:00Z"));
  EXPECT_EQ(other.count_of(outcome::skipped_paused), 2u);
}

TEST(SchedulePlanner, APauseEndsByItself) {
  schedule_world world(plan_of_rule("0 * * * *"), time_at("2026-11-30T08:30:00Z"));
  ASSERT_TRUE(
      pause_schedule(world.changed_state(), time_at("2026-11-30T08:40:00Z"), "", "", time_at("2026-11-30T10:00:00Z")));
  world.turn("2026-11-30T08:40:00Z");
  EXPECT_EQ(world.due(), time_at("2026-11-30T10:00:00Z"));
  world.go_to("2026-11-30T11:30:00Z");
  EXPECT_THAT(world.log(), ElementsAre("regular 2026-11-30T10:00:00Z", "regular 2026-11-30T11:00:00Z"));
  EXPECT_EQ(world.count_of(outcome::skipped_paused), 1u);
}

TEST(SchedulePlanner, ALongPauseIsCountedByTheDay) {
  schedule_world world(plan_of_rule("* * * * *"), time_at("2026-11-01T00:00:00Z"));
  ASSERT_TRUE(pause_schedule(world.changed_state(), time_at("2026-11-01T00:00:00Z"), "", "", {}));
  world.turn("2026-11-01T00:00:00Z");
  EXPECT_EQ(world.due(), time_at("2026-11-02T00:00:00Z"));
  world.go_to("2026-11-11T00:00:00Z");
  EXPECT_EQ(world.count_of(outcome::skipped_paused), 14'400u);
}

TEST(SchedulePlanner, PausesOneAfterTheOther) {
  schedule_world world(plan_of_rule("0 * * * *", R"("missed":"all")"), time_at("2026-11-30T08:30:00Z"));
  for (int hour = 9; hour < 9 + static_cast<int>(schedule_state::most_pauses); ++hour) {
    ASSERT_TRUE(
        pause_schedule(world.changed_state(), time_at(fmt::format("2026-11-30T{:02}:50:00Z", hour)), "", "", {}));
    ASSERT_TRUE(resume_schedule(world.changed_state(), time_at(fmt::format("2026-11-30T{:02}:10:00Z", hour + 1))));
  }
  const auto wrong = pause_schedule(world.changed_state(), time_at("2026-11-30T20:00:00Z"), "", "", {});
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().detail, HasSubstr("ask again in a moment"));
  world.turn("2026-11-30T20:00:30Z");
  // 9:00 was before them, and 18:00, 19:00 and 20:00 are behind; the others were in one each.
  EXPECT_THAT(world.log(), ElementsAre("late 2026-11-30T09:00:00Z", "late 2026-11-30T18:00:00Z",
                                       "late 2026-11-30T19:00:00Z", "regular 2026-11-30T20:00:00Z"));
  EXPECT_EQ(world.count_of(outcome::skipped_paused), 8u);
  EXPECT_THAT(world.faults(), IsEmpty());
}

TEST(SchedulePlanner, SkipsExactlyOne) {
  schedule_world world(plan_of_rule("0 * * * *"), time_at("2026-11-30T08:30:00Z"));
  const auto first = skip_occurrence(world.plan(), world.table(), world.changed_state(), world.now(), {});
  ASSERT_TRUE(first);
  EXPECT_EQ(first->at, second_at("2026-11-30T09:00:00Z"));
  const auto second = skip_occurrence(world.plan(), world.table(), world.changed_state(), world.now(), {});
  EXPECT_EQ(second->at, second_at("2026-11-30T10:00:00Z"));
  const auto other =
      skip_occurrence(world.plan(), world.table(), world.changed_state(), world.now(), time_at("2026-11-30T12:00:00Z"));
  EXPECT_EQ(other->at, second_at("2026-11-30T12:00:00Z"));
  const auto wrong =
      skip_occurrence(world.plan(), world.table(), world.changed_state(), world.now(), time_at("2026-11-30T12:30:00Z"));
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().pointer, "/at");
  EXPECT_THAT(wrong.error().detail, HasSubstr("the next is 2026-11-30T09:00:00Z"));
  EXPECT_FALSE(skip_occurrence(world.plan(), world.table(), world.changed_state(), world.now(),
                               time_at("2026-11-30T08:00:00Z")));
  world.go_to("2026-11-30T13:00:00Z");
  EXPECT_THAT(world.log(), ElementsAre("regular 2026-11-30T11:00:00Z", "regular 2026-11-30T13:00:00Z"));
  EXPECT_EQ(world.count_of(outcome::skipped_by_request), 3u);
  EXPECT_THAT(world.state().skips, IsEmpty());
}

TEST(SchedulePlanner, ASkipTakesOneOfTwoPassesOfAnOverlap) {
  schedule_world world(plan_of_rule("30 2 * * *", R"("zone":"Europe/Berlin","overlap":"both")"),
                       time_at("2026-10-24T12:00:00Z"));
  const auto skipped = skip_occurrence(world.plan(), world.table(), world.changed_state(), world.now(), {});
  EXPECT_EQ(skipped->at, second_at("2026-10-25T00:30:00Z"));
  world.go_to("2026-10-25T12:00:00Z");
  EXPECT_THAT(world.log(), ElementsAre("regular 2026-10-25T01:30:00Z"));
  EXPECT_EQ(world.count_of(outcome::skipped_by_request), 1u);
}

TEST(SchedulePlanner, SkipsAreBounded) {
  schedule_world world(plan_of_rule("* * * * *"), time_at("2026-11-30T08:30:00Z"));
  for (std::size_t i = 0; i < schedule_state::most_skips; ++i)
    ASSERT_TRUE(skip_occurrence(world.plan(), world.table(), world.changed_state(), world.now(), {}));
  EXPECT_FALSE(skip_occurrence(world.plan(), world.table(), world.changed_state(), world.now(), {}));
  world.go_to("2026-11-30T09:10:00Z");
  EXPECT_EQ(world.count_of(outcome::skipped_by_request), schedule_state::most_skips);
  EXPECT_EQ(world.made().size(), 40u - schedule_state::most_skips);
}

TEST(SchedulePlanner, RunsByHandHaveNamesOfTheirOwn) {
  schedule_world world(plan_of_rule("0 * * * *"), time_at("2026-11-30T08:30:00Z"));
  const auto first = run_by_hand(world.changed_state(), time_at("2026-11-30T09:00:00.5Z"));
  const auto second = run_by_hand(world.changed_state(), time_at("2026-11-30T09:00:00.6Z"));
  ASSERT_TRUE(first && second);
  world.turn("2026-11-30T09:00:00.7Z");
  EXPECT_THAT(world.log(), ElementsAre("by_hand 2026-11-30T09:00:00Z", "by_hand 2026-11-30T09:00:00Z",
                                       "regular 2026-11-30T09:00:00Z"));
  EXPECT_EQ(key_of_occurrence("nightly", *second, 0x1F), "nightly@2026-11-30T09:00:00Z+2.000000000000001f");
  EXPECT_EQ(key_of_occurrence("nightly", {first->at, 0}, 0x1F), "nightly@2026-11-30T09:00:00Z.000000000000001f");
  EXPECT_EQ(world.made().front().when.nominal, world.made().back().when.nominal);
  EXPECT_THAT(world.faults(), IsEmpty());
}

TEST(SchedulePlanner, RunsByHandAreBoundedAndWaitWhereAnotherOneLives) {
  schedule_world world(plan_of_rule("0 0 1 1 *", R"("busy":"skip")"), time_at("2026-11-30T08:30:00Z"));
  for (std::size_t i = 0; i < schedule_state::most_by_hand; ++i)
    ASSERT_TRUE(run_by_hand(world.changed_state(), world.now()));
  EXPECT_FALSE(run_by_hand(world.changed_state(), world.now()));
  world.turn("2026-11-30T08:30:01Z");
  EXPECT_EQ(world.made().size(), 1u);
  EXPECT_EQ(world.due(), time_at("2026-11-30T08:30:02Z"));
  world.set_all(living_fact::at_work);
  world.turn("2026-11-30T08:30:02Z");
  EXPECT_EQ(world.due(), time_at("2026-11-30T08:30:04Z"));
  world.go_to("2026-11-30T08:40:00Z");
  EXPECT_EQ(world.state().look_after, 60u);
  world.finish_all();
  world.turn(*world.due());
  EXPECT_EQ(world.made().size(), 2u);
  EXPECT_EQ(world.count_of(outcome::ended), 1u);
  EXPECT_EQ(world.state().look_after, 1u);
}

TEST(SchedulePlanner, ABackfillMakesWhatWasNotMade) {
  schedule_world world(plan_of_rule("0 * * * *", R"("missed":"none")"), time_at("2026-11-30T08:30:00Z"));
  world.turn("2026-11-30T09:00:00Z");
  world.turn("2026-11-30T12:30:00Z");  // misses three
  const auto from = time_at("2026-11-30T07:00:00Z");
  const auto to = time_at("2026-11-30T12:30:00Z");
  const auto counted = count_backfill(world.plan(), world.table(), world.state(), from, to);
  ASSERT_TRUE(counted);
  EXPECT_EQ(counted->to_make, 5u);
  EXPECT_EQ(counted->left_out, 1u);
  EXPECT_EQ(counted->first, second_at("2026-11-30T07:00:00Z"));
  EXPECT_EQ(counted->last, second_at("2026-11-30T12:00:00Z"));
  ASSERT_TRUE(request_backfill(world.plan(), world.table(), world.changed_state(), from, to));
  world.turn("2026-11-30T12:30:01Z");
  EXPECT_THAT(world.log(), ElementsAre("regular 2026-11-30T09:00:00Z", "backfill 2026-11-30T07:00:00Z",
                                       "backfill 2026-11-30T08:00:00Z", "backfill 2026-11-30T10:00:00Z",
                                       "backfill 2026-11-30T11:00:00Z", "backfill 2026-11-30T12:00:00Z"));
  const auto again = count_backfill(world.plan(), world.table(), world.state(), from, to);
  EXPECT_EQ(again->to_make, 0u);
  EXPECT_EQ(again->left_out, 6u);
  world.turn("2026-11-30T15:30:00Z");  // what is missed now is a stretch of its own
  EXPECT_EQ(count_backfill(world.plan(), world.table(), world.state(), from, time_at("2026-11-30T16:00:00Z"))->to_make,
            3u);
  EXPECT_THAT(world.state().backfills, IsEmpty());
  EXPECT_THAT(world.faults(), IsEmpty());
}

TEST(SchedulePlanner, ABackfillWithJitterDoesNotMeetTheRegularOnes) {
  schedule_world world(plan_of_rule("* * * * *", R"("jitter":"1h")"), time_at("2026-11-30T08:00:00Z"));
  world.turn("2026-11-30T08:03:00Z");
  // Up to the future: what comes is not a part of the past, and what waits by its jitter was made.
  const auto counted = request_backfill(world.plan(), world.table(), world.changed_state(),
                                        time_at("2026-11-30T07:58:00Z"), time_at("2026-11-30T08:10:00Z"));
  EXPECT_EQ(counted->to_make, 3u);  // 7:58, 7:59 and 8:00
  world.turn("2026-11-30T08:03:30Z");
  world.go_to("2026-11-30T08:20:00Z");
  EXPECT_EQ(world.count_of(reason::backfill), 3u);
  EXPECT_EQ(world.made().size(), 23u);
  EXPECT_THAT(world.faults(), IsEmpty());
}

TEST(SchedulePlanner, ALongBackfillTakesManyTurnsAndIsBounded) {
  schedule_world world(plan_of_rule("* * * * *"), time_at("2026-11-30T08:00:00Z"));
  const auto to = time_at("2026-11-30T08:00:00Z");
  EXPECT_FALSE(count_backfill(world.plan(), world.table(), world.state(), to - 10'000min, to));
  EXPECT_FALSE(count_backfill(world.plan(), world.table(), world.state(), to, to - 1min));
  const auto counted = request_backfill(world.plan(), world.table(), world.changed_state(), to - 999min, to);
  ASSERT_TRUE(counted);
  EXPECT_EQ(counted->to_make, 1000u);
  EXPECT_EQ(world.turn("2026-11-30T08:00:30Z"), 10);
  EXPECT_EQ(world.count_of(reason::backfill), 1000u);
  EXPECT_LE(world.state().holes.size(), 2u);
  world.go_to("2026-11-30T08:10:00Z");
  EXPECT_EQ(world.made().size(), 1010u);
  EXPECT_THAT(world.faults(), IsEmpty());
}

TEST(SchedulePlanner, AnEditMakesWhatWasDueAndNothingTwice) {
  schedule_world world(plan_of_rule("0 * * * *"), time_at("2026-11-30T08:30:00Z"));
  // 9:00 was due, and has not had its turn.
  world.edit(plan_of_rule("*/10 * * * *"), time_at("2026-11-30T09:00:20Z"));
  EXPECT_THAT(world.log(), ElementsAre("regular 2026-11-30T09:00:00Z"));
  EXPECT_EQ(world.due(), time_at("2026-11-30T09:10:00Z"));
  EXPECT_EQ(world.state().version, 2u);
  world.go_to("2026-11-30T09:10:30Z");
  world.edit(plan_of_rule("10,20 * * * *"), time_at("2026-11-30T09:10:40Z"));
  world.go_to("2026-11-30T09:30:00Z");
  EXPECT_THAT(world.log(), ElementsAre("regular 2026-11-30T09:00:00Z", "regular 2026-11-30T09:10:00Z",
                                       "regular 2026-11-30T09:20:00Z"));
  EXPECT_THAT(world.faults(), IsEmpty());
}

TEST(SchedulePlanner, AnEditDoesNotFireInRetrospect) {
  schedule_world world(plan_of_rule("0 0 1 1 *", R"("missed":"all")"), time_at("2026-11-30T08:30:00Z"));
  world.edit(plan_of_rule("* * * * *", R"("missed":"all")"), time_at("2026-11-30T20:00:00Z"));
  EXPECT_THAT(world.log(), IsEmpty());
  EXPECT_EQ(world.due(), time_at("2026-11-30T20:01:00Z"));
  // The time before is one in which nothing was made.
  EXPECT_EQ(count_backfill(world.plan(), world.table(), world.state(), time_at("2026-11-30T08:00:00Z"),
                           time_at("2026-11-30T20:00:00Z"))
                ->to_make,
            721u);
}

TEST(SchedulePlanner, AnEditWaitsUntilAllThatWasDueIsDecided) {
  schedule_world world(plan_of_rule("* * * * *", R"("missed":"all","missed_limit":50)"),
                       time_at("2026-11-30T08:00:00Z"));
  world.bounds = {.most_made = 10, .most_steps = 30};
  world.edit(plan_of_rule("0 0 1 1 *"), time_at("2026-11-30T10:00:30Z"));
  EXPECT_EQ(world.made().size(), 51u);
  EXPECT_EQ(world.count_of(outcome::skipped_limit), 69u);
  EXPECT_EQ(world.state().version, 2u);
  EXPECT_THAT(world.faults(), IsEmpty());
}

TEST(SchedulePlanner, AnotherNoteChangesTheVersionAlone) {
  schedule_world world(plan_of_rule("0 * * * *"), time_at("2026-11-30T08:30:00Z"));
  const auto cursor = world.state().cursor;
  world.edit(plan_of_rule("0 * * * *", R"("note":"why")"), time_at("2026-11-30T08:40:00Z"));
  EXPECT_EQ(world.state().cursor, cursor);
  EXPECT_EQ(world.state().version, 2u);
  world.turn("2026-11-30T09:00:00Z");
  EXPECT_THAT(world.log(), ElementsAre("regular 2026-11-30T09:00:00Z"));
}

TEST(SchedulePlanner, AnEditKeepsThePhaseOfEvery) {
  schedule_world world(plan_of_rule("every 4h"), time_at("2026-11-30T08:30:00Z"));
  world.edit(plan_of_rule("every 4h", R"("note":"other")"), time_at("2026-11-30T09:00:00Z"));
  world.edit(plan_of_rule("every 4h", R"("missed":"none")"), time_at("2026-11-30T10:00:00Z"));
  world.go_to("2026-11-30T17:00:00Z");
  EXPECT_THAT(world.log(), ElementsAre("regular 2026-11-30T12:30:00Z", "regular 2026-11-30T16:30:00Z"));
}

TEST(SchedulePlanner, TheCountGoesOnWithAnEditUnlessItDiffers) {
  schedule_world world(plan_of_rule("0 * * * *", R"("count":5)"), time_at("2026-11-30T08:30:00Z"));
  world.go_to("2026-11-30T10:30:00Z");  // two
  world.edit(plan_of_rule("30 * * * *", R"("count":5)"), time_at("2026-11-30T10:40:00Z"));
  world.go_to("2026-11-30T20:00:00Z");
  EXPECT_EQ(world.made().size(), 5u);
  EXPECT_EQ(world.log().back(), "regular 2026-11-30T13:30:00Z");
  EXPECT_EQ(world.state().ended, end_reason::count);
  EXPECT_FALSE(world.due() && world.state().living.empty());
  world.edit(plan_of_rule("30 * * * *", R"("count":2)"), time_at("2026-11-30T20:00:00Z"));
  EXPECT_FALSE(world.state().ended);
  world.go_to("2026-12-01T08:00:00Z");
  EXPECT_EQ(world.made().size(), 7u);
  EXPECT_THAT(world.faults(), IsEmpty());
}

TEST(SchedulePlanner, TheLastMissedOneIsTheLastOfTheCount) {
  schedule_world world(plan_of_rule("0 * * * *", R"("count":3)"), time_at("2026-11-30T08:30:00Z"));
  world.turn("2026-11-30T20:30:00Z");
  EXPECT_THAT(world.log(), ElementsAre("late 2026-11-30T11:00:00Z"));
  EXPECT_EQ(world.state().ended, end_reason::count);
}

TEST(SchedulePlanner, ASchedulesEndSaysWhyAndStays) {
  schedule_world ends(plan_of_rule("0 * * * *", R"("ends":"2026-11-30T10:00:00Z")"), time_at("2026-11-30T08:30:00Z"));
  ends.go_to("2026-11-30T09:30:00Z");
  ends.finish_all();
  ends.go_to("2026-12-01T09:30:00Z");
  EXPECT_THAT(ends.log(), ElementsAre("regular 2026-11-30T09:00:00Z"));
  EXPECT_EQ(ends.state().ended, end_reason::ends);
  EXPECT_EQ(ends.count_of(outcome::ended), 1u);
  EXPECT_FALSE(ends.due());
  ASSERT_TRUE(run_by_hand(ends.changed_state(), time_at("2026-12-01T10:00:00Z")));
  ends.turn("2026-12-01T10:00:00Z");
  EXPECT_EQ(ends.log().back(), "by_hand 2026-12-01T10:00:00Z");
  EXPECT_EQ(ends.state().ended, end_reason::ends);

  schedule_world never(plan_of_rule("once 2026-11-30T09:00"), time_at("2026-11-30T08:30:00Z"));
  never.go_to("2026-11-30T09:00:00Z");
  EXPECT_EQ(never.made().size(), 1u);
  EXPECT_EQ(never.state().ended, end_reason::never);
}

TEST(SchedulePlanner, AClockThatGoesBackMakesNothingTwice) {
  schedule_world world(plan_of_rule("0 * * * *", R"("missed":"all")"), time_at("2026-11-30T08:30:00Z"));
  world.turn("2026-11-30T10:00:00Z");
  world.turn("2026-11-30T08:45:00Z");
  EXPECT_EQ(world.due(), time_at("2026-11-30T11:00:00Z"));
  world.edit(plan_of_rule("*/30 * * * *"), time_at("2026-11-30T08:50:00Z"));
  world.turn("2026-11-30T09:30:00Z");
  world.turn("2026-11-30T10:30:00Z");
  EXPECT_THAT(world.log(),
              ElementsAre("late 2026-11-30T09:00:00Z", "regular 2026-11-30T10:00:00Z", "regular 2026-11-30T10:30:00Z"));
  ASSERT_TRUE(pause_schedule(world.changed_state(), time_at("2026-11-30T11:00:00Z"), "", "", {}));
  EXPECT_TRUE(resume_schedule(world.changed_state(), time_at("2026-11-30T10:50:00Z")));
  world.turn("2026-11-30T11:00:00Z");
  EXPECT_EQ(world.log().back(), "regular 2026-11-30T11:00:00Z");
  EXPECT_THAT(world.faults(), IsEmpty());
}

// ---------------------------------------------------------------- zone data

TEST(SchedulePlanner, NewZoneDataThatMoveATimeLaterDoNotRepeatIt) {
  schedule_world world(plan_of_rule("0 9 * * *"), time_at("2026-11-30T00:00:00Z"), zone_by_rule("<+02>-2", "1"));
  world.go_to("2026-11-30T07:30:00Z");
  EXPECT_THAT(world.log(), ElementsAre("regular 2026-11-30T07:00:00Z"));
  world.take_zone_data(zone_by_rule("<+01>-1", "2"));
  world.turn("2026-11-30T07:31:00Z");
  EXPECT_EQ(world.state().zone_data, "2");
  world.turn("2026-11-30T08:00:00Z");
  world.go_to("2026-12-01T12:00:00Z");
  EXPECT_THAT(world.log(), ElementsAre("regular 2026-11-30T07:00:00Z", "regular 2026-12-01T08:00:00Z"));
  EXPECT_EQ(world.state().counters.decided, 2u);
  EXPECT_THAT(world.faults(), IsEmpty());
}

TEST(SchedulePlanner, NewZoneDataThatMoveATimeEarlierDoNotLoseIt) {
  schedule_world world(plan_of_rule("0 9 * * *"), time_at("2026-11-29T00:00:00Z"), zone_by_rule("<+01>-1", "1"));
  world.go_to("2026-11-30T07:30:00Z");  // 9:00 comes at 8:00Z
  world.take_zone_data(zone_by_rule("<+02>-2", "2"));
  world.turn("2026-11-30T07:31:00Z");  // and should have come at 7:00Z
  world.go_to("2026-12-01T12:00:00Z");
  EXPECT_THAT(world.log(),
              ElementsAre("regular 2026-11-29T08:00:00Z", "late 2026-11-30T07:00:00Z", "regular 2026-12-01T07:00:00Z"));
  EXPECT_THAT(world.faults(), IsEmpty());
}

TEST(SchedulePlanner, NewZoneDataMoveAFixedTimeAcrossTheCursorOfAnotherRule) {
  const schedule_plan plan = plan_of(R"({"rules":["0 9 * * *","every 10m from 2026-01-01T00:05:00Z"]})");
  schedule_world world(plan, time_at("2026-11-30T06:50:00Z"), zone_by_rule("<+01>-1", "1"));
  world.go_to("2026-11-30T07:30:00Z");
  EXPECT_EQ(world.made().size(), 4u);
  world.take_zone_data(zone_by_rule("<+02>-2", "2"));
  world.turn("2026-11-30T07:31:00Z");
  EXPECT_EQ(world.log().back(), "late 2026-11-30T07:00:00Z");
  world.go_to("2026-11-30T08:31:00Z");
  EXPECT_EQ(world.made().size(), 11u);  // six of the other rule, and nothing at 8:00Z
  EXPECT_THAT(world.faults(), IsEmpty());
}

TEST(SchedulePlanner, NewZoneDataLeaveElapsedTimesAlone) {
  schedule_world world(plan_of_rule("every 1h"), time_at("2026-11-30T06:30:00Z"), zone_by_rule("<+01>-1", "1"));
  world.go_to("2026-11-30T08:30:00Z");
  for (const char* const rule : {"<+03>-3", "<-05>5", "<+01>-1"}) {
    world.take_zone_data(zone_by_rule(rule, rule));
    world.turn(world.now() + 1s);
  }
  world.go_to("2026-11-30T10:30:00Z");
  EXPECT_THAT(world.log(), ElementsAre("regular 2026-11-30T07:30:00Z", "regular 2026-11-30T08:30:00Z",
                                       "regular 2026-11-30T09:30:00Z", "regular 2026-11-30T10:30:00Z"));
  EXPECT_THAT(world.faults(), IsEmpty());
}

TEST(SchedulePlanner, NewZoneDataThatAreTakenBackRepeatNothing) {
  schedule_world world(plan_of_rule("0 9 * * *"), time_at("2026-11-30T00:00:00Z"), zone_by_rule("<+02>-2", "1"));
  world.go_to("2026-11-30T07:30:00Z");
  for (const char* const rule : {"<+01>-1", "<+02>-2", "<+01>-1", "<+00>0", "<+02>-2"}) {
    world.take_zone_data(zone_by_rule(rule, rule));
    world.turn(world.now() + 10min);
  }
  world.go_to("2026-11-30T23:00:00Z");
  EXPECT_EQ(world.made().size(), 1u);
  world.go_to("2026-12-01T12:00:00Z");
  EXPECT_EQ(world.made().size(), 2u);
  EXPECT_THAT(world.faults(), IsEmpty());
}

TEST(SchedulePlanner, NewZoneDataMoveASkip) {
  schedule_world world(plan_of_rule("0 9 * * *"), time_at("2026-11-30T00:00:00Z"), zone_by_rule("<+02>-2", "1"));
  ASSERT_TRUE(skip_occurrence(world.plan(), world.table(), world.changed_state(), world.now(), {}));
  world.take_zone_data(zone_by_rule("<+01>-1", "2"));
  world.turn("2026-11-30T01:00:00Z");
  world.go_to("2026-12-01T12:00:00Z");
  EXPECT_THAT(world.log(), ElementsAre("regular 2026-12-01T08:00:00Z"));
  EXPECT_EQ(world.count_of(outcome::skipped_by_request), 1u);
}

// ---------------------------------------------------------------- busy

TEST(SchedulePlanner, BusySkip) {
  schedule_world world(plan_of_rule("* * * * *", R"("busy":"skip")"), time_at("2026-11-30T08:00:00Z"));
  world.go_to("2026-11-30T08:02:00Z");
  EXPECT_EQ(world.count_of(outcome::skipped_busy), 1u);
  world.finish_all();
  world.go_to("2026-11-30T08:03:00Z");
  world.set_all(living_fact::buried);  // has failed, and is at work no more
  world.go_to("2026-11-30T08:04:00Z");
  EXPECT_THAT(world.log(), ElementsAre("regular 2026-11-30T08:01:00Z", "regular 2026-11-30T08:03:00Z",
                                       "regular 2026-11-30T08:04:00Z"));
  EXPECT_EQ(world.count_of(outcome::failed), 1u);
  EXPECT_EQ(world.state().last_failure->name.at, second_at("2026-11-30T08:03:00Z"));
  EXPECT_EQ(world.state().last_success->name.at, second_at("2026-11-30T08:01:00Z"));
}

TEST(SchedulePlanner, BusySkipOfMissedOnes) {
  schedule_world world(plan_of_rule("0 * * * *", R"("busy":"skip","missed":"all")"), time_at("2026-11-30T08:30:00Z"));
  world.turn("2026-11-30T11:30:00Z");
  EXPECT_THAT(world.log(), ElementsAre("late 2026-11-30T09:00:00Z"));
  EXPECT_EQ(world.count_of(outcome::skipped_busy), 2u);
}

TEST(SchedulePlanner, BusyQueue) {
  schedule_world world(plan_of_rule("* * * * *", R"("busy":"queue","busy_limit":2)"), time_at("2026-11-30T08:00:00Z"));
  world.go_to("2026-11-30T08:04:00Z");  // one is made, two wait, and the fourth has no place
  EXPECT_EQ(world.state().queue.size(), 2u);
  EXPECT_EQ(world.count_of(outcome::skipped_busy), 1u);
  world.finish_all();
  world.turn("2026-11-30T08:04:30Z");
  EXPECT_EQ(world.log().back(), "regular 2026-11-30T08:02:00Z");
  EXPECT_EQ(world.made().size(), 2u);
  world.go_to("2026-11-30T08:05:00Z");
  world.finish_all();
  world.turn("2026-11-30T08:05:30Z");
  world.finish_all();
  world.turn("2026-11-30T08:05:40Z");
  EXPECT_THAT(world.log(), ElementsAre("regular 2026-11-30T08:01:00Z", "regular 2026-11-30T08:02:00Z",
                                       "regular 2026-11-30T08:03:00Z", "regular 2026-11-30T08:05:00Z"));
  EXPECT_THAT(world.faults(), IsEmpty());
}

TEST(SchedulePlanner, WhatIsQueuedExpires) {
  schedule_world world(plan_of_rule("* * * * *", R"("busy":"queue","deadline":"90s")"),
                       time_at("2026-11-30T08:00:00Z"));
  world.go_to("2026-11-30T08:02:00Z");
  EXPECT_EQ(world.state().queue.size(), 1u);
  world.go_to("2026-11-30T08:03:30Z");
  EXPECT_EQ(world.count_of(outcome::expired_by_deadline), 0u);
  EXPECT_EQ(world.count_of(outcome::skipped_busy), 1u);
  world.go_to("2026-11-30T08:04:00Z");  // its place is free then
  EXPECT_EQ(world.count_of(outcome::expired_by_deadline), 1u);
  EXPECT_EQ(world.state().queue.front().at, second_at("2026-11-30T08:04:00Z"));
  EXPECT_THAT(world.faults(), IsEmpty());
}

TEST(SchedulePlanner, BusyReplace) {
  schedule_world world(plan_of_rule("* * * * *", R"("busy":"replace")"), time_at("2026-11-30T08:00:00Z"));
  world.go_to("2026-11-30T08:01:00Z");
  world.set_all(living_fact::at_work);
  world.go_to("2026-11-30T08:02:00Z");  // waits beside the one at work
  EXPECT_EQ(world.state().living.size(), 2u);
  EXPECT_FALSE(world.made().back().replaces);
  world.go_to("2026-11-30T08:04:00Z");  // two take its place
  EXPECT_EQ(world.state().living.size(), 2u);
  EXPECT_TRUE(world.made().back().replaces);
  EXPECT_EQ(world.made().back().key.at, second_at("2026-11-30T08:02:00Z"));
  EXPECT_EQ(world.count_of(outcome::replaced), 2u);
  world.job_of({second_at("2026-11-30T08:04:00Z"), 0}) = living_fact::at_work;
  world.go_to("2026-11-30T08:05:00Z");
  EXPECT_EQ(world.state().living.size(), 3u);
  EXPECT_EQ(world.jobs().size(), 3u);
  EXPECT_THAT(world.faults(), IsEmpty());
}

TEST(SchedulePlanner, BusyReplaceOfSeveralInOneTurn) {
  schedule_world world(plan_of_rule("0 * * * *", R"("busy":"replace","missed":"all")"),
                       time_at("2026-11-30T08:30:00Z"));
  world.turn("2026-11-30T09:00:00Z");
  world.turn("2026-11-30T13:30:00Z");
  EXPECT_THAT(world.log(), ElementsAre("regular 2026-11-30T09:00:00Z", "late 2026-11-30T13:00:00Z"));
  EXPECT_TRUE(world.made().back().replaces);
  EXPECT_EQ(world.count_of(outcome::replaced), 1u);
  EXPECT_EQ(world.count_of(outcome::skipped_busy), 3u);
  EXPECT_EQ(world.state().counters.decided, 5u);
  EXPECT_THAT(world.faults(), IsEmpty());
}

TEST(SchedulePlanner, WhatIsAskedForIsNotReplaced) {
  schedule_world world(plan_of_rule("* * * * *", R"("busy":"replace")"), time_at("2026-11-30T08:00:00Z"));
  ASSERT_TRUE(run_by_hand(world.changed_state(), world.now()));
  world.turn("2026-11-30T08:00:01Z");
  world.go_to("2026-11-30T08:02:00Z");
  EXPECT_EQ(world.state().living.size(), 2u);
  EXPECT_EQ(world.state().living.front().reason, reason::by_hand);
}

TEST(SchedulePlanner, ADelayBeginsWithTheEndOfTheLast) {
  schedule_world world(plan_of_rule("after 10m"), time_at("2026-11-30T08:00:00Z"));
  EXPECT_EQ(world.due(), time_at("2026-11-30T08:10:00Z"));
  world.go_to("2026-11-30T08:30:00Z");
  EXPECT_EQ(world.made().size(), 1u);
  EXPECT_EQ(world.state().look_after, 60u);
  EXPECT_FALSE(world.state().next);
  world.finish_all();
  world.turn("2026-11-30T08:31:00Z");
  EXPECT_EQ(world.due(), time_at("2026-11-30T08:41:00Z"));
  world.go_to("2026-11-30T08:41:00Z");
  EXPECT_THAT(world.log(), ElementsAre("regular 2026-11-30T08:10:00Z", "regular 2026-11-30T08:41:00Z"));
  // A pause lets it begin again.
  world.finish_all();
  world.turn("2026-11-30T08:45:00Z");
  ASSERT_TRUE(pause_schedule(world.changed_state(), time_at("2026-11-30T08:50:00Z"), "", "", {}));
  world.turn("2026-11-30T09:30:00Z");
  EXPECT_FALSE(world.due());
  EXPECT_TRUE(resume_schedule(world.changed_state(), time_at("2026-11-30T10:00:00Z")));
  world.turn("2026-11-30T10:00:00Z");
  world.go_to("2026-11-30T10:20:00Z");
  EXPECT_EQ(world.log().back(), "regular 2026-11-30T10:10:00Z");
  EXPECT_THAT(world.faults(), IsEmpty());
}

TEST(SchedulePlanner, ADelayAfterADowntimeIsLate) {
  schedule_world world(plan_of_rule("after 10m"), time_at("2026-11-30T08:00:00Z"));
  world.turn("2026-11-30T12:00:00Z");
  EXPECT_THAT(world.log(), ElementsAre("late 2026-11-30T08:10:00Z"));
  schedule_world none(plan_of_rule("after 10m", R"("missed":"none")"), time_at("2026-11-30T08:00:00Z"));
  none.turn("2026-11-30T12:00:00Z");
  EXPECT_THAT(none.log(), IsEmpty());
  EXPECT_EQ(none.due(), time_at("2026-11-30T12:10:00Z"));
}

TEST(SchedulePlanner, TheListsAreBoundedAndWhatLeavesThemIsCounted) {
  schedule_world world(plan_of_rule("* * * * *"), time_at("2026-11-30T08:00:00Z"));
  world.go_to("2026-11-30T09:40:00Z");
  EXPECT_EQ(world.made().size(), 100u);
  EXPECT_EQ(world.state().living.size(), schedule_state::most_living);
  EXPECT_EQ(world.state().recent.size(), schedule_state::most_recent);
  EXPECT_EQ(world.state().counters.not_followed, 100u - schedule_state::most_living);
  EXPECT_EQ(world.count_of(reason::regular), 100u);
  // Every second one is skipped: so many stretches cannot be kept, and nothing is made twice for that.
  schedule_world holes(plan_of_rule("* * * * *", R"("busy":"skip")"), time_at("2026-11-30T08:00:00Z"));
  for (int i = 0; i < 100; ++i) {
    holes.go_to(holes.now() + 1min);
    if (i % 2 == 1) holes.finish_all();
  }
  EXPECT_EQ(holes.state().holes.size(), schedule_state::most_holes - schedule_state::most_backfills);
  holes.finish_all();
  const auto counted = request_backfill(holes.plan(), holes.table(), holes.changed_state(),
                                        time_at("2026-11-30T07:59:00Z"), time_at("2026-11-30T12:00:00Z"));
  EXPECT_GE(counted->to_make, 20u);
  while (!holes.state().backfills.empty()) {
    holes.turn(holes.now() + 1s);
    holes.finish_all();
  }
  EXPECT_EQ(holes.count_of(reason::backfill), counted->to_make);
  EXPECT_THAT(holes.faults(), IsEmpty());
}

// ---------------------------------------------------------------- other hands

TEST(SchedulePlanner, APlanThatSqlHasChangedBeginsNow) {
  schedule_world world(plan_of_rule("0 9 * * *", R"("missed":"all")"), time_at("2026-11-30T08:00:00Z"));
  world.edit_by_sql(plan_of_rule("0 7,10 * * *", R"("missed":"all")"));
  world.turn("2026-11-30T09:00:00Z");  // when the old one was due
  EXPECT_THAT(world.log(), IsEmpty());
  EXPECT_EQ(world.count_of(outcome::skipped_changed), 1u);
  EXPECT_EQ(world.state().version, 2u);
  world.go_to("2026-11-30T10:00:00Z");
  EXPECT_THAT(world.log(), ElementsAre("regular 2026-11-30T10:00:00Z"));
  world.edit_by_sql(plan_of_rule("0 11 * * *"));
  world.turn("2026-11-30T10:30:00Z");  // at once
  EXPECT_EQ(world.count_of(outcome::skipped_changed), 1u);
  world.go_to("2026-11-30T11:00:00Z");
  EXPECT_EQ(world.log().back(), "regular 2026-11-30T11:00:00Z");
  EXPECT_THAT(world.faults(), IsEmpty());
}

TEST(SchedulePlanner, WhatCannotBeFollowedIsToldUntilItCan) {
  schedule_world world(plan_of_rule("0 9 * * *"), time_at("2026-11-30T08:00:00Z"));
  refuse_schedule(world.changed_state(), "there is no time zone 'Europe/Berln'", world.now());
  EXPECT_EQ(world.state().refused, "there is no time zone 'Europe/Berln'");
  EXPECT_FALSE(world.state().next);
  world.turn("2026-11-30T08:30:00Z");
  EXPECT_EQ(world.state().refused, "");
  EXPECT_TRUE(world.state().next);
}

TEST(SchedulePlanner, WhereTooMuchIsExcludedNothingIsLostAndNoTurnIsEndless) {
  // Each second of the first ten days is excluded, which is more than one question passes over.
  schedule_plan plan = plan_of(R"({"rules":[{"text":"* * * * * *","dialect":"seconds"}],"missed":"none"})");
  for (int day = 1; day <= 10; ++day) plan.excluded_dates.emplace_back(std::chrono::year(2027) / 1 / day);
  schedule_world world(plan, time_at("2026-12-31T23:59:58Z"));
  world.turn("2026-12-31T23:59:59Z");
  EXPECT_EQ(world.made().size(), 1u);
  world.turn("2027-01-01T00:00:10Z");
  EXPECT_EQ(world.state().cursor, second_at("2027-01-01T00:00:10Z"));
  // So many seconds have been passed over, and not before their end anything is to do.
  EXPECT_EQ(world.due(), time_at("2026-12-31T23:59:59Z") + std::chrono::seconds(world.bounds.most_questions - 1));
  world.turn("2027-01-05T00:00:00Z");  // so far it is known that nothing was lost
  world.turn("2027-01-05T01:00:00Z");
  EXPECT_EQ(world.state().next->at, second_at("2027-01-11T00:00:00Z"));
  EXPECT_EQ(world.due(), time_at("2027-01-11T00:00:00Z"));
  world.turn("2027-01-11T00:00:01Z");
  EXPECT_EQ(world.made().size(), 3u);
  EXPECT_EQ(world.state().counters.uncounted, 0u);
  EXPECT_THAT(world.faults(), IsEmpty());
}

/// So much is excluded that a turn asks as much as it may and finds nothing, whichever way it looks.
TEST(SchedulePlanner, WhereAllIsExcludedATurnIsShortAndTheNextOneIsFar) {
  std::string rules = R"("* * * * *")";
  for (int i = 1; i < 100; ++i) rules += R"(,"* * * * *")";
  const auto plan = plan_of(fmt::format(R"({{"rules":[{0}],"exclude":{{"rules":[{0}]}}}})", rules));
  const auto now = time_at("2026-11-30T08:00:00Z");
  const auto table = *plan.table_in({}, "mail", "nightly");
  auto turn = plan_turn(plan, table, begin_schedule(plan, table, 1, now), now, {});
  EXPECT_FALSE(turn.state.ended);
  EXPECT_GT(turn.due, now + 24h);
  const auto first = turn.state.cursor;
  turn = plan_turn(plan, table, turn.state, now + std::chrono::days(100), {});
  EXPECT_EQ(turn.due, now + std::chrono::days(100) + 1min) << "it goes on, but others have their turns";
  EXPECT_GT(turn.state.cursor, first + 24h);
}

/// A turn has a bound of questions; what it does not come to is for the next one, and nothing differs.
TEST(SchedulePlanner, WithFewQuestionsAllIsMadeInMoreTurns) {
  const auto begin = time_at("2026-11-30T08:30:00Z");
  const std::string more = R"("exclude":{"rules":["1-59 * * * *"]})";
  schedule_world wide(plan_of_rule("* * * * *", more), begin);
  schedule_world narrow(plan_of_rule("* * * * *", more), begin);
  narrow.bounds.most_questions = 200;  // one hour takes 120 and some
  wide.go_to("2026-11-30T20:30:00Z");
  narrow.go_to("2026-11-30T20:30:00Z");
  EXPECT_EQ(wide.log().size(), 12u);
  EXPECT_EQ(narrow.log(), wide.log());
  EXPECT_EQ(narrow.state().counters, wide.state().counters);
  EXPECT_EQ(narrow.state().counters.uncounted, 0u);
  const auto ask = [](schedule_world& at) {
    ASSERT_TRUE(request_backfill(at.plan(), at.table(), at.changed_state(), time_at("2026-11-29T08:30:00Z"),
                                 time_at("2026-11-30T08:30:00Z")));
    at.turn("2026-11-30T20:31:00Z");
  };
  ask(wide);
  ask(narrow);
  EXPECT_EQ(narrow.log().size(), 36u);
  EXPECT_EQ(narrow.log(), wide.log());
  EXPECT_THAT(narrow.faults(), IsEmpty());
}

TEST(SchedulePlanner, ACountAndALookAreBounded) {
  // Of the seconds of a day one is left.
  const auto plan = plan_of(R"({"rules":["every 1s from 2000-01-01T00:00:00Z"],"exclude":{"rules":[
      {"text":"1-59 * * * * *","dialect":"seconds"},{"text":"0 1-59 * * * *","dialect":"seconds"},
      {"text":"0 0 1-23 * * *","dialect":"seconds"}]}})");
  const auto now = time_at("2026-11-30T08:00:00Z");
  const auto table = *plan.table_in({}, "mail", "nightly");
  const schedule_state state = begin_schedule(plan, table, 1, now);
  const auto few = count_backfill(plan, table, state, time_at("2026-11-25T12:00:00Z"), time_at("2026-11-28T12:00:00Z"));
  EXPECT_EQ(few.value().to_make, 3u);
  const auto many = count_backfill(plan, table, state, time_at("2026-01-01T00:00:00Z"), now);
  EXPECT_EQ(many.error().pointer, "/from");
  EXPECT_LT(upcoming_occurrences(plan, table, state, now, 100).size(), 100u);
}

// ---------------------------------------------------------------- bytes

TEST(SchedulePlanner, TheJobsOfATurnHaveABoundOfBytes) {
  const std::string job =
      fmt::format(R"("missed":"all","missed_limit":1000,"job":{{"text":"{}"}})", std::string(200'000, 'x'));
  schedule_world world(plan_of_rule("* * * * *", job), time_at("2026-11-30T08:00:00Z"));
  std::size_t before = 0;
  int turns = 0;
  for (bool is_complete = false; !is_complete; ++turns) {
    is_complete = world.turn_once(time_at("2026-11-30T10:00:30Z"));
    EXPECT_LE((world.made().size() - before) * 200'000, world.bounds.most_bytes);
    before = world.made().size();
  }
  EXPECT_EQ(world.made().size(), 120u);
  EXPECT_EQ(turns, 6);
  EXPECT_THAT(world.faults(), IsEmpty());
}

TEST(SchedulePlanner, AnEditOfALargeJobMakesWhatWasDueBefore) {
  const auto large = [](char letter) {
    return plan_of_rule(
        "* * * * *", fmt::format(R"("missed":"all","job":{{"text":"{}"}})", std::string(std::size_t{5} << 20, letter)));
  };
  const auto begin = time_at("2026-11-30T08:00:00Z");
  const auto now = time_at("2026-11-30T08:02:30Z");
  const schedule_plan before = large('a');
  const schedule_plan after = large('b');
  const auto table = *before.table_in({}, "mail", "nightly");
  schedule_state state = begin_schedule(before, table, 1, begin);
  ASSERT_TRUE(run_by_hand(state, now));
  std::size_t made = 0;
  for (int i = 0; i < 4; ++i) {
    const schedule_turn turn = change_plan(before, table, after, table, state, now, {});
    EXPECT_LE(turn.make.size(), 1u);
    EXPECT_EQ(turn.is_changed, i == 3);
    if (!turn.is_changed) {
      EXPECT_EQ(turn.due, now);
    }
    made += turn.make.size();
    state = turn.state;
  }
  EXPECT_EQ(made, 3u);
}

TEST(SchedulePlanner, AChangeOfALostPlanKeepsWhatWasAskedFor) {
  const auto now = time_at("2026-11-30T08:30:00Z");
  schedule_world world(plan_of_rule("0 * * * *", R"("count":5)"), now);
  world.go_to("2026-11-30T10:30:00Z");
  ASSERT_TRUE(pause_schedule(world.changed_state(), world.now(), "me", "why", {}));
  const schedule_plan after = plan_of_rule("30 * * * *", R"("count":5)");
  const auto table = *after.table_in({}, "mail", "nightly");
  const schedule_turn turn =
      change_lost_plan(world.plan(), after, table, world.state(), time_at("2026-11-30T12:15:00Z"), {});
  EXPECT_TRUE(turn.is_changed);
  EXPECT_THAT(turn.make, IsEmpty());
  EXPECT_EQ(turn.state.incarnation, world.state().incarnation);
  EXPECT_EQ(turn.state.version, world.state().version + 1);
  EXPECT_EQ(turn.state.counted, 2u);
  EXPECT_EQ(turn.state.pauses, world.state().pauses);
  EXPECT_EQ(turn.state.counters.made, world.state().counters.made);
  EXPECT_EQ(turn.state.next->at, second_at("2026-11-30T12:30:00Z"));
}

TEST(SchedulePlanner, TimesThatNeverComeAreAFault) {
  const auto now = time_at("2026-11-30T08:00:00Z");
  const auto fault_of = [&](const schedule_plan& plan) {
    return fault_of_times(plan, *plan.table_in({}, "mail", "a"), now);
  };
  EXPECT_FALSE(fault_of(plan_of_rule("0 9 * * *")));
  EXPECT_FALSE(fault_of(plan_of_rule("after 5m")));
  EXPECT_EQ(fault_of(plan_of_rule("0 0 30 2 *"))->pointer, "/rules");
  EXPECT_EQ(fault_of(plan_of_rule("once 2026-11-30T07:00:00Z"))->pointer, "/rules");
  EXPECT_EQ(fault_of(plan_of_rule("* * * * *", R"("ends":"2026-11-30T08:00:00Z")"))->pointer, "/ends");
  EXPECT_EQ(fault_of(plan_of_rule("*/5 * * * *", R"("exclude":{"rules":["* * * * *"]})"))->pointer, "/exclude");
}

TEST(SchedulePlanner, TellsWhatComes) {
  schedule_world world(plan_of_rule("0 * * * *", R"("count":3,"jitter":"5m")"), time_at("2026-11-30T08:30:00Z"));
  ASSERT_TRUE(skip_occurrence(world.plan(), world.table(), world.changed_state(), world.now(), {}));
  ASSERT_TRUE(pause_schedule(world.changed_state(), world.now(), "", "", time_at("2026-11-30T10:30:00Z")));
  const auto upcoming = upcoming_occurrences(world.plan(), world.table(), world.state(), world.now(), 10);
  ASSERT_EQ(upcoming.size(), 3u);
  EXPECT_TRUE(upcoming[0].is_skipped);
  EXPECT_FALSE(upcoming[1].is_skipped);
  EXPECT_TRUE(upcoming[1].is_paused);
  EXPECT_FALSE(upcoming[2].is_paused);
  EXPECT_EQ(upcoming[2].due, upcoming[2].when.at + world.table().delay_of(upcoming[2].when.at));
}

}  // namespace
}  // namespace foliot::program
