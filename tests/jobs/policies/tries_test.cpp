// Policies of tubes: how often a job is tried, what is kept of its tries, and the delay before the next one.
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>

#include "policy_world.hpp"

namespace foliot::jobs {
namespace {

using namespace std::chrono_literals;
using namespace test;
using kind = failed_try::kind;

TEST(PolicyTries, WithoutAPolicyAReleaseIsAsBefore) {
  policy_world world;
  const job_id id = world.put_one();
  for (int i = 0; i < 50; ++i) {
    const auto got = world.claim_one();
    ASSERT_TRUE(got);
    world.run(release{.token = got->token});
  }
  EXPECT_TRUE(world.show(id)->history.empty());
  EXPECT_EQ(world.store->counters(), policy_counters{});
}

TEST(PolicyTries, AReleaseIsAFailedTryAndWaitsForTheNextOne) {
  policy_world world(mail({.tries = 3, .delay = {.first = 10s, .factor = 2}}));
  const job_id id = world.put_one();
  const utc_time first = world.clocks.utc();
  world.run(release{.token = world.claim_one()->token, .history = report("it is full", "host 7")});
  EXPECT_EQ(world.state_of(id), job_state::delayed);
  EXPECT_FALSE(world.claim_one());
  world.pass(duration(10s) - duration(1ms));
  EXPECT_EQ(world.state_of(id), job_state::delayed);
  world.pass(1ms);
  const utc_time second = world.clocks.utc();
  world.run(release{.token = world.claim_one()->token});
  world.pass(duration(20s) - duration(1ms));
  EXPECT_FALSE(world.claim_one());
  world.pass(1ms);
  const job_tries expected{.failed = 2,
                           .last = {{.when = first, .how = kind::released, .why = "it is full", .worker = "host 7"},
                                    {.when = second, .how = kind::released}}};
  EXPECT_EQ(world.tries_of(id), expected);
  EXPECT_FALSE(world.show(id)->history.find(tag_of_reason));
  EXPECT_EQ(world.store->counters().retried, 2U);
}

TEST(PolicyTries, ALaterDueTimeOfTheReleaseHolds) {
  policy_world world(mail({.delay = {.first = 10s}}));
  const job_id id = world.put_one();
  world.run(release{.token = world.claim_one()->token, .due = 30s});
  EXPECT_EQ(world.show(id)->due, world.clocks.utc() + 30s);
  world.pass(30s);
  const utc_time later = world.clocks.utc() + 11s;
  world.run(release{.token = world.claim_one()->token, .due = later});
  EXPECT_EQ(world.show(id)->due, later);
  world.pass(11s);
  world.run(release{.token = world.claim_one()->token, .due = world.clocks.utc() + 9s});
  EXPECT_EQ(world.show(id)->due, world.clocks.utc() + 10s);
}

TEST(PolicyTries, BehindTheLastOneTheJobIsBuriedWithItsReasons) {
  policy_world world(mail({.tries = 2}));
  const job_id id = world.put_one();
  world.run(release{.token = world.claim_one()->token});
  const auto got = world.claim_one();
  EXPECT_EQ(world.only(release{.token = got->token, .priority = 5, .history = report("no")}).what,
            holder_answer::kind::done);
  EXPECT_EQ(world.state_of(id), job_state::buried);
  EXPECT_EQ(world.show(id)->priority, 5U);
  EXPECT_EQ(world.tries_of(id).failed, 2U);
  EXPECT_EQ(world.tries_of(id).last.back().why, "no");
  EXPECT_EQ(world.store->counters().buried, 1U);
  EXPECT_EQ(world.store->counters().retried, 1U);
}

TEST(PolicyTries, AKickBeginsTheCountAnew) {
  policy_world world(mail({.tries = 2}));
  const job_id id = world.put_one();
  for (int life = 0; life < 3; ++life) {
    world.run(release{.token = world.claim_one()->token});
    EXPECT_EQ(world.tries_of(id).failed, 1U) << life;
    world.run(release{.token = world.claim_one()->token});
    EXPECT_EQ(world.state_of(id), job_state::buried);
    world.run(kick{.tube = "mail"});
  }
  EXPECT_TRUE(world.claim_one());
  EXPECT_EQ(world.store->counters().buried, 3U);
}

TEST(PolicyTries, WithoutAKickABuriedJobIsNotTriedAgain) {
  policy_world world(mail({.tries = 1}));
  const job_id id = world.put_one();
  world.run(release{.token = world.claim_one()->token});
  world.run(fire_now{id});
  EXPECT_FALSE(world.claim_one());
  EXPECT_EQ(world.state_of(id), job_state::buried);
  world.run(reschedule{id, 0ms});
  EXPECT_FALSE(world.claim_one());
  EXPECT_EQ(world.state_of(id), job_state::buried);
}

TEST(PolicyTries, AJobThatIsNamedIsHandedOutAndTheEndOfThatTryIsTheLastAgain) {
  policy_world world(mail({.tries = 1}));
  const job_id id = world.put_one();
  world.run(release{.token = world.claim_one()->token});
  const claim_answer named = world.run(claim_job{id});
  ASSERT_EQ(named.jobs.size(), 1U);
  world.run(release{.token = named.jobs[0].token});
  EXPECT_EQ(world.state_of(id), job_state::buried);
  EXPECT_EQ(world.tries_of(id).failed, 2U);
}

TEST(PolicyTries, TheEndOfATtrIsAFailedTry) {
  policy_world world(mail({.tries = 2, .delay = {.first = 5s}}));
  const job_id id = world.put_one();
  ASSERT_TRUE(world.claim_one());
  world.pass(10s);
  EXPECT_EQ(world.state_of(id), job_state::reserved);
  world.pass(1ms);
  EXPECT_EQ(world.state_of(id), job_state::delayed);
  EXPECT_EQ(world.show(id)->due, world.clocks.utc() + 5s);
  const job_tries expected{
      .failed = 1, .seen_timeouts = 1, .last = {{.when = world.clocks.utc(), .how = kind::timed_out}}};
  EXPECT_EQ(world.tries_of(id), expected);
  world.pass(5s);
  ASSERT_TRUE(world.claim_one());
  world.pass(11s);
  EXPECT_EQ(world.state_of(id), job_state::buried);
  EXPECT_EQ(world.tries_of(id).failed, 2U);
  EXPECT_EQ(world.store->counters(), (policy_counters{.retried = 1, .buried = 1}));
}

TEST(PolicyTries, ATouchBeginsTheTtrAgain) {
  policy_world world(mail({.tries = 1}));
  const job_id id = world.put_one();
  const auto got = world.claim_one();
  for (int i = 0; i < 5; ++i) {
    world.pass(9s);
    EXPECT_EQ(world.run(touch{got->token}).what, holder_answer::kind::done);
  }
  world.run(release{.token = got->token, .history = report("late")});
  EXPECT_EQ(world.tries_of(id).last.back().why, "late");
}

TEST(PolicyTries, ATtrThatEndedWhileNobodyLookedIsCountedAtTheNextClaim) {
  policy_world world;
  const job_id id = world.put_one();
  ASSERT_TRUE(world.claim_one());
  world.pass(11s);
  EXPECT_EQ(world.state_of(id), job_state::ready);
  world.set(mail({.tries = 1}));
  EXPECT_FALSE(world.claim_one());
  EXPECT_EQ(world.state_of(id), job_state::buried);
}

TEST(PolicyTries, TheTubeSaysWhichFailuresCount) {
  policy_world world(mail({.tries = 1, .counts_releases = false}));
  const job_id id = world.put_one();
  for (int i = 0; i < 3; ++i) world.run(release{.token = world.claim_one()->token, .history = report("later")});
  EXPECT_EQ(world.tries_of(id).failed, 0U);
  EXPECT_EQ(world.tries_of(id).last.size(), 3U);
  world.set(mail({.tries = 1, .counts_timeouts = false}));
  ASSERT_TRUE(world.claim_one());
  world.pass(11s);
  EXPECT_EQ(world.state_of(id), job_state::ready);
  world.run(release{.token = world.claim_one()->token});
  EXPECT_EQ(world.state_of(id), job_state::buried);
  EXPECT_EQ(world.tries_of(id).failed, 1U);
  EXPECT_EQ(world.tries_of(id).last.at(3).how, kind::timed_out);
  EXPECT_EQ(world.tries_of(id).last.at(4).how, kind::released);
}

TEST(PolicyTries, AnAbandonedReservationIsNoFailedTry) {
  policy_world world(mail({.tries = 1}));
  const job_id id = world.put_one();
  for (int i = 0; i < 5; ++i) world.run(abandon{world.claim_one()->token});
  EXPECT_EQ(world.state_of(id), job_state::ready);
  EXPECT_TRUE(world.show(id)->history.empty());
}

TEST(PolicyTries, ABuryOfAWorkerIsNotedAndNotCounted) {
  policy_world world(mail({.tries = 2, .dead_letters = "dead"}));
  const job_id id = world.put_one();
  world.run(bury{.token = world.claim_one()->token, .history = report("odd", "me")});
  EXPECT_EQ(world.state_of(id), job_state::buried);
  const job_tries expected{.last = {{.when = world.clocks.utc(), .how = kind::buried, .why = "odd", .worker = "me"}}};
  EXPECT_EQ(world.tries_of(id), expected);
}

TEST(PolicyTries, AHistoryOfAWorkerReplacesTheOldOneAndKeepsTheTries) {
  policy_world world(mail({.tries = 9}));
  const job_id id = world.put_one();
  job_fields mine;
  ASSERT_TRUE(mine.set(first_own_tag, "one"));
  world.run(release{.token = world.claim_one()->token, .history = mine});
  EXPECT_EQ(world.show(id)->history.find(first_own_tag), "one");
  world.run(release{.token = world.claim_one()->token, .history = report("why")});
  EXPECT_EQ(world.show(id)->history.find(first_own_tag), "one");
  EXPECT_EQ(world.tries_of(id).failed, 2U);
  job_fields other;
  ASSERT_TRUE(other.set(first_own_tag + 1, "two"));
  ASSERT_TRUE(other.set(tag_of_tries, "what a client invents"));
  world.run(release{.token = world.claim_one()->token, .history = other});
  EXPECT_FALSE(world.show(id)->history.find(first_own_tag));
  EXPECT_EQ(world.show(id)->history.find(first_own_tag + 1), "two");
  EXPECT_EQ(world.tries_of(id).failed, 3U);
}

TEST(PolicyTries, AReasonIsKeptWithoutAPolicyAndCountsNothing) {
  policy_world world;
  world.store->set_policies(nullptr);
  const job_id id = world.put_one();
  world.run(release{.token = world.claim_one()->token, .history = report("no policy", "w")});
  EXPECT_EQ(world.state_of(id), job_state::ready);
  EXPECT_EQ(world.tries_of(id).failed, 0U);
  ASSERT_EQ(world.tries_of(id).last.size(), 1U);
  EXPECT_EQ(world.tries_of(id).last[0].why, "no policy");
  // The timeouts stay to be counted when there is a policy.
  ASSERT_TRUE(world.claim_one());
  world.pass(11s);
  world.run(bury{.token = world.claim_one()->token, .history = report("odd")});
  EXPECT_EQ(world.tries_of(id).seen_timeouts, 0U);
}

TEST(PolicyTries, WhereATubeHasNoPolicyAnotherHistoryKeepsTheTries) {
  policy_world world({{"other", {.tries = 1}}});
  const job_id id = world.put_one();
  world.run(release{.token = world.claim_one()->token, .history = report("first")});
  job_fields mine;
  ASSERT_TRUE(mine.set(first_own_tag, "mine"));
  world.run(release{.token = world.claim_one()->token, .history = mine});
  EXPECT_EQ(world.show(id)->history.find(first_own_tag), "mine");
  ASSERT_EQ(world.tries_of(id).last.size(), 1U);
  EXPECT_EQ(world.tries_of(id).last[0].why, "first");
}

TEST(PolicyTries, AReservationOfAnotherNodeEndsByThePolicy) {
  policy_world world(mail({.tries = 1}));
  const job_id id = world.put_one();
  const auto got = world.claim_one();
  world.restart();
  world.run(release{.token = got->token, .history = report("other")});
  EXPECT_EQ(world.state_of(id), job_state::buried);
  EXPECT_EQ(world.tries_of(id).last.back().why, "other");
  EXPECT_EQ(world.run(release{.token = got->token}).what, holder_answer::kind::not_held);
}

TEST(PolicyTries, TriesThatALaterVersionWroteStayAndNothingCounts) {
  policy_world world(mail({.tries = 1, .delay = {.first = 1s}}));
  job_fields later;
  ASSERT_TRUE(later.set(tag_of_tries, "\x02 later"));
  const job_id id = world.put_one(put{.tube = "mail", .body = "b", .ttr = 10s, .history = later});
  for (int i = 0; i < 3; ++i) {
    const auto got = world.claim_one();
    ASSERT_TRUE(got);
    world.run(release{.token = got->token, .history = report("x")});
    EXPECT_EQ(world.show(id)->history, later);
    world.pass(5s);
  }
  ASSERT_TRUE(world.claim_one());
  world.pass(11s);
  EXPECT_TRUE(world.claim_one());
}

TEST(PolicyTries, AHistoryWithoutRoomForTheNumbersStaysAndTimeoutsCountByTheirCounter) {
  policy_world world(mail({.tries = 2}));
  job_fields full;
  ASSERT_TRUE(full.set(first_own_tag, std::string(most_field_bytes - 4, 'x')));
  const job_id id = world.put_one(put{.tube = "mail", .body = "b", .ttr = 10s, .history = full});
  ASSERT_TRUE(world.claim_one());
  world.pass(11s);
  ASSERT_TRUE(world.claim_one());
  world.pass(11s);
  EXPECT_EQ(world.state_of(id), job_state::buried);
  EXPECT_EQ(world.show(id)->history, full);
}

TEST(PolicyTries, ACounterBelowTheSeenOneIsNoTimeout) {
  policy_world world(mail({.tries = 3}));
  job_fields ahead;  // as if the store had forgotten what has happened since
  ASSERT_TRUE((job_tries{.failed = 1, .seen_timeouts = 5, .seen_kicks = 4}.write(ahead)));
  const job_id id = world.put_one(put{.tube = "mail", .body = "b", .ttr = 10s, .history = ahead});
  world.run(release{.token = world.claim_one()->token});
  EXPECT_EQ(world.tries_of(id).failed, 2U);
  EXPECT_EQ(world.tries_of(id).seen_timeouts, 0U);
  EXPECT_EQ(world.tries_of(id).seen_kicks, 0U);
}

TEST(PolicyTries, ThePolicyAtTheEndOfAReservationCounts) {
  policy_world world;
  const job_id id = world.put_one();
  const auto got = world.claim_one();
  world.set(mail({.tries = 1}));
  world.run(release{.token = got->token});
  EXPECT_EQ(world.state_of(id), job_state::buried);
  world.run(kick{.tube = "mail"});
  const auto again = world.claim_one();
  world.set({});
  world.run(release{.token = again->token});
  EXPECT_EQ(world.state_of(id), job_state::ready);
}

TEST(PolicyTries, ManyOperationsOfABatchHaveTheirAnswersInTheirOrder) {
  policy_world world(mail({.tries = 1}));
  const job_id first = world.put_one();
  const job_id second = world.put_one();
  const reservation one = world.claim_one()->token;
  const reservation two = world.claim_one()->token;
  std::vector<operation> batch;
  batch.emplace_back(release{.token = one});
  batch.emplace_back(count_tube{"mail"});
  batch.emplace_back(finish{two});
  batch.emplace_back(release{.token = two});
  batch.emplace_back(put{.tube = "mail", .body = "x"});
  const execution done = world.store->execute(batch);
  ASSERT_EQ(done.answers.size(), 5U);
  EXPECT_EQ(std::get<holder_answer>(done.answers[0]).what, holder_answer::kind::done);
  EXPECT_EQ(std::get<count_answer>(done.answers[1]).counts.buried, 1U);
  EXPECT_EQ(std::get<holder_answer>(done.answers[2]).what, holder_answer::kind::done);
  EXPECT_EQ(std::get<holder_answer>(done.answers[3]).what, holder_answer::kind::not_held);
  EXPECT_EQ(std::get<put_answer>(done.answers[4]).what, put_answer::kind::inserted);
  EXPECT_EQ(world.state_of(first), job_state::buried);
  EXPECT_FALSE(world.show(second));
}

}  // namespace
}  // namespace foliot::jobs
