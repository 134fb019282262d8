// Policies of tubes: the dead letters, which a job goes to once, whatever happens in between.
#include <gtest/gtest.h>

#include <chrono>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "policy_world.hpp"

namespace foliot::jobs {
namespace {

using namespace std::chrono_literals;
using namespace test;
using kind = failed_try::kind;

policy_table with_dead_letters(std::uint32_t tries = 1) { return {{"mail", {.tries = tries, .dead_letters = "dead"}}}; }

std::vector<job> jobs_in(policy_world& world, const std::string& tube) {
  std::vector<job> found;
  for (const listed_job& each : world.run(list_jobs{.tube = tube}).jobs) found.push_back(*world.show(each.job.id));
  return found;
}

TEST(DeadLetters, HaveTheJobWithItsFieldsAndItsHistory) {
  policy_world world(with_dead_letters(2));
  const job_id id = world.put_one(
      put{.tube = "mail", .key = "k 1", .body = "hello", .priority = 7, .ttr = 9s, .fields = in_group("g")});
  const utc_time when = world.clocks.utc();
  world.run(release{.token = world.claim_one()->token, .history = report("first")});
  EXPECT_TRUE(jobs_in(world, "dead").empty());
  EXPECT_EQ(world.run(release{.token = world.claim_one()->token, .history = report("second", "w")}).what,
            holder_answer::kind::done);
  EXPECT_FALSE(world.show(id));
  const std::vector<job> dead = jobs_in(world, "dead");
  ASSERT_EQ(dead.size(), 1U);
  EXPECT_EQ(dead[0].body, "hello");
  EXPECT_EQ(dead[0].key, "");
  EXPECT_EQ(dead[0].priority, 7U);
  EXPECT_EQ(dead[0].ttr, 9s);
  EXPECT_EQ(dead[0].state, job_state::ready);
  EXPECT_EQ(dead[0].fields, in_group("g"));
  const job_tries expected{.last = {{.when = when, .how = kind::released, .why = "first"},
                                    {.when = when, .how = kind::released, .why = "second", .worker = "w"},
                                    {.when = when, .how = kind::moved, .why = "mail", .worker = "1 k 1"}}};
  EXPECT_EQ(job_tries::in(dead[0].history), expected);
  EXPECT_EQ(world.store->counters(), (policy_counters{.retried = 1, .dead_letters = 1}));
}

TEST(DeadLetters, DoNotExpireByThemselves) {
  policy_world world(with_dead_letters());
  job_fields fields = expiring_at(world.clocks.utc() + 5s);
  ASSERT_TRUE(fields.set(tag_of_group, "g"));
  world.put_one("mail", fields);
  world.run(release{.token = world.claim_one()->token});
  world.pass(1h);
  const auto letter = world.claim_one("dead");
  ASSERT_TRUE(letter);
  EXPECT_EQ(letter->job.fields, in_group("g"));
}

TEST(DeadLetters, AnEndedTtrMovesTheJob) {
  policy_world world(with_dead_letters());
  const job_id id = world.put_one();
  ASSERT_TRUE(world.claim_one());
  world.pass(11s);
  EXPECT_FALSE(world.show(id));
  EXPECT_EQ(jobs_in(world, "dead").size(), 1U);
}

TEST(DeadLetters, HaveThePolicyOfTheirOwnTube) {
  policy_table policies = with_dead_letters();
  policies["dead"] = {.tries = 1};
  policy_world world(policies);
  world.put_one();
  world.run(release{.token = world.claim_one()->token});
  const auto letter = world.claim_one("dead");
  ASSERT_TRUE(letter);
  world.run(release{.token = letter->token});
  EXPECT_EQ(world.state_of(letter->token.id), job_state::buried);
}

TEST(DeadLetters, ACrashBetweenAnyTwoBatchesLosesNothingAndMovesOnce) {
  for (int crash_after = 0; crash_after < 8; ++crash_after) {
    SCOPED_TRACE(crash_after);
    policy_world world(with_dead_letters());
    const job_id id = world.put_one();
    const auto got = world.claim_one();
    world.only(release{.token = got->token});
    int turns = 0;
    while (world.wants_turn() && turns < crash_after) {
      world.last = world.store->execute({});
      ++turns;
    }
    world.restart();
    world.pass(11s);  // the TTR of what this node had for its steps
    EXPECT_FALSE(world.claim_one());
    world.settle();
    EXPECT_FALSE(world.show(id));
    EXPECT_EQ(jobs_in(world, "dead").size(), 1U);
  }
}

TEST(DeadLetters, WithoutRoomForThemTheJobIsBuried) {
  policy_world world(with_dead_letters(), {.jobs = 2});
  const job_id id = world.put_one();
  world.put_one("other");
  world.run(release{.token = world.claim_one()->token, .history = report("no")});
  EXPECT_EQ(world.state_of(id), job_state::buried);
  EXPECT_EQ(world.tries_of(id).last.back().how, kind::buried);
  EXPECT_EQ(world.tries_of(id).last.back().why, "there was no room for it in the tube dead");
  EXPECT_EQ(world.tries_of(id).last.front().why, "no");
  EXPECT_EQ(world.store->counters(), (policy_counters{.buried = 1}));
}

TEST(DeadLetters, AJobThatWasKickedMovesAgain) {
  policy_world world(with_dead_letters(), {.jobs = 2});
  const job_id id = world.put_one();
  const job_id other = world.put_one("other");
  world.run(release{.token = world.claim_one()->token});
  ASSERT_EQ(world.state_of(id), job_state::buried);
  world.run(cancel{other});
  world.run(kick_job{id});
  world.run(release{.token = world.claim_one()->token});
  EXPECT_FALSE(world.show(id));
  EXPECT_EQ(jobs_in(world, "dead").size(), 1U);
}

TEST(DeadLetters, AHalfMoveIsCompletedThoughNobodyClaims) {
  policy_world world(with_dead_letters(), {}, true);
  const job_id id = world.put_one();
  world.only(release{.token = world.claim_one()->token});
  world.pass_over([](const operation& each) { return std::holds_alternative<finish>(each); });
  world.settle();
  EXPECT_EQ(world.run(count_tube{"dead"}).counts.ready, 1U);
  EXPECT_TRUE(world.show(id));
  world.pass(11s);
  world.spied.accept();
  world.pass(1s);
  EXPECT_FALSE(world.show(id));
  EXPECT_EQ(jobs_in(world, "dead").size(), 1U);
}

TEST(DeadLetters, AreOnlyThereOnceTheJobSaysSo) {
  policy_world world(with_dead_letters());
  const job_id id = world.put_one();
  ASSERT_TRUE(world.claim_one());
  world.time.advance(11s);
  for (int turns = 0; world.wants_turn() && turns < 100; ++turns) {
    world.last = world.store->execute({});
    operation counts(count_tube{"dead"});
    const execution counted = world.inner.execute(std::span(&counts, 1));
    operation looks(peek{id});
    const execution seen = world.inner.execute(std::span(&looks, 1));
    const auto& job = std::get<peek_answer>(seen.answers[0]).job;
    if (std::get<count_answer>(counted.answers[0]).counts.ready == 0 || !job) continue;
    EXPECT_EQ(job_tries::in(job->history).value().failed, 1U);
  }
  EXPECT_EQ(jobs_in(world, "dead").size(), 1U);
}

TEST(DeadLetters, AHistoryWithoutRoomDoesNotHoldUpTheMove) {
  policy_world world(with_dead_letters());
  job_fields full;
  ASSERT_TRUE(full.set(first_own_tag, std::string(most_field_bytes - 4, 'x')));
  world.put_one(put{.tube = "mail", .body = "b", .ttr = 10s, .history = full});
  ASSERT_TRUE(world.claim_one());
  world.pass(11s);
  ASSERT_EQ(jobs_in(world, "dead").size(), 1U);
  EXPECT_EQ(jobs_in(world, "dead")[0].history, full);
}

TEST(DeadLetters, AJobThatWasKickedBehindAHalfMoveMovesAgain) {
  policy_world world(with_dead_letters(), {}, true);
  const job_id id = world.put_one();
  world.only(release{.token = world.claim_one()->token});
  world.pass_over([](const operation& each) { return std::holds_alternative<finish>(each); });
  world.settle();
  ASSERT_EQ(world.run(count_tube{"dead"}).counts.ready, 1U);
  world.restart();
  world.spied.accept();
  world.time.advance(11s);
  world.set({});
  const claim_answer named = world.run(claim_job{id});
  ASSERT_EQ(named.jobs.size(), 1U);
  world.run(bury{.token = named.jobs[0].token});
  world.set(with_dead_letters());
  world.run(kick_job{id});
  world.run(release{.token = world.claim_one()->token});
  EXPECT_FALSE(world.show(id));
  EXPECT_EQ(jobs_in(world, "dead").size(), 2U);
}

/// Between the put of the dead letter and the end of the original nobody gets that.
TEST(DeadLetters, AHalfMovedJobIsNotHandedOutToAClientThatNamesIt) {
  policy_world world(with_dead_letters(), {}, true);
  const job_id id = world.put_one();
  world.only(release{.token = world.claim_one()->token});
  world.pass_over([](const operation& each) { return std::holds_alternative<finish>(each); });
  world.settle();
  ASSERT_EQ(world.run(count_tube{"dead"}).counts.ready, 1U);
  world.restart();
  world.spied.accept();
  world.time.advance(11s);
  EXPECT_TRUE(world.run(claim_job{id}).jobs.empty());
  EXPECT_FALSE(world.show(id));
  EXPECT_EQ(jobs_in(world, "dead").size(), 1U);
}

TEST(DeadLetters, AMoveWhoseAnswerIsLostHappensOnce) {
  for (int lost = 0; lost < 6; ++lost) {
    SCOPED_TRACE(lost);
    policy_world world(with_dead_letters(), {}, true);
    const job_id id = world.put_one();
    world.only(release{.token = world.claim_one()->token});
    for (int i = 0; i < lost && world.wants_turn(); ++i) world.last = world.store->execute({});
    world.spied.lose_answers();
    EXPECT_THROW(world.store->execute({}), store_unavailable);
    world.spied.accept();
    world.pass(1s);
    world.pass(11s);
    EXPECT_FALSE(world.claim_one());
    world.settle();
    EXPECT_FALSE(world.show(id));
    EXPECT_EQ(jobs_in(world, "dead").size(), 1U);
  }
}

}  // namespace
}  // namespace foliot::jobs
