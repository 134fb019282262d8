// Policies of tubes, and of jobs: how long a job may wait.
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
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
  for (int i = 0; i < 50; ++i) world.pass(125ms);
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
  for (int i = 0; i < 60; ++i) world.pass(125ms);
  EXPECT_FALSE(world.show(old));
  EXPECT_EQ(world.store->counters().expired, 1U);
}

TEST(PolicyExpiry, ManyTubesAreSearchedInTurn) {
  policy_table policies;
  for (int i = 0; i < 20; ++i) policies["tube " + std::to_string(i)] = {.expires = 60s};
  policy_world world(policies);
  for (const auto& [name, by] : policies) world.put_one(name);
  world.time.advance(60s);
  for (int i = 0; i < 20; ++i) world.pass(125ms);
  EXPECT_EQ(world.store->counters().expired, 20U);
}

std::vector<std::uint32_t> searched_in(policy_world& world, std::size_t others) {
  std::vector<std::uint32_t> counts;
  world.spied.before = [&counts](std::span<operation> batch) {
    for (const operation& each : batch) {
      if (const auto* const lists = std::get_if<list_jobs>(&each)) counts.push_back(lists->count);
    }
  };
  std::vector<operation> batch(others, count_all{});
  world.store->execute(batch);
  world.spied.accept();
  return counts;
}

TEST(PolicyExpiry, ABatchHasOneSmallPageAndABusyOneNone) {
  policy_world world({{"mail", {.expires = 60s}}, {"other", {.expires = 60s}}});
  EXPECT_TRUE(searched_in(world, 1000).empty());
  EXPECT_EQ(searched_in(world, 1), std::vector<std::uint32_t>{100});
  EXPECT_TRUE(searched_in(world, 1).empty()) << "the next one has time";
  world.time.advance(125ms);
  EXPECT_EQ(searched_in(world, 1), std::vector<std::uint32_t>{100});
  world.time.advance(1s);
  EXPECT_EQ(searched_in(world, 64), std::vector<std::uint32_t>{100});
  world.time.advance(duration(625ms) - duration(1ns));
  EXPECT_TRUE(searched_in(world, 65).empty());
  world.time.advance(1ns);
  EXPECT_EQ(searched_in(world, 1000), std::vector<std::uint32_t>{100}) << "it has waited for long";
}

TEST(PolicyExpiry, OnlyOneOfSeveralStoresNeedsToSearch) {
  policy_world world(expiring());
  world.store->sweeps(false);
  const job_id id = world.put_one();
  for (int i = 0; i < 100; ++i) world.pass(1s);
  EXPECT_TRUE(world.show(id));
  EXPECT_EQ(world.store->next(), next_change{});
  world.store->sweeps(true);
  world.run(count_all{});
  world.pass(1s);
  EXPECT_FALSE(world.show(id));
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
