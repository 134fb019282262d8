// The conformance suite case by case: due times, the ends of reservations, pauses, and set clocks.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "conformance.hpp"

namespace foliot::jobs::conformance {
namespace {

using namespace std::chrono_literals;
using holder = holder_answer::kind;
using names = std::vector<std::string>;

TEST_P(JobStore, ADelayedJobIsReadyAtItsDueTime) {
  const job_id id = run(put{.tube = "a", .body = "", .due = 10ms}).id;
  EXPECT_EQ(store_->next().due, store_.utc() + 10ms);
  store_.pass(9'999'999ns);
  EXPECT_EQ(settle().ready_tubes, names{});
  EXPECT_TRUE(run(claim{{"a"}}).jobs.empty());
  EXPECT_EQ(run(peek{id}).job->state, job_state::delayed);
  store_.pass(1ns);
  EXPECT_EQ(settle().ready_tubes, names{"a"});
  EXPECT_EQ(settle().ready_tubes, names{});
  EXPECT_EQ(run(peek{id}).job->state, job_state::ready);
  EXPECT_EQ(run(claim{{"a"}}).jobs.size(), 1U);
  EXPECT_EQ(store_->next().due, utc_time::max());
}

TEST_P(JobStore, ADelayIsNeverAFractionOfAMillisecondTooShort) {
  store_.pass(300'000ns);
  const utc_time due = store_.utc() + 11ms;
  const job_id id = run(put{.tube = "a", .body = "", .due = 10ms}).id;
  EXPECT_EQ(run(peek{id}).job->due, due);
  EXPECT_EQ(run(peek{id}).job->delay, 10ms);
  store_.pass(10ms);
  settle();
  EXPECT_EQ(run(peek{id}).job->state, job_state::delayed);
  store_.pass(700'000ns);
  settle();
  EXPECT_EQ(run(peek{id}).job->state, job_state::ready);
  store_.pass(300'000ns);
  const job_id at_once = run(put{.tube = "a", .body = ""}).id;
  EXPECT_EQ(run(peek{at_once}).job->state, job_state::ready);
  EXPECT_EQ(run(peek{at_once}).job->due, store_.utc());
  EXPECT_EQ(run(reschedule{at_once, 10ms}).what, change_answer::kind::done);
  EXPECT_EQ(run(peek{at_once}).job->due, store_.utc() + 11ms);
}

TEST_P(JobStore, ABatchSeesWhatIsDue) {
  run(put{.tube = "a", .body = "", .due = 10ms});
  store_.pass(10ms);
  EXPECT_EQ(run(claim{{"a"}}).jobs.size(), 1U);
}

TEST_P(JobStore, WhatIsDueInThePastIsReadyAtOnce) {
  for (const utc_time due : {utc_time{}, store_.utc() - 1ms, store_.utc()}) {
    const job_id id = run(put{.tube = "a", .body = "", .due = due}).id;
    EXPECT_EQ(last_.ready_tubes, names{"a"});
    const job seen = run(peek{id}).job.value();
    EXPECT_EQ(seen.state, job_state::ready);
    EXPECT_EQ(seen.due, due);
    EXPECT_EQ(seen.delay, 0ms);
    run(finish{run(claim{{"a"}}).jobs.at(0).token});
  }
  const job_id ahead = run(put{.tube = "a", .body = "", .due = store_.utc() + 1ms}).id;
  EXPECT_EQ(run(peek{ahead}).job->state, job_state::delayed);
  EXPECT_EQ(run(peek{ahead}).job->delay, 1ms);
}

TEST_P(JobStore, TheSoonestDelayedJobIsFirstAndOfEqualOnesTheOldest) {
  run(put{.tube = "a", .body = "3", .due = 20ms});
  run(put{.tube = "a", .body = "1", .due = 10ms});
  run(put{.tube = "a", .body = "2", .due = 10ms});
  for (const char* expected : {"1", "2", "3"}) {
    const job first = run(peek_first{"a", job_state::delayed}).job.value();
    EXPECT_EQ(first.body, expected);
    run(cancel{first.id});
  }
}

TEST_P(JobStore, FarDueTimesAreKept) {
  const job_id longest = run(put{.tube = "a", .body = "", .due = longest_time, .ttr = longest_time}).id;
  EXPECT_EQ(run(peek{longest}).job->due, store_.utc() + longest_time);
  const utc_time latest = std::chrono::floor<milliseconds>(wall_clock::to_sys(instant::latest()));
  const job_id last = run(put{.tube = "a", .body = "", .due = latest}).id;
  EXPECT_EQ(run(peek{last}).job->due, latest);
  EXPECT_EQ(run(claim_job{longest}).jobs.at(0).job.expires, store_.now() + duration(longest_time));
  EXPECT_EQ(store_->next().due, latest);
}

// ---- reservations ----

TEST_P(JobStore, AReservationEndsAfterItsLastInstant) {
  const job_id id = run(put{.tube = "a", .body = "", .priority = 7, .ttr = 5ms}).id;
  const reservation token = run(claim{{"a"}}).jobs.at(0).token;
  store_.pass(5ms);
  settle();
  EXPECT_TRUE(last_.expired.empty());
  EXPECT_GT(store_->next().expiry, store_.now());
  EXPECT_EQ(run(touch{token}), (holder_answer{holder::done, store_.now() + duration(5ms)}));
  store_.pass(5ms);
  EXPECT_LE(store_->next().expiry, store_.now() + duration(1ns));
  store_.pass(1ns);
  settle();
  EXPECT_EQ(last_.expired, std::vector{token});
  EXPECT_EQ(last_.ready_tubes, names{"a"});
  const job seen = run(peek{id}).job.value();
  EXPECT_EQ(seen.state, job_state::ready);
  EXPECT_EQ(seen.priority, 7U);
  EXPECT_EQ(seen.expires, instant::never());
  EXPECT_EQ(seen.counters, (job_counters{.reserves = 1, .timeouts = 1}));
  EXPECT_EQ(run(finish{token}).what, holder::not_held);
  EXPECT_EQ(run(touch{token}), holder_answer{holder::not_held});
  EXPECT_TRUE(settle().expired.empty());
  EXPECT_EQ(store_->next(), next_change{});
}

TEST_P(JobStore, AnOperationThatComesTooLateFindsTheReservationEnded) {
  run(put{.tube = "a", .body = "", .ttr = 5ms});
  const reservation token = run(claim{{"a"}}).jobs.at(0).token;
  store_.pass(5'000'001ns);
  EXPECT_EQ(run(finish{token}).what, holder::not_held);
  EXPECT_EQ(last_.expired, std::vector{token});
}

TEST_P(JobStore, AnExpiredJobMayBeClaimedInTheSameBatch) {
  run(put{.tube = "a", .body = "", .ttr = 5ms});
  const reservation old = run(claim{{"a"}}).jobs.at(0).token;
  store_.pass(6ms);
  const reservation now = run(claim{{"a"}}).jobs.at(0).token;
  EXPECT_EQ(last_.expired, std::vector{old});
  EXPECT_NE(now, old);
  EXPECT_EQ(run(finish{old}).what, holder::not_held);
  EXPECT_EQ(run(finish{now}).what, holder::done);
}

TEST_P(JobStore, ReservationsEndInTheOrderOfTheirEnds) {
  for (const auto ttr : {7ms, 5ms, 5ms, 6ms}) run(put{.tube = "a", .body = "", .ttr = ttr});
  const claim_answer all = run(claim{{"a"}, 4});
  ASSERT_EQ(all.jobs.size(), 4U);
  store_.pass(1s);
  settle();
  const std::vector<reservation> expected{all.jobs[1].token, all.jobs[2].token, all.jobs[3].token, all.jobs[0].token};
  EXPECT_EQ(last_.expired, expected);
}

TEST_P(JobStore, ReservationsGoByTheMonotonicClock) {
  run(put{.tube = "a", .body = "", .ttr = 5ms});
  const reservation token = run(claim{{"a"}}).jobs.at(0).token;
  store_.step_wall(1h);
  EXPECT_TRUE(settle().expired.empty());
  store_.step_wall(-2h);
  store_.pass(6ms);
  EXPECT_EQ(settle().expired, std::vector{token});
}

// ---- the wall clock is set ----

TEST_P(JobStore, JobsFollowTheWallClock) {
  const job_id id = run(put{.tube = "a", .body = "", .due = 1h}).id;
  store_.step_wall(59min);
  EXPECT_EQ(settle().ready_tubes, names{});
  store_.step_wall(-59min);
  store_.pass(30min);
  store_.step_wall(-30min);
  settle();
  EXPECT_EQ(run(peek{id}).job->state, job_state::delayed);
  store_.pass(59min);
  settle();
  EXPECT_EQ(run(peek{id}).job->state, job_state::delayed);
  store_.step_wall(1min);
  EXPECT_EQ(settle().ready_tubes, names{"a"});
  EXPECT_EQ(run(peek{id}).job->state, job_state::ready);
}

TEST_P(JobStore, AReadyJobStaysReadyWhenTheClockIsSetBack) {
  const job_id at_once = run(put{.tube = "a", .body = ""}).id;
  const job_id later = run(put{.tube = "a", .body = "", .due = 10ms}).id;
  store_.pass(10ms);
  settle();
  store_.step_wall(-1h);
  settle();
  EXPECT_EQ(run(peek{at_once}).job->state, job_state::ready);
  EXPECT_EQ(run(peek{later}).job->state, job_state::ready);
  EXPECT_EQ(run(put{.tube = "a", .body = "", .due = 1ms}).what, put_answer::kind::inserted);
  EXPECT_EQ(store_->next().due, store_.utc() + 1ms);
  EXPECT_EQ(run(claim{{"a"}, 3}).jobs.size(), 2U);
}

// ---- pauses ----

TEST_P(JobStore, APauseHoldsClaimsUpUntilItsEnd) {
  const job_id id = run(put{.tube = "a", .body = "a"}).id;
  run(put{.tube = "b", .body = "b", .priority = 5});
  EXPECT_EQ(run(pause{"a", 10ms}), pause_answer{});
  EXPECT_EQ(run(count_tube{"a"}).paused_until, store_.now() + duration(10ms));
  EXPECT_LE(store_->next().expiry, store_.now() + duration(10ms));
  EXPECT_EQ(run(claim{{"a", "b"}, 2}).jobs.at(0).job.body, "b");
  EXPECT_EQ(run(peek_first{"a", job_state::ready}).job->id, id);
  EXPECT_EQ(run(count_tube{"a"}).counts.ready, 1U);
  store_.pass(9'999'999ns);
  EXPECT_TRUE(run(claim{{"a"}}).jobs.empty());
  store_.pass(1ns);
  EXPECT_EQ(settle().ready_tubes, names{"a"});
  EXPECT_EQ(run(count_tube{"a"}).paused_until, instant::never());
  EXPECT_EQ(run(claim{{"a"}}).jobs.size(), 1U);
}

TEST_P(JobStore, APauseOfZeroEndsAPause) {
  run(put{.tube = "a", .body = ""});
  run(pause{"a", 1h});
  run(pause{"a", 2h});
  EXPECT_EQ(run(count_tube{"a"}).paused_until, store_.now() + duration(2h));
  run(pause{"a", 0ms});
  EXPECT_EQ(last_.ready_tubes, names{"a"});
  EXPECT_EQ(run(count_tube{"a"}).paused_until, instant::never());
  EXPECT_EQ(next_when_settled(), next_change{});
  EXPECT_EQ(run(claim{{"a"}}).jobs.size(), 1U);
  run(pause{"unknown", 0ms});
  EXPECT_EQ(run(count_tube{"unknown"}), count_answer{});
}

TEST_P(JobStore, ATubeMayBePausedBeforeItHasJobs) {
  run(pause{"a", 10ms});
  EXPECT_EQ(run(list_tubes{}), tubes_answer{});
  run(put{.tube = "a", .body = ""});
  EXPECT_TRUE(run(claim{{"a"}}).jobs.empty());
  store_.pass(10ms);
  EXPECT_EQ(run(claim{{"a"}}).jobs.size(), 1U);
}

TEST_P(JobStore, APausedTubeThatLosesItsLastJobIsNamed) {
  const job_id first = run(put{.tube = "a", .body = ""}).id;
  const claimed_job second = run(claim_job{run(put{.tube = "a", .key = "k", .body = ""}).id}).jobs.at(0);
  run(pause{"a", 1h});
  EXPECT_EQ(last_.emptied_tubes, names{});
  run(cancel{first});
  EXPECT_EQ(last_.emptied_tubes, names{});
  run(finish{second.token});
  EXPECT_EQ(last_.emptied_tubes, names{"a"});
  EXPECT_EQ(settle().emptied_tubes, names{});

  std::vector<operation> again{put{.tube = "a", .body = ""}, clear_tube{"a"}, put{.tube = "a", .key = "k", .body = ""}};
  EXPECT_EQ(store_->execute(again).emptied_tubes, names{}) << "the tube has a job at the end of the batch";
  run(put{.tube = "a", .key = "k", .body = "", .existing = on_existing::replace});
  EXPECT_EQ(last_.emptied_tubes, names{}) << "one job has replaced the other";
  run(pause{"a", 0ms});
  run(clear_tube{"a"});
  EXPECT_EQ(last_.emptied_tubes, names{}) << "the tube is not paused";
}

TEST_P(JobStore, JobsOfAPausedTubeGoOnOtherwise) {
  run(put{.tube = "a", .body = "", .due = 5ms});
  run(pause{"a", 1h});
  store_.pass(5ms);
  EXPECT_EQ(settle().ready_tubes, names{"a"});
  EXPECT_EQ(run(count_tube{"a"}).counts.ready, 1U);
}

}  // namespace
}  // namespace foliot::jobs::conformance
