// The conformance suite case by case: operations that happen once (once.hpp).
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "conformance.hpp"

namespace foliot::jobs::conformance {
namespace {

using namespace std::chrono_literals;
using put_kind = put_answer::kind;

sha256 digest(unsigned number) {
  sha256 made{};
  made[0] = static_cast<std::byte>(number);
  made[31] = static_cast<std::byte>(number >> 8U);
  return made;
}

once once_of(unsigned key, milliseconds lifetime = 1h, unsigned request = 1) {
  return {digest(key), digest(1000 + request), lifetime};
}

put put_once(unsigned key, milliseconds lifetime = 1h, unsigned request = 1) {
  return {.tube = "a", .body = "hello", .once = once_of(key, lifetime, request)};
}

claim claim_once(unsigned key, std::uint32_t count, unsigned request = 1) {
  return {.tubes = {"a"}, .count = count, .once = once_of(key, 1h, request)};
}

put_answer replayed(put_answer it) {
  it.is_replayed = true;
  return it;
}

TEST_P(JobStore, PutsOnceHoweverOftenItIsSent) {
  const put_answer first = run(put_once(1));
  EXPECT_EQ(first.what, put_kind::inserted);
  EXPECT_FALSE(first.is_replayed);
  EXPECT_EQ(run(put_once(1)), replayed(first));
  EXPECT_EQ(run(count_all{}).counts.all(), 1U);
  EXPECT_NE(run(put_once(2)).id, first.id);
  EXPECT_EQ(run(count_all{}).counts.all(), 2U);
  run(cancel{first.id});
  EXPECT_EQ(run(put_once(1)), replayed(first)) << "whatever has become of the job";
  EXPECT_EQ(run(count_all{}).counts.all(), 1U);
}

TEST_P(JobStore, ReplaysThatAJobWasKeptOrReplaced) {
  const job_id old = run(put{.tube = "a", .key = "k", .body = "old", .due = 1h}).id;
  put keeping = put_once(1);
  keeping.key = "k";
  put replacing = put_once(2);
  replacing.key = "k";
  replacing.existing = on_existing::replace;
  EXPECT_EQ(run(keeping), (put_answer{put_kind::kept, old}));
  const put_answer replaced = run(replacing);
  EXPECT_EQ(replaced.what, put_kind::replaced);
  EXPECT_EQ(run(keeping), replayed({put_kind::kept, old})) << "though there is another job now";
  run(put{.tube = "a", .key = "k", .body = "newer", .existing = on_existing::replace});
  EXPECT_EQ(run(replacing), replayed(replaced));
  EXPECT_EQ(run(peek{job_key{"a", "k"}}).job.value().body, "newer");
}

TEST_P(JobStore, AnswersThatTheKeyIsThatOfAnotherRequest) {
  const put_answer first = run(put_once(1));
  EXPECT_EQ(run(put_once(1, 1h, 2)), (put_answer{put_kind::other_request}));
  EXPECT_EQ(run(count_all{}).counts.all(), 1U);
  EXPECT_EQ(run(put_once(1)), replayed(first));
  const put_all all{{{.tube = "a", .body = "x"}}, once_of(2)};
  const put_all other{{{.tube = "a", .body = "x"}}, once_of(2, 1h, 2)};
  EXPECT_EQ(run(all).what, put_all_answer::kind::done);
  EXPECT_EQ(run(other), (put_all_answer{.what = put_all_answer::kind::other_request}));
  EXPECT_EQ(run(claim_once(3, 1)).jobs.size(), 1U);
  EXPECT_EQ(run(claim_once(3, 1, 2)), (claim_answer{{}, claim_answer::kind::other_request}));
  EXPECT_EQ(run(count_all{}).counts.ready, 1U);
}

TEST_P(JobStore, ForgetsAtTheMillisecondInWhichTheLifetimeEnds) {
  const put_answer first = run(put_once(1, 5ms));
  store_.pass(4'999'999ns);
  EXPECT_EQ(run(put_once(1, 5ms)), replayed(first));
  store_.pass(1ns);
  const put_answer second = run(put_once(1, 5ms));
  EXPECT_EQ(second.what, put_kind::inserted) << "a replay does not prolong the lifetime";
  EXPECT_FALSE(second.is_replayed);
  EXPECT_NE(second.id, first.id);
  EXPECT_EQ(run(put_once(1, 5ms)), replayed(second));
}

TEST_P(JobStore, DoesNotCutALifetimeShort) {
  store_.pass(300us);
  const put_answer first = run(put_once(1, 1ms));
  store_.pass(1'699'999ns);  // 1 ms from the next whole millisecond on
  EXPECT_EQ(run(put_once(1, 1ms)), replayed(first));
  store_.pass(1ns);
  EXPECT_NE(run(put_once(1, 1ms)).id, first.id);
}

TEST_P(JobStore, RemembersAKeyThatIsUsedAgainAfterItsEnd) {
  run(put_once(1, 5ms, 1));
  run(put_once(2, 1h));
  store_.pass(5ms);
  const put_answer again = run(put_once(1, 1h, 2));
  EXPECT_EQ(again.what, put_kind::inserted) << "also for another request";
  for (int i = 0; i < 3; ++i) {
    store_.pass(10s);
    settle();  // may remove what has ended
  }
  EXPECT_EQ(run(put_once(1, 1h, 2)), replayed(again));
}

TEST_P(JobStore, RemembersWhileTheWallClockIsSetBack) {
  const put_answer first = run(put_once(1, 1h));
  store_.step_wall(-24h);
  EXPECT_EQ(run(put_once(1, 1h)), replayed(first));
  store_.step_wall(25h);
  EXPECT_NE(run(put_once(1, 1h)).id, first.id);
}

TEST_P(JobStore, DoesNotRememberARefusedPut) {
  const job_id old = run(put{.tube = "a", .key = "k", .body = "old"}).id;
  put refusing = put_once(1);
  refusing.key = "k";
  refusing.existing = on_existing::refuse;
  EXPECT_EQ(run(refusing), (put_answer{put_kind::exists, old}));
  put expecting = put_once(2);
  expecting.key = "other";
  expecting.existing = on_existing::replace;
  expecting.expected = 1;
  EXPECT_EQ(run(expecting).what, put_kind::other_version);
  EXPECT_EQ(run(expecting).what, put_kind::other_version);
  ASSERT_EQ(run(claim{{"a"}}).jobs.size(), 1U);
  put replacing = put_once(3);
  replacing.key = "k";
  replacing.existing = on_existing::replace;
  EXPECT_EQ(run(replacing), (put_answer{put_kind::reserved, old}));
  store_.pass(2min);
  settle();
  ASSERT_EQ(run(cancel{old}).what, change_answer::kind::done);
  const put_answer put_at_last = run(refusing);
  EXPECT_EQ(put_at_last.what, put_kind::inserted);
  EXPECT_FALSE(put_at_last.is_replayed);
  EXPECT_EQ(run(refusing), replayed(put_at_last));
  EXPECT_EQ(run(replacing).what, put_kind::replaced);
  EXPECT_EQ(run(refusing), replayed(put_at_last)) << "though it would be refused now";
}

TEST_P(JobStore, PutsAllOnce) {
  const job_id kept = run(put{.tube = "a", .key = "k", .body = "old", .due = 1h}).id;
  const put_all all{{{.tube = "a", .body = "1"}, {.tube = "a", .key = "k", .body = "2"}, {.tube = "b", .body = "3"}},
                    once_of(1)};
  const put_all_answer first = run(all);
  ASSERT_EQ(first.what, put_all_answer::kind::done);
  EXPECT_FALSE(first.is_replayed);
  put_all_answer expected = first;
  expected.is_replayed = true;
  EXPECT_EQ(first.puts.at(1), (put_answer{put_kind::kept, kept}));
  EXPECT_EQ(run(all), expected);
  EXPECT_EQ(run(count_all{}).counts.all(), 3U);
  run(clear_tube{"b"});
  run(cancel{kept});
  EXPECT_EQ(run(all), expected);
  EXPECT_EQ(run(count_all{}).counts.all(), 1U);
}

TEST_P(JobStore, DoesNotRememberAPutAllOfWhichOneIsRefused) {
  const job_id there = run(put{.tube = "a", .key = "k", .body = "old", .due = 1h}).id;
  const put_all all{
      {{.tube = "a", .body = "1"}, {.tube = "a", .key = "k", .body = "2", .existing = on_existing::refuse}},
      once_of(1)};
  for (int i = 0; i < 2; ++i) {
    const put_all_answer refused = run(all);
    EXPECT_EQ(refused.what, put_all_answer::kind::refused);
    EXPECT_EQ(refused.place, 1U);
    EXPECT_EQ(run(count_all{}).counts.all(), 1U);
  }
  run(cancel{there});
  const put_all_answer done = run(all);
  EXPECT_EQ(done.what, put_all_answer::kind::done);
  EXPECT_FALSE(done.is_replayed);
  EXPECT_TRUE(run(all).is_replayed);
  EXPECT_EQ(run(count_all{}).counts.all(), 2U);
}

TEST_P(JobStore, ClaimsOnce) {
  for (int i = 0; i < 5; ++i) run(put{.tube = "a", .body = std::to_string(i), .ttr = 1min});
  const claim_answer first = run(claim_once(1, 3));
  ASSERT_EQ(first.jobs.size(), 3U);
  EXPECT_FALSE(first.is_replayed);
  claim_answer expected = first;
  expected.is_replayed = true;
  EXPECT_EQ(run(claim_once(1, 3)), expected);
  EXPECT_EQ(run(count_all{}).counts.ready, 2U);

  store_.pass(10s);
  const holder_answer touched = run(touch{first.jobs[1].token});
  run(finish{first.jobs[0].token});
  expected.jobs.erase(expected.jobs.begin());
  expected.jobs[0].job.expires = touched.expires;
  EXPECT_EQ(run(claim_once(1, 3)), expected) << "with the jobs as they are";

  run(release{first.jobs[1].token});
  ASSERT_EQ(run(claim_job{first.jobs[1].job.id}).jobs.size(), 1U) << "by somebody else";
  expected.jobs.erase(expected.jobs.begin());
  EXPECT_EQ(run(claim_once(1, 3)), expected);

  run(bury{first.jobs[2].token});
  expected.jobs.clear();
  EXPECT_EQ(run(claim_once(1, 3)), expected);
  EXPECT_EQ(run(count_all{}).counts.ready, 2U) << "it claims no others";
}

TEST_P(JobStore, AClaimOfNoJobsLooksForItsOnceAlone) {
  run(put{.tube = "a", .body = "hello", .ttr = 1min});
  run(put{.tube = "a", .body = "world", .ttr = 1min});
  EXPECT_EQ(run(claim{.tubes = {"a"}, .count = 0}), claim_answer{});
  EXPECT_EQ(run(claim_once(1, 0)), claim_answer{}) << "nobody has claimed so";
  EXPECT_EQ(run(count_all{}).counts.ready, 2U);
  const claim_answer first = run(claim_once(1, 1));
  ASSERT_EQ(first.jobs.size(), 1U) << "what has found nothing is not remembered";
  EXPECT_FALSE(first.is_replayed);
  claim_answer expected = first;
  expected.is_replayed = true;
  EXPECT_EQ(run(claim_once(1, 0)), expected);
  EXPECT_EQ(run(claim_once(1, 0, 2)), (claim_answer{{}, claim_answer::kind::other_request}));
  EXPECT_EQ(run(count_all{}).counts.ready, 1U);
}

TEST_P(JobStore, AReplayedClaimHasNoReservationWhoseTimeIsOver) {
  run(put{.tube = "a", .body = "short", .ttr = 5ms});
  run(put{.tube = "a", .body = "long", .ttr = 1min});
  const claim_answer first = run(claim_once(1, 2));
  ASSERT_EQ(first.jobs.size(), 2U);
  store_.pass(5ms);
  EXPECT_EQ(run(claim_once(1, 2)).jobs, first.jobs) << "at its end it is still alive";
  store_.pass(1ns);
  const claim_answer again = run(claim_once(1, 2));
  EXPECT_TRUE(again.is_replayed);
  ASSERT_EQ(again.jobs.size(), 1U);
  EXPECT_EQ(again.jobs[0], first.jobs[1]);
}

TEST_P(JobStore, DoesNotRememberAClaimWithoutJobs) {
  EXPECT_EQ(run(claim_once(1, 2)), claim_answer{});
  run(put{.tube = "a", .body = "x"});
  const claim_answer first = run(claim_once(1, 2, 2));
  EXPECT_EQ(first.jobs.size(), 1U);
  EXPECT_FALSE(first.is_replayed);
  EXPECT_EQ(run(claim_once(1, 2, 2)).jobs, first.jobs);
}

TEST_P(JobStore, TwinsInOneBatchHappenOnce) {
  const put_all all{{{.tube = "a", .body = "1"}, {.tube = "a", .body = "2"}}, once_of(2)};
  std::vector<operation> batch{put_once(1),      put_once(1), put_once(1, 1h, 2), all,        all, claim_once(3, 2),
                               claim_once(3, 2), finish{},    claim_once(3, 2),   count_all{}};
  last_ = store_->execute(batch);
  check();
  const auto put_of = [this](std::size_t i) { return std::get<put_answer>(last_.answers.at(i)); };
  const auto all_of = [this](std::size_t i) { return std::get<put_all_answer>(last_.answers.at(i)); };
  const auto claim_of = [this](std::size_t i) { return std::get<claim_answer>(last_.answers.at(i)); };
  EXPECT_EQ(put_of(0).what, put_kind::inserted);
  EXPECT_EQ(put_of(1), replayed(put_of(0)));
  EXPECT_EQ(put_of(2).what, put_kind::other_request);
  EXPECT_EQ(all_of(3).what, put_all_answer::kind::done);
  EXPECT_TRUE(all_of(4).is_replayed);
  EXPECT_EQ(all_of(4).puts, all_of(3).puts);
  EXPECT_EQ(claim_of(5).jobs.size(), 2U);
  EXPECT_FALSE(claim_of(5).is_replayed);
  EXPECT_TRUE(claim_of(6).is_replayed);
  EXPECT_EQ(claim_of(6).jobs, claim_of(5).jobs);
  EXPECT_EQ(claim_of(8).jobs, claim_of(5).jobs);
  EXPECT_EQ(std::get<count_answer>(last_.answers.at(9)).counts.all(), 3U);
}

TEST_P(JobStore, AReplayHasNoEffect) {
  put first = put_once(1);
  first.key = "k";
  first.due = 10ms;
  const job_id id = run(first).id;
  run(put{.tube = "a", .body = "ready"});
  const claim_answer claimed = run(claim_once(2, 1));
  store_.pass(5ms);
  settle();
  const peek_answer before = run(peek{id});
  const peek_answer held = run(peek{claimed.jobs.at(0).job.id});
  EXPECT_TRUE(run(first).is_replayed);
  EXPECT_TRUE(last_.ready_tubes.empty());
  EXPECT_TRUE(run(claim_once(2, 1)).is_replayed);
  EXPECT_TRUE(last_.ready_tubes.empty());
  EXPECT_EQ(run(peek{id}), before);
  EXPECT_EQ(run(peek{claimed.jobs.at(0).job.id}), held);
}

TEST_P(ReopenedJobStore, RemembersPutsOverItsOpenings) {
  for (const ending how : {ending::orderly, ending::crash}) {
    const unsigned key = how == ending::crash ? 10 : 20;
    put keyed = put_once(key);
    keyed.key = "k" + std::to_string(key);
    const put_answer first = run(keyed);
    put keeping = put_once(key + 1);
    keeping.key = keyed.key;
    EXPECT_EQ(run(keeping).what, put_kind::kept);
    const put_all all{{{.tube = "a", .body = "1"}, {.tube = "b", .body = "2"}}, once_of(key + 2)};
    const put_all_answer all_put = run(all);
    run(put_once(key + 3, 5ms));
    const std::uint64_t jobs = run(count_all{}).counts.all();
    put keeping_at_last = keeping;  // changes nothing but what is remembered
    keeping_at_last.once = once_of(key + 4);
    EXPECT_FALSE(run(keeping_at_last).is_replayed);
    store_.reopen(how);
    check();
    EXPECT_EQ(run(keyed), replayed(first));
    EXPECT_EQ(run(keeping), replayed({put_kind::kept, first.id}));
    EXPECT_EQ(run(keeping_at_last), replayed({put_kind::kept, first.id}));
    const put_all_answer again = run(all);
    EXPECT_TRUE(again.is_replayed);
    EXPECT_EQ(again.puts, all_put.puts);
    EXPECT_EQ(run(put_once(key, 1h, 2)).what, put_kind::other_request);
    EXPECT_EQ(run(count_all{}).counts.all(), jobs);
    store_.pass(5ms);
    EXPECT_FALSE(run(put_once(key + 3, 5ms)).is_replayed);
    store_.pass(1h);
    store_.reopen(how);
    check();
    EXPECT_FALSE(run(put_once(key)).is_replayed) << "its lifetime has ended while the store was closed";
    settle();
  }
}

TEST_P(ReopenedJobStore, NoReplayedClaimHasAReservationOfAnEarlierOpening) {
  run(put{.tube = "a", .body = "x"});
  ASSERT_EQ(run(claim_once(1, 1)).jobs.size(), 1U);
  store_.reopen(ending::orderly);
  const claim_answer again = run(claim_once(1, 1));
  // A store may have forgotten the claim with its reservations, or not.
  EXPECT_EQ(again.jobs.empty(), again.is_replayed);
  EXPECT_EQ(run(claim_once(2, 1)).jobs.empty(), !again.is_replayed);
}

}  // namespace
}  // namespace foliot::jobs::conformance
