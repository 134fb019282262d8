// The conformance suite case by case: what a durable store keeps over its openings.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "conformance.hpp"

namespace foliot::jobs::conformance {
namespace {

using namespace std::chrono_literals;
using change = change_answer::kind;
using holder = holder_answer::kind;

TEST_P(ReopenedJobStore, KeepsJobsOverItsOpenings) {
  for (const ending how : {ending::orderly, ending::crash}) {
    const std::string tube = how == ending::crash ? "crash" : "orderly";
    const job_id delayed = run(put{.tube = tube, .key = "d", .body = "delayed", .due = 1h, .ttr = 7s}).id;
    const job_id ready = run(put{.tube = tube, .key = "r", .body = "ready", .priority = 9}).id;
    const job_id buried = run(put{.tube = tube, .key = "b", .body = "buried"}).id;
    run(bury{run(claim_job{buried}).jobs.at(0).token});
    const job_id gone = run(put{.tube = tube, .key = "g", .body = "gone"}).id;
    run(finish{run(claim_job{gone}).jobs.at(0).token});
    const std::vector<job_id> living{delayed, ready, buried};
    std::vector<job> before;
    for (const job_id id : living) before.push_back(run(peek{id}).job.value());
    store_.reopen(how);
    settle();
    for (std::size_t i = 0; i < living.size(); ++i) EXPECT_EQ(run(peek{living[i]}).job, before[i]);
    EXPECT_FALSE(run(peek{gone}).job);
    EXPECT_FALSE(run(peek{job_key{tube, "g"}}).job);
    EXPECT_EQ(run(count_tube{tube}).counts, (job_counts{.urgent = 1, .ready = 1, .delayed = 1, .buried = 1}));
    EXPECT_GT(run(put{.tube = tube, .body = ""}).id, gone);
  }
}

TEST_P(ReopenedJobStore, WhatWasReservedIsReadyInTheNextOpening) {
  for (const ending how : {ending::orderly, ending::crash}) {
    const job_id was_ready = run(put{.tube = "a", .body = ""}).id;
    const job_id was_delayed = run(put{.tube = "a", .body = "", .due = 1h}).id;
    const job_id was_buried = run(put{.tube = "a", .body = ""}).id;
    run(bury{run(claim_job{was_buried}).jobs.at(0).token});
    std::vector<reservation> tokens;
    for (const job_id id : {was_ready, was_delayed, was_buried}) tokens.push_back(run(claim_job{id}).jobs.at(0).token);
    run(pause{"a", 1h});
    store_.reopen(how);
    settle();
    EXPECT_EQ(run(count_tube{"a"}).counts, (job_counts{.urgent = 3, .ready = 3}));
    EXPECT_EQ(run(count_tube{"a"}).paused_until, instant::never());
    for (const reservation& old : tokens) EXPECT_EQ(run(finish{old}).what, holder::not_held);
    const claim_answer again = run(claim{{"a"}, 9});
    ASSERT_EQ(again.jobs.size(), 3U);
    for (const claimed_job& each : again.jobs) EXPECT_NE(each.token.opening, tokens[0].opening);
    for (const reservation& old : tokens) EXPECT_EQ(run(finish{old}).what, holder::not_held);
    for (const claimed_job& each : again.jobs) EXPECT_EQ(run(finish{each.token}).what, holder::done);
  }
}

TEST_P(ReopenedJobStore, WhatBecomesDueBetweenTwoOpeningsIsReady) {
  const job_id sooner = run(put{.tube = "a", .body = "", .due = 10ms}).id;
  const job_id later = run(put{.tube = "a", .body = "", .due = 1h}).id;
  store_.pass(1s);
  store_.reopen(ending::crash);
  EXPECT_EQ(run(claim{{"a"}, 9}).jobs.at(0).job.id, sooner);
  EXPECT_EQ(run(peek{later}).job->state, job_state::delayed);
  // The clock is wrong after the boot: a job is late rather than early, and not lost.
  store_.step_wall(-2h);
  store_.reopen(ending::crash);
  settle();
  EXPECT_EQ(run(peek{later}).job->state, job_state::delayed);
  EXPECT_EQ(run(count_tube{"a"}).counts.all(), 2U);
  store_.step_wall(2h);
  EXPECT_EQ(run(finish{run(claim{{"a"}, 9}).jobs.at(0).token}).what, holder::done);
  store_.pass(1h);
  EXPECT_EQ(run(claim{{"a"}, 9}).jobs.at(0).job.id, later);
}

TEST_P(ReopenedJobStore, KeysAreFreeOrTakenAsBeforeTheReopening) {
  const job_id kept = run(put{.tube = "a", .key = "kept", .body = ""}).id;
  run(put{.tube = "a", .key = "cancelled", .body = ""});
  run(cancel{job_key{"a", "cancelled"}});
  store_.reopen(ending::crash);
  EXPECT_EQ(run(put{.tube = "a", .key = "kept", .body = ""}), (put_answer{put_answer::kind::kept, kept}));
  EXPECT_EQ(run(put{.tube = "a", .key = "cancelled", .body = ""}).what, put_answer::kind::inserted);
  EXPECT_EQ(run(cancel{job_key{"a", "kept"}}), (change_answer{change::done, kept}));
}

}  // namespace
}  // namespace foliot::jobs::conformance
