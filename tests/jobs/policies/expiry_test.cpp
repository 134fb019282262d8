// Policies of tubes, and of jobs: how long a job may wait.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "policy_world.hpp"

namespace foliot::jobs {
namespace {

using namespace std::chrono_literals;
using namespace test;

policy_table expiring(milliseconds expires = 60s) { return {{"mail", {.expires = expires}}}; }

TEST(PolicyExpiry, AJobIsHandedOutUntilItsWaitIsOverAndNeverThen) {
  policy_world world(expiring());
  const job_id id = world.put_one();
  world.time.advance(duration(60s) - duration(1ms));
  const auto got = world.claim_one();
  ASSERT_TRUE(got);
  world.run(finish{got->token});
  const job_id late = world.put_one();
  world.time.advance(60s);
  EXPECT_FALSE(world.claim_one());
  EXPECT_FALSE(world.show(late));
  EXPECT_EQ(world.store->counters(), (policy_counters{.expired = 1}));
  static_cast<void>(id);
}

TEST(PolicyExpiry, TheWaitBeginsWithTheDueTime) {
  policy_world world(expiring());
  const job_id id = world.put_one(put{.tube = "mail", .body = "b", .due = 1h});
  world.pass(1h);
  world.time.advance(duration(60s) - duration(1ms));
  EXPECT_TRUE(world.claim_one());
  EXPECT_TRUE(world.show(id));
}

TEST(PolicyExpiry, AReleaseBeginsItAnew) {
  policy_world world(expiring());
  world.put_one();
  world.time.advance(50s);
  world.run(release{.token = world.claim_one()->token});
  world.time.advance(50s);
  EXPECT_TRUE(world.claim_one());
}

TEST(PolicyExpiry, AKickBeginsItAnew) {
  policy_world world(expiring());
  world.put_one();
  world.run(bury{.token = world.claim_one()->token});
  world.pass(1h);
  world.run(kick{.tube = "mail"});
  EXPECT_TRUE(world.claim_one());
}

TEST(PolicyExpiry, AJobThatNobodyClaimsEndsToo) {
  policy_world world(expiring());
  std::vector<job_id> ids;
  for (int i = 0; i < 2500; ++i) ids.push_back(world.only(put{.tube = "mail", .body = "b"}).id);
  const job_id delayed = world.put_one(put{.tube = "mail", .body = "b", .due = 1h});
  const job_id elsewhere = world.put_one("other");
  world.time.advance(59s);
  world.settle();
  EXPECT_EQ(world.store->counters().expired, 0U);
  world.pass(1s);
  for (int i = 0; i < 4; ++i) world.pass(1s);
  EXPECT_EQ(world.store->counters().expired, 2500U);
  EXPECT_FALSE(world.show(ids.back()));
  EXPECT_TRUE(world.show(delayed));
  EXPECT_TRUE(world.show(elsewhere));
}

TEST(PolicyExpiry, ThePagesOfTheSearchFollowEachOther) {
  policy_world world(expiring());
  const job_id old = world.only(put{.tube = "mail", .body = "b", .priority = 9}).id;
  world.time.advance(59s);
  for (int i = 0; i < 2500; ++i) world.only(put{.tube = "mail", .body = "b"});
  world.time.advance(1s);
  for (int i = 0; i < 5; ++i) world.pass(1s);
  EXPECT_FALSE(world.show(old));
  EXPECT_EQ(world.store->counters().expired, 1U);
}

TEST(PolicyExpiry, ManyTubesAreSearchedInTurn) {
  policy_table policies;
  for (int i = 0; i < 20; ++i) policies["tube " + std::to_string(i)] = {.expires = 60s};
  policy_world world(policies);
  for (const auto& [name, by] : policies) world.put_one(name);
  world.time.advance(60s);
  for (int i = 0; i < 4; ++i) world.pass(1s);
  EXPECT_EQ(world.store->counters().expired, 20U);
}

TEST(PolicyExpiry, WithoutOneNothingIsSearched) {
  policy_world world({{"mail", {.tries = 3}}});
  world.put_one();
  EXPECT_EQ(world.store->next(), next_change{});
}

TEST(PolicyExpiry, AJobsOwnOneHoldsInAnyTube) {
  policy_world world;
  world.store->set_policies(nullptr);
  const job_id id = world.put_one("mail", expiring_at(world.clocks.utc() + 5s));
  world.time.advance(duration(5s) - duration(1ms));
  const auto got = world.claim_one();
  ASSERT_TRUE(got);
  world.run(release{.token = got->token});
  world.time.advance(1ms);
  EXPECT_FALSE(world.claim_one());
  EXPECT_FALSE(world.show(id));
  EXPECT_EQ(world.store->counters().expired, 1U);
}

TEST(PolicyExpiry, HoldsForAClientThatNamesTheJob) {
  policy_world world(expiring());
  const job_id ready = world.put_one();
  const job_id buried = world.put_one();
  world.run(claim_job{buried});
  world.run(bury{.token = {buried, 1, 1}});
  const job_id fresh = world.put_one(put{.tube = "mail", .body = "b", .due = 1s});
  world.time.advance(duration(61s) - duration(1ms));
  EXPECT_TRUE(world.only(claim_job{ready}).jobs.empty());
  EXPECT_EQ(world.only(claim_job{fresh}).jobs.size(), 1U);
  EXPECT_EQ(world.only(claim_job{buried}).jobs.size(), 1U) << "it does not wait";
  const job_id by_itself = world.put_one("mail", expiring_at(world.clocks.utc() + 5s));
  world.time.advance(5s);
  EXPECT_TRUE(world.only(claim_job{by_itself}).jobs.empty());
  world.settle();
  EXPECT_FALSE(world.show(by_itself));
  EXPECT_FALSE(world.show(ready));
}

TEST(PolicyExpiry, WhatIsNoExpiryIsNone) {
  policy_world world;
  job_fields odd;
  ASSERT_TRUE(odd.set(tag_of_expiry, "1234567"));
  world.put_one("mail", odd);
  EXPECT_TRUE(world.claim_one());
}

TEST(PolicyExpiry, AnExpiredJobOfABatchLeavesTheOthers) {
  policy_world world(expiring());
  const job_id old = world.put_one();
  world.time.advance(60s);
  const job_id fresh = world.only(put{.tube = "mail", .body = "b"}).id;
  const claim_answer got = world.only(claim{.tubes = {"mail"}, .count = 10});
  world.settle();
  EXPECT_FALSE(world.show(old));
  if (got.jobs.empty()) {
    EXPECT_TRUE(world.claim_one());
  } else {
    EXPECT_EQ(got.jobs.at(0).token.id, fresh);
  }
}

}  // namespace
}  // namespace foliot::jobs
