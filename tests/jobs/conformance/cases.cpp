// The conformance suite case by case: operations, answers and states.
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "conformance.hpp"

namespace foliot::jobs::conformance {
namespace {

using namespace std::chrono_literals;
using change = change_answer::kind;
using holder = holder_answer::kind;
using put_kind = put_answer::kind;

constexpr utc_time forever_ago{};

/// The bodies of the jobs, in their order.
std::vector<std::string> bodies(const claim_answer& claimed) {
  std::vector<std::string> all;
  for (const claimed_job& each : claimed.jobs) all.push_back(each.job.body);
  return all;
}

using names = std::vector<std::string>;

TEST_P(JobStore, IsEmptyAtFirst) {
  EXPECT_EQ(run(count_all{}), count_answer{});
  EXPECT_EQ(run(count_tube{"a"}), count_answer{});
  EXPECT_EQ(run(list_tubes{}), tubes_answer{});
  EXPECT_EQ(run(list_nodes{}).now, store_.utc());
  EXPECT_TRUE(run(claim{{"a"}}).jobs.empty());
  EXPECT_TRUE(run(claim_job{1}).jobs.empty());
  EXPECT_FALSE(run(peek{job_id{1}}).job);
  EXPECT_FALSE(run(peek{job_key{"a", "k"}}).job);
  EXPECT_EQ(run(cancel{job_id{1}}), (change_answer{change::gone, 0}));
  EXPECT_EQ(run(finish{{1, 1, 1}}).what, holder::not_held);
  EXPECT_EQ(run(kick{"a", 10}), bulk_answer{0});
  EXPECT_EQ(run(clear_tube{"a", 10}), bulk_answer{0});
  EXPECT_EQ(store_->next(), next_change{});
}

TEST_P(JobStore, KeepsAllThatAPutSays) {
  const std::string body("zero \0 and\r\n", 12);
  const put_answer added = run(put{.tube = "a", .key = "k", .body = body, .priority = 7, .due = 5000ms, .ttr = 3s});
  EXPECT_EQ(added.what, put_kind::inserted);
  EXPECT_GE(added.id, 1U);
  job expected{.id = added.id,
               .tube = "a",
               .key = "k",
               .body = body,
               .priority = 7,
               .state = job_state::delayed,
               .made = store_.utc(),
               .due = store_.utc() + 5s,
               .delay = 5s,
               .ttr = 3s};
  const job_version version = run(peek{added.id}).version;
  EXPECT_EQ(run(peek{added.id}), (peek_answer{expected, store_.utc(), version}));
  EXPECT_EQ(run(peek{job_key{"a", "k"}}).job, expected);
  EXPECT_EQ(run(peek_first{"a", job_state::delayed}).job, expected);
  EXPECT_FALSE(run(peek_first{"a", job_state::ready}).job);
  EXPECT_FALSE(run(peek{job_key{"b", "k"}}).job);
  EXPECT_EQ(run(peek{job_key{"b", "k"}}), peek_answer{});
  expected.body.clear();
  EXPECT_EQ(run(peek{added.id, false}), (peek_answer{expected, store_.utc(), version}));
  EXPECT_EQ(run(peek{job_key{"a", "k"}, false}).job, expected);
}

TEST_P(JobStore, GivesAscendingIdsAndNeverTheSameAgain) {
  job_id last = 0;
  for (int i = 0; i < 20; ++i) {
    const put_answer added = run(put{.tube = "a", .body = ""});
    EXPECT_GT(added.id, last);
    last = added.id;
    if (i % 2 == 0) {
      EXPECT_EQ(run(cancel{last}).what, change::done);
    }
  }
}

TEST_P(JobStore, ClaimsByPriorityThenById) {
  constexpr auto least_urgent = std::numeric_limits<priority>::max();
  for (const auto& [body, urgency] : std::initializer_list<std::pair<const char*, priority>>{
           {"last", least_urgent}, {"first of 5", 5}, {"first", 0}, {"second of 5", 5}, {"6", 6}, {"third of 5", 5}}) {
    run(put{.tube = "a", .body = body, .priority = urgency});
  }
  EXPECT_EQ(run(peek_first{"a", job_state::ready}).job->body, "first");
  EXPECT_EQ(bodies(run(claim{{"a"}, 3})), (names{"first", "first of 5", "second of 5"}));
  EXPECT_EQ(bodies(run(claim{{"a"}, 100})), (names{"third of 5", "6", "last"}));
  EXPECT_EQ(bodies(run(claim{{"a"}, 100})), names{});
}

TEST_P(JobStore, ClaimsTheBestOfSeveralTubes) {
  run(put{.tube = "a", .body = "a9", .priority = 9});
  run(put{.tube = "b", .body = "b5", .priority = 5});
  run(put{.tube = "a", .body = "a5", .priority = 5});
  run(put{.tube = "c", .body = "c0", .priority = 0});
  EXPECT_EQ(bodies(run(claim{{"a", "b", "nothing here", "a"}, 2})), (names{"b5", "a5"}));
  EXPECT_EQ(bodies(run(claim{{"b", "a", "c"}, 0})), names{});
  EXPECT_EQ(bodies(run(claim{{"b", "a", "c"}, 9})), (names{"c0", "a9"}));
}

TEST_P(JobStore, AClaimedJobIsReserved) {
  const job_id id = run(put{.tube = "a", .body = "x", .ttr = 2s}).id;
  const claim_answer claimed = run(claim{{"a"}});
  ASSERT_EQ(claimed.jobs.size(), 1U);
  const claimed_job& mine = claimed.jobs[0];
  EXPECT_EQ(mine.token.id, id);
  EXPECT_EQ(mine.job.state, job_state::reserved);
  EXPECT_EQ(mine.job.expires, store_.now() + duration(2s));
  EXPECT_EQ(mine.job.counters.reserves, 1U);
  EXPECT_EQ(run(peek{id}).job, mine.job);
  EXPECT_EQ(run(count_tube{"a"}).counts, (job_counts{.reserved = 1}));
  // No other operation takes it or changes it.
  EXPECT_TRUE(run(claim{{"a"}}).jobs.empty());
  EXPECT_TRUE(run(claim_job{id}).jobs.empty());
  EXPECT_EQ(run(cancel{id}), (change_answer{change::reserved, id}));
  EXPECT_EQ(run(reschedule{id, 1ms}), (change_answer{change::reserved, id}));
  EXPECT_EQ(run(fire_now{id}), (change_answer{change::reserved, id}));
  EXPECT_EQ(run(kick_job{id}), (change_answer{change::reserved, id}));
  EXPECT_EQ(run(kick{"a", 9}), bulk_answer{0});
  EXPECT_EQ(run(clear_tube{"a", 9}), bulk_answer{0});
  EXPECT_EQ(run(peek{id}).job, mine.job);
}

TEST_P(JobStore, AFinishedJobIsGone) {
  const job_id id = run(put{.tube = "a", .key = "k", .body = ""}).id;
  const reservation token = run(claim{{"a"}}).jobs.at(0).token;
  EXPECT_EQ(run(finish{token}).what, holder::done);
  EXPECT_EQ(run(finish{token}).what, holder::not_held);
  EXPECT_FALSE(run(peek{id}).job);
  EXPECT_EQ(run(cancel{job_key{"a", "k"}}).what, change::gone);
  EXPECT_EQ(run(count_all{}), count_answer{});
  EXPECT_EQ(run(list_tubes{}), tubes_answer{});
}

TEST_P(JobStore, OnlyTheLastTokenOfAJobIsGood) {
  run(put{.tube = "a", .body = ""});
  const reservation old = run(claim{{"a"}}).jobs.at(0).token;
  EXPECT_EQ(run(abandon{old}).what, holder::done);
  const reservation now = run(claim{{"a"}}).jobs.at(0).token;
  EXPECT_NE(old, now);
  reservation other_opening = now;
  other_opening.opening += 1;
  reservation other_attempt = now;
  other_attempt.attempt += 1;
  for (const reservation& bad : {old, other_opening, other_attempt, reservation{}}) {
    EXPECT_EQ(run(finish{bad}).what, holder::not_held);
    EXPECT_EQ(run(release{bad}).what, holder::not_held);
    EXPECT_EQ(run(abandon{bad}).what, holder::not_held);
    EXPECT_EQ(run(bury{bad}).what, holder::not_held);
    EXPECT_EQ(run(touch{bad}), holder_answer{holder::not_held});
  }
  EXPECT_EQ(run(finish{now}).what, holder::done);
}

TEST_P(JobStore, AReleasedJobIsReadyOrDelayed) {
  const job_id id = run(put{.tube = "a", .body = "", .priority = 3, .ttr = 1s}).id;
  reservation token = run(claim{{"a"}}).jobs.at(0).token;
  store_.pass(10ms);
  EXPECT_EQ(run(release{token}), holder_answer{});
  EXPECT_EQ(last_.ready_tubes, names{"a"});
  job seen = run(peek{id}).job.value();
  EXPECT_EQ(seen.state, job_state::ready);
  EXPECT_EQ(seen.priority, 3U);
  EXPECT_EQ(seen.due, store_.utc());
  EXPECT_EQ(seen.made, store_.utc() - 10ms);
  EXPECT_EQ(seen.expires, instant::never());
  EXPECT_EQ(seen.counters, (job_counters{.reserves = 1, .releases = 1}));

  token = run(claim{{"a"}}).jobs.at(0).token;
  EXPECT_EQ(run(release{token, priority{9}, 20ms}), holder_answer{});
  seen = run(peek{id}).job.value();
  EXPECT_EQ(seen.state, job_state::delayed);
  EXPECT_EQ(seen.priority, 9U);
  EXPECT_EQ(seen.due, store_.utc() + 20ms);
  EXPECT_EQ(seen.delay, 20ms);
  EXPECT_EQ(seen.counters.releases, 2U);
}

TEST_P(JobStore, AReleasedJobIsAheadOfYoungerOnes) {
  run(put{.tube = "a", .body = "old"});
  run(put{.tube = "a", .body = "young"});
  const reservation token = run(claim{{"a"}}).jobs.at(0).token;
  run(release{token});
  EXPECT_EQ(bodies(run(claim{{"a"}, 2})), (names{"old", "young"}));
}

TEST_P(JobStore, AnAbandonedJobIsReadyAndCountsNothing) {
  const job_id id = run(put{.tube = "a", .body = ""}).id;
  const reservation token = run(claim{{"a"}}).jobs.at(0).token;
  EXPECT_EQ(run(abandon{token}), holder_answer{});
  EXPECT_EQ(last_.ready_tubes, names{"a"});
  EXPECT_EQ(run(peek{id}).job->state, job_state::ready);
  EXPECT_EQ(run(peek{id}).job->counters, job_counters{.reserves = 1});
}

TEST_P(JobStore, BuriedJobsAreKickedInTheOrderOfTheirBurials) {
  std::vector<job_id> ids;
  for (const char* body : {"0", "1", "2"}) ids.push_back(run(put{.tube = "a", .body = body}).id);
  const claim_answer all = run(claim{{"a"}, 3});
  for (const std::size_t i : {std::size_t{2}, std::size_t{0}, std::size_t{1}}) {
    EXPECT_EQ(run(bury{all.jobs.at(i).token, priority{static_cast<priority>(i)}}), holder_answer{});
  }
  EXPECT_EQ(run(count_tube{"a"}).counts, job_counts{.buried = 3});
  const job first = run(peek_first{"a", job_state::buried}).job.value();
  EXPECT_EQ(first.id, ids[2]);
  EXPECT_EQ(first.priority, 2U);
  EXPECT_EQ(first.counters, (job_counters{.reserves = 1, .buries = 1}));
  EXPECT_TRUE(run(claim{{"a"}}).jobs.empty());

  store_.pass(1s);
  EXPECT_EQ(run(kick{"a", 0}), bulk_answer{0});
  EXPECT_EQ(run(kick{"a", 2}), bulk_answer{2});
  EXPECT_EQ(last_.ready_tubes, names{"a"});
  EXPECT_EQ(run(peek_first{"a", job_state::buried}).job->id, ids[1]);
  EXPECT_EQ(run(peek{ids[2]}).job->counters.kicks, 1U);
  EXPECT_EQ(run(peek{ids[2]}).job->due, store_.utc());
  EXPECT_EQ(bodies(run(claim{{"a"}, 3})), (names{"0", "2"}));
}

TEST_P(JobStore, AKickTakesDelayedJobsOnlyWhereNoneIsBuried) {
  run(put{.tube = "a", .body = "later", .due = 20ms});
  run(put{.tube = "a", .body = "sooner", .due = 10ms});
  run(put{.tube = "a", .body = "buried"});
  run(bury{run(claim{{"a"}}).jobs.at(0).token});
  EXPECT_EQ(run(kick{"a", 10}), bulk_answer{1});
  EXPECT_EQ(bodies(run(claim{{"a"}, 10})), names{"buried"});
  EXPECT_EQ(run(kick{"a", 1}), bulk_answer{1});
  EXPECT_EQ(bodies(run(claim{{"a"}, 10})), names{"sooner"});
  EXPECT_EQ(run(kick{"a", std::numeric_limits<std::uint64_t>::max()}), bulk_answer{1});
  EXPECT_EQ(bodies(run(claim{{"a"}, 10})), names{"later"});
}

TEST_P(JobStore, AKickMayBeOfOneState) {
  run(put{.tube = "a", .body = "delayed", .due = 1h});
  EXPECT_EQ(run(kick{"a", 10, job_state::buried}), bulk_answer{0});
  run(put{.tube = "a", .body = "buried"});
  run(bury{run(claim{{"a"}}).jobs.at(0).token});
  EXPECT_EQ(run(kick{"a", 10, job_state::delayed}), bulk_answer{1});
  EXPECT_EQ(bodies(run(claim{{"a"}, 10})), names{"delayed"});
  EXPECT_EQ(run(kick{"a", 10, job_state::delayed}), bulk_answer{0});
  EXPECT_EQ(run(kick{"a", 10, job_state::buried}), bulk_answer{1});
  EXPECT_EQ(bodies(run(claim{{"a"}, 10})), names{"buried"});
}

TEST_P(JobStore, AClaimWithoutABoundTakesNothingFromThoseWithOne) {
  for (int i = 0; i < 3; ++i) run(put{.tube = "a", .body = "12345"});
  std::vector<operation> batch{claim{{"a"}}, claim{{"a"}, 2, 5}};
  const execution done = store_->execute(batch);
  const auto& bounded = std::get<claim_answer>(done.answers.at(1));
  EXPECT_EQ(bounded.jobs.size(), 1U);
  EXPECT_EQ(bounded.what, claim_answer::kind::cut_short);
}

TEST_P(JobStore, KicksOneJob) {
  const job_id delayed = run(put{.tube = "a", .body = "", .due = 1h}).id;
  EXPECT_EQ(run(kick_job{delayed}), (change_answer{change::done, delayed}));
  EXPECT_EQ(run(kick_job{delayed}), (change_answer{change::refused, delayed}));
  const job seen = run(peek{delayed}).job.value();
  EXPECT_EQ(seen.state, job_state::ready);
  EXPECT_EQ(seen.due, store_.utc());
  EXPECT_EQ(seen.counters.kicks, 1U);
  run(bury{run(claim_job{delayed}).jobs.at(0).token});
  EXPECT_EQ(run(kick_job{delayed}).what, change::done);
  EXPECT_EQ(run(kick_job{delayed + 1000}), (change_answer{change::gone, 0}));
}

TEST_P(JobStore, CancelsByIdAndByKeyInEveryWaitingState) {
  const job_id delayed = run(put{.tube = "a", .key = "delayed", .body = "", .due = 1h}).id;
  const job_id buried = run(put{.tube = "a", .key = "buried", .body = ""}).id;
  run(bury{run(claim_job{buried}).jobs.at(0).token});
  const job_id ready = run(put{.tube = "a", .key = "ready", .body = ""}).id;
  EXPECT_EQ(run(cancel{job_key{"a", "delayed"}}), (change_answer{change::done, delayed}));
  EXPECT_EQ(run(cancel{job_key{"a", "buried"}}), (change_answer{change::done, buried}));
  EXPECT_EQ(run(cancel{ready}), (change_answer{change::done, ready}));
  for (const char* key : {"delayed", "buried", "ready"}) {
    EXPECT_EQ(run(cancel{job_key{"a", key}}), (change_answer{change::gone, 0}));
  }
  EXPECT_EQ(run(count_all{}), count_answer{});
  EXPECT_EQ(next_when_settled(), next_change{});
}

TEST_P(JobStore, ReschedulesInEveryWaitingState) {
  const job_id id = run(put{.tube = "a", .key = "k", .body = "", .due = 1h}).id;
  EXPECT_EQ(run(reschedule{job_key{"a", "k"}, 2h}), (change_answer{change::done, id}));
  EXPECT_EQ(run(peek{id}).job->due, store_.utc() + 2h);
  EXPECT_EQ(run(peek{id}).job->delay, 2h);
  EXPECT_EQ(run(reschedule{id, 0ms}).what, change::done);
  EXPECT_EQ(last_.ready_tubes, names{"a"});
  EXPECT_EQ(run(peek{id}).job->state, job_state::ready);
  EXPECT_EQ(run(reschedule{id, store_.utc() + 5ms}).what, change::done);
  EXPECT_EQ(run(peek{id}).job->state, job_state::delayed);
  EXPECT_EQ(run(peek{id}).job->delay, 5ms);
  run(bury{run(claim_job{id}).jobs.at(0).token});
  EXPECT_EQ(run(reschedule{id, forever_ago}).what, change::done);
  EXPECT_EQ(run(peek{id}).job->state, job_state::ready);
  EXPECT_EQ(run(peek{id}).job->due, forever_ago);
  EXPECT_EQ(run(peek{id}).job->delay, 0ms);
  EXPECT_EQ(run(peek{id}).job->counters, (job_counters{.reserves = 1, .buries = 1}));
}

TEST_P(JobStore, FiresNowInEveryWaitingState) {
  const job_id id = run(put{.tube = "a", .body = "", .due = 1h}).id;
  EXPECT_EQ(run(fire_now{id}), (change_answer{change::done, id}));
  EXPECT_EQ(last_.ready_tubes, names{"a"});
  const job ready = run(peek{id}).job.value();
  EXPECT_EQ(ready.state, job_state::ready);
  EXPECT_EQ(ready.due, store_.utc());
  store_.pass(5ms);
  EXPECT_EQ(run(fire_now{id}), (change_answer{change::done, id}));
  EXPECT_EQ(run(peek{id}).job, ready);
  run(bury{run(claim{{"a"}}).jobs.at(0).token});
  EXPECT_EQ(run(fire_now{id}), (change_answer{change::done, id}));
  EXPECT_EQ(run(peek{id}).job->state, job_state::ready);
  EXPECT_EQ(run(peek{id}).job->counters, (job_counters{.reserves = 1, .buries = 1}));
}

TEST_P(JobStore, ClaimsOneJobInEveryWaitingState) {
  const job_id delayed = run(put{.tube = "a", .body = "", .due = 1h}).id;
  const claim_answer first = run(claim_job{delayed});
  ASSERT_EQ(first.jobs.size(), 1U);
  EXPECT_EQ(run(abandon{first.jobs[0].token}).what, holder::done);
  EXPECT_EQ(run(peek{delayed}).job->state, job_state::ready);
  const claim_answer second = run(claim_job{delayed});
  ASSERT_EQ(second.jobs.size(), 1U);
  EXPECT_EQ(second.jobs[0].job.counters.reserves, 2U);
  run(bury{second.jobs[0].token});
  run(pause{"a", 1h});
  EXPECT_EQ(run(claim_job{delayed}).jobs.size(), 1U);
  EXPECT_FALSE(run(peek_first{"a", job_state::buried}).job);
}

// ---- keys ----

TEST_P(JobStore, AKeyIsUniqueInItsTube) {
  for (const job_state state : {job_state::delayed, job_state::ready, job_state::reserved, job_state::buried}) {
    const std::string tube = "tube " + std::to_string(static_cast<int>(state));
    const due_at due = state == job_state::delayed ? 1h : 0ms;
    const job_id id = run(put{.tube = tube, .key = "k", .body = "old", .due = due}).id;
    if (state == job_state::reserved || state == job_state::buried) {
      const reservation token = run(claim{{tube}}).jobs.at(0).token;
      if (state == job_state::buried) run(bury{token});
    }
    put again{.tube = tube, .key = "k", .body = "new"};
    EXPECT_EQ(run(again), (put_answer{put_kind::kept, id}));
    again.existing = on_existing::refuse;
    EXPECT_EQ(run(again), (put_answer{put_kind::exists, id}));
    EXPECT_EQ(run(peek{id}).job->body, "old");
    again.existing = on_existing::replace;
    const put_answer replaced = run(again);
    if (state == job_state::reserved) {
      EXPECT_EQ(replaced, (put_answer{put_kind::reserved, id}));
      EXPECT_EQ(run(peek{job_key{tube, "k"}}).job->body, "old");
    } else {
      EXPECT_EQ(replaced.what, put_kind::replaced);
      EXPECT_GT(replaced.id, id);
      EXPECT_FALSE(run(peek{id}).job);
      EXPECT_EQ(run(peek{job_key{tube, "k"}}).job->body, "new");
    }
    EXPECT_EQ(run(count_tube{tube}).counts.all(), 1U);
    EXPECT_EQ(run(put{.tube = tube + "'", .key = "k", .body = ""}).what, put_kind::inserted);
    EXPECT_EQ(run(put{.tube = tube, .body = ""}).what, put_kind::inserted);
  }
}

TEST_P(JobStore, AKeyIsFreeWhenItsJobIsGone) {
  for (const on_existing policy : {on_existing::keep, on_existing::refuse, on_existing::replace}) {
    const put with_key{.tube = "a", .key = "k", .body = "", .existing = policy};
    EXPECT_EQ(run(with_key).what, put_kind::inserted);
    run(finish{run(claim{{"a"}}).jobs.at(0).token});
    EXPECT_EQ(run(with_key).what, put_kind::inserted);
    EXPECT_EQ(run(clear_tube{"a", 5}), bulk_answer{1});
  }
}

// ---- counts and tubes ----

TEST_P(JobStore, CountsTheJobsOfEachState) {
  run(put{.tube = "a", .body = "", .priority = 1023});
  run(put{.tube = "a", .body = "", .priority = 1024});
  run(put{.tube = "a", .body = "", .priority = 0, .due = 1h});
  run(put{.tube = "b", .body = "", .priority = 0});
  run(put{.tube = "b", .body = "", .priority = 0});
  const claim_answer two = run(claim{{"b"}, 2});
  run(bury{two.jobs.at(0).token});
  EXPECT_EQ(run(count_tube{"a"}).counts, (job_counts{.urgent = 1, .ready = 2, .delayed = 1}));
  EXPECT_EQ(run(count_tube{"b"}).counts, (job_counts{.reserved = 1, .buried = 1}));
  EXPECT_EQ(run(count_all{}).counts, (job_counts{.urgent = 1, .ready = 2, .reserved = 1, .delayed = 1, .buried = 1}));
  EXPECT_EQ(run(list_tubes{}).tubes, (names{"a", "b"}));
  run(release{two.jobs.at(1).token, priority{1024}});
  EXPECT_EQ(run(count_tube{"b"}).counts, (job_counts{.ready = 1, .buried = 1}));
}

TEST_P(JobStore, ClearsTheReadyThenTheDelayedThenTheBuried) {
  const job_id buried = run(put{.tube = "a", .body = ""}).id;
  run(bury{run(claim{{"a"}}).jobs.at(0).token});
  const job_id later = run(put{.tube = "a", .body = "", .due = 2h}).id;
  const job_id sooner = run(put{.tube = "a", .body = "", .due = 1h}).id;
  const job_id ready = run(put{.tube = "a", .body = ""}).id;
  const job_id held = run(put{.tube = "a", .body = "", .priority = 0}).id;
  run(claim_job{held});
  const job_id other = run(put{.tube = "b", .body = ""}).id;
  EXPECT_EQ(run(clear_tube{"a", 0}), bulk_answer{0});
  for (const job_id next : {ready, sooner, later, buried}) {
    EXPECT_TRUE(run(peek{next}).job);
    EXPECT_EQ(run(clear_tube{"a", 1}), bulk_answer{1});
    EXPECT_FALSE(run(peek{next}).job);
  }
  EXPECT_EQ(run(clear_tube{"a", 10}), bulk_answer{0});
  EXPECT_TRUE(run(peek{held}).job);
  EXPECT_TRUE(run(peek{other}).job);
}

TEST_P(JobStore, ExecutesABatchInOrder) {
  std::vector<operation> batch{put{.tube = "a", .key = "1", .body = "1", .priority = 2},
                               put{.tube = "a", .key = "2", .body = "2", .priority = 1},
                               claim{{"a"}},
                               cancel{job_key{"a", "2"}},
                               cancel{job_key{"a", "1"}},
                               put{.tube = "a", .key = "1", .body = "3"},
                               count_tube{"a"},
                               peek{job_key{"a", "1"}}};
  const execution done = store_->execute(batch);
  check();
  ASSERT_EQ(done.answers.size(), batch.size());
  EXPECT_EQ(bodies(std::get<claim_answer>(done.answers[2])), names{"2"});
  EXPECT_EQ(std::get<change_answer>(done.answers[3]).what, change::reserved);
  EXPECT_EQ(std::get<change_answer>(done.answers[4]).what, change::done);
  EXPECT_EQ(std::get<put_answer>(done.answers[5]).what, put_kind::inserted);
  EXPECT_EQ(std::get<count_answer>(done.answers[6]).counts, (job_counts{.urgent = 1, .ready = 1, .reserved = 1}));
  EXPECT_EQ(std::get<peek_answer>(done.answers[7]).job->body, "3");
  EXPECT_EQ(done.ready_tubes, names{"a"});
}

TEST_P(JobStore, TakesTheLongestNamesAndAnyBytes) {
  const std::string tube(200, '\xff');
  const std::string key(200, '\x01');
  const std::string body(65'535, '\0');
  const job_id id = run(put{.tube = tube, .key = key, .body = body}).id;
  EXPECT_EQ(run(put{.tube = tube.substr(1), .key = key, .body = ""}).what, put_kind::inserted);
  EXPECT_EQ(run(put{.tube = tube, .key = key.substr(1), .body = "", .priority = 1}).what, put_kind::inserted);
  EXPECT_EQ(run(peek{job_key{tube, key}}).job->body, body);
  EXPECT_EQ(run(claim{{tube}}).jobs.at(0).job.id, id);
  EXPECT_EQ(run(list_tubes{}).tubes, (names{tube.substr(1), tube}));
}

}  // namespace
}  // namespace foliot::jobs::conformance
