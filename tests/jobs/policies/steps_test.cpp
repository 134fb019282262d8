// A policy_store over a store that refuses, fails or loses answers: its steps stay to be done, and nothing is handed
// out that must not be.
#include <gtest/gtest.h>

#include <algorithm>
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
using unavailable = store_unavailable::kind;

put spent_job() {
  job_fields spent;
  EXPECT_TRUE((job_tries{.failed = 1}.write(spent)));
  return {.tube = "mail", .body = "b", .ttr = 10s, .history = spent};
}

TEST(PolicySteps, AreTriedAgainWhenTheStoreIsThereAgain) {
  policy_world world(mail({.tries = 1}), {}, true);
  const job_id id = world.put_one(spent_job());
  EXPECT_TRUE(world.only(claim{.tubes = {"mail"}}).jobs.empty());
  EXPECT_TRUE(world.wants_turn());
  world.spied.refuse();
  EXPECT_THROW(world.store->execute({}), store_unavailable);
  EXPECT_FALSE(world.wants_turn());
  EXPECT_EQ(world.store->next().expiry, world.time.now() + 250ms);
  world.spied.accept();
  world.last = world.store->execute({});
  EXPECT_EQ(world.spied.sizes.back(), 0U) << "not before its time";
  world.pass(250ms);
  EXPECT_EQ(world.state_of(id), job_state::buried);
  EXPECT_EQ(world.store->counters().buried, 1U);
}

TEST(PolicySteps, OneThatIsPassedOverIsTriedAgainAndTheOthersGoOn) {
  policy_world world(mail({.tries = 1}), {}, true);
  const job_id first = world.put_one(spent_job());
  const job_id second = world.put_one(spent_job());
  EXPECT_TRUE(world.only(claim{.tubes = {"mail"}, .count = 2}).jobs.empty());
  world.pass_over([first](const operation& each) {
    const auto* const buries = std::get_if<bury>(&each);
    return buries != nullptr && buries->token.id == first;
  });
  world.settle();
  EXPECT_EQ(world.state_of(first), job_state::reserved);
  EXPECT_EQ(world.state_of(second), job_state::buried);
  world.spied.accept();
  world.pass(250ms);
  EXPECT_EQ(world.state_of(first), job_state::buried);
}

TEST(PolicySteps, AReservationThatEndsMeanwhileIsGivenUp) {
  policy_world world(mail({.tries = 1}), {}, true);
  const job_id id = world.put_one(spent_job());
  EXPECT_TRUE(world.only(claim{.tubes = {"mail"}}).jobs.empty());
  world.spied.refuse();
  EXPECT_THROW(world.store->execute({}), store_unavailable);
  world.spied.accept();
  world.time.advance(11s);
  world.last = world.store->execute({});
  EXPECT_TRUE(world.last.expired.empty()) << "nobody has had it";
  world.settle();
  EXPECT_FALSE(world.claim_one());
  EXPECT_EQ(world.state_of(id), job_state::buried);
}

TEST(PolicySteps, AReservationThatEndsMeanwhileIsNoFailedTry) {
  policy_world world(mail({.tries = 3}), {}, true);
  const job_id id = world.put_one();
  ASSERT_TRUE(world.claim_one());
  world.time.advance(11s);
  world.last = world.store->execute({});  // it has ended
  world.last = world.store->execute({});  // and is looked at
  world.spied.refuse();
  for (int i = 0; i < 3; ++i) {
    EXPECT_THROW(world.store->execute({}), store_unavailable);
    world.time.advance(11s);
  }
  world.spied.accept();
  world.settle();
  const auto got = world.claim_one();
  ASSERT_TRUE(got);
  EXPECT_EQ(world.tries_of(id).failed, 1U);
  world.run(release{.token = got->token});
  EXPECT_EQ(world.tries_of(id).failed, 2U);
  EXPECT_EQ(world.tries_of(id).last.size(), 2U);
}

TEST(PolicySteps, AReservationThatEndsInItsOwnBatchTakesNoSlot) {
  policy_world world(mail({.most_reserved = 1}), {}, true);
  world.put_one();
  world.put_one();
  world.spied.after = [](execution& done) {
    for (const answer& each : done.answers) {
      const auto* const claimed = std::get_if<claim_answer>(&each);
      if (claimed != nullptr && !claimed->jobs.empty()) done.expired.push_back(claimed->jobs[0].token);
    }
  };
  ASSERT_TRUE(world.claim_one());
  world.spied.accept();
  operation ends(finish{{1, 1, 1}});
  world.inner.execute(std::span(&ends, 1));
  EXPECT_TRUE(world.claim_one());
}

TEST(PolicySteps, AnUncertainReleaseCountsOnce) {
  policy_world world(mail({.tries = 5, .most_reserved = 1}), {}, true);
  const job_id id = world.put_one();
  const auto got = world.claim_one();
  world.spied.lose_answers();
  EXPECT_THROW(world.only(release{.token = got->token}), store_unavailable);
  world.spied.accept();
  EXPECT_EQ(world.run(release{.token = got->token}).what, holder_answer::kind::not_held);
  EXPECT_EQ(world.tries_of(id).failed, 1U);
  EXPECT_TRUE(world.claim_one());
}

TEST(PolicySteps, ASlotWhoseEndNobodyToldIsFreeByTheCount) {
  policy_world world(mail({.most_reserved = 1}), {}, true);
  world.put_one();
  world.put_one();
  const auto got = world.claim_one();
  world.spied.lose_answers();
  EXPECT_THROW(world.only(finish{got->token}), store_unavailable);
  world.spied.accept();
  EXPECT_TRUE(world.claim_one());
  EXPECT_FALSE(world.claim_one());
}

TEST(PolicySteps, ASlotOfAGroupWhoseEndNobodyToldIsFreeByALook) {
  policy_world world(mail({.most_reserved_of_group = 1}), {}, true);
  world.put_one("mail", in_group("a"));
  const job_id second = world.put_one("mail", in_group("a"));
  const auto got = world.claim_one();
  world.spied.lose_answers();
  EXPECT_THROW(world.only(finish{got->token}), store_unavailable);
  world.spied.accept();
  // The claim that finds the group full looks whether it is.
  const auto next = world.claim_one();
  ASSERT_TRUE(next);
  EXPECT_EQ(next->token.id, second);
}

TEST(PolicySteps, AReleaseWhoseLookIsRefusedIsRefused) {
  policy_world world(mail({.tries = 1}), {}, true);
  const job_id id = world.put_one();
  const auto got = world.claim_one();
  world.restart();
  bool looks = false;
  world.spied.before = [&](std::span<operation> batch) {
    looks = !batch.empty() && std::holds_alternative<peek>(batch[0]);
  };
  world.spied.after = [&](execution& done) {
    if (looks) done.answers[0] = unavailable_answer{true, "a database is away"};
  };
  operation gives(release{.token = got->token});
  const execution done = world.store->execute(std::span(&gives, 1));
  const auto* const refused = std::get_if<unavailable_answer>(&done.answers.at(0));
  ASSERT_NE(refused, nullptr);
  EXPECT_FALSE(refused->is_in_doubt);
  world.spied.accept();
  EXPECT_EQ(world.state_of(id), job_state::reserved);
  world.run(release{.token = got->token});
  EXPECT_EQ(world.state_of(id), job_state::buried);
}

TEST(PolicySteps, WhatALookBroughtIsNotLostWithTheBatchBehindIt) {
  policy_world world(mail({.tries = 5}), {}, true);
  world.put_one("other");
  const auto other = world.claim_one("other");
  world.put_one();
  const auto got = world.claim_one();
  world.restart();
  world.time.advance(duration(10s) + duration(1ms));  // both end with the look
  world.spied.refuse(unavailable::not_executed,
                     [](const operation& each) { return std::holds_alternative<release>(each); });
  EXPECT_THROW(world.only(release{.token = got->token}), store_unavailable);
  world.spied.accept();
  const execution done = world.store->execute({});
  EXPECT_EQ(done.expired.size(), 2U);
  EXPECT_EQ(done.ready_tubes, (std::vector<std::string>{"mail", "other"}));
  static_cast<void>(other);
}

TEST(PolicySteps, PoliciesThatGoAwayLeaveStepsThatEnd) {
  policy_world world(mail({.tries = 1, .dead_letters = "dead"}));
  const job_id id = world.put_one();
  world.only(release{.token = world.claim_one()->token});
  world.store->set_policies(nullptr);
  world.settle();
  EXPECT_EQ(world.state_of(id), job_state::ready);
  EXPECT_TRUE(world.claim_one());
}

TEST(PolicySteps, AJobThatWasRescheduledBeforeTheLookKeepsItsDueTime) {
  policy_world world(mail({.tries = 5}), {}, true);
  const job_id id = world.put_one();
  ASSERT_TRUE(world.claim_one());
  world.time.advance(11s);
  world.last = world.store->execute({});
  // Another node changes it.
  operation changes(reschedule{id, 1h});
  world.inner.execute(std::span(&changes, 1));
  world.set({});
  world.settle();
  EXPECT_EQ(world.state_of(id), job_state::delayed);
  EXPECT_EQ(world.show(id)->due, world.clocks.utc() + 1h);
}

TEST(PolicySteps, AStoreFailurePassesThrough) {
  policy_world world(mail({.tries = 1}));
  world.spied.fails_from = 0;
  EXPECT_THROW(world.only(claim{.tubes = {"mail"}}), store_failure);
}

/// A dead-letter tube whose database is away: the jobs that wait for it do not fill the memory.
TEST(PolicySteps, MovesThatAreRefusedHoldTheirTubeBack) {
  policy_world world({{"mail", {.tries = 1, .dead_letters = "dead"}}, {"other", {.tries = 1}}}, {}, true);
  put big = spent_job();
  big.ttr = 1h;
  big.body = std::string(64'000, 'x');
  for (int i = 0; i < 300; ++i) world.only(big);
  world.pass_over([](const operation& each) { return std::holds_alternative<put>(each); });
  for (int i = 0; i < 300; ++i) world.only(claim{.tubes = {"mail"}});
  world.settle();
  const std::uint64_t kept = world.only(count_tube{"mail"}).counts.reserved;
  EXPECT_GE(kept, 100U);
  EXPECT_LE(kept, 140U) << "8 MiB";
  EXPECT_FALSE(world.claim_one()) << "and nobody is told to claim without end";
  world.spied.accept();
  world.put_one("other");
  EXPECT_TRUE(world.claim_one("other"));
  for (int i = 0; i < 300; ++i) {
    world.pass(8s);
    world.only(claim{.tubes = {"mail"}, .count = 10});
  }
  EXPECT_EQ(world.run(count_tube{"dead"}).counts.ready, 300U);
}

TEST(PolicySteps, AJobHasOneStepThoughItsReservationsEnd) {
  policy_world world(mail({.tries = 1, .dead_letters = "dead"}), {}, true);
  const job_id id = world.put_one(spent_job());
  world.pass_over([](const operation& each) { return std::holds_alternative<put>(each); });
  std::size_t most_puts = 0;
  for (int i = 0; i < 50; ++i) {
    world.only(claim{.tubes = {"mail"}});
    std::size_t puts = 0;
    const auto passes_over = world.spied.before;
    world.spied.before = [&](std::span<operation> batch) {
      puts += static_cast<std::size_t>(
          std::ranges::count_if(batch, [](const operation& each) { return std::holds_alternative<put>(each); }));
      passes_over(batch);
    };
    world.time.advance(11s);
    world.last = world.store->execute({});
    world.check();
    world.spied.before = passes_over;
    most_puts = std::max(most_puts, puts);
  }
  EXPECT_LE(most_puts, 1U);
  world.spied.accept();
  for (int i = 0; i < 10; ++i) world.pass(11s);
  EXPECT_FALSE(world.show(id));
  EXPECT_EQ(world.run(count_tube{"dead"}).counts.ready, 1U);
}

/// More ended TTRs than steps that a tube may have are all looked at.
TEST(PolicySteps, ManyLooksDoNotHoldEachOtherUp) {
  policy_world world(mail({.tries = 1}));
  std::vector<operation> puts(3000, put{.tube = "mail", .body = "b", .ttr = 10s});
  world.store->execute(puts);
  std::size_t got = 0;
  while (got < 3000) got += world.only(claim{.tubes = {"mail"}, .count = 500}).jobs.size();
  world.pass(11s);
  for (int i = 0; i < 10; ++i) world.pass(20ms);
  EXPECT_EQ(world.run(count_tube{"mail"}).counts.buried, 3000U);
}

/// A try that nobody has had is left out once, and not instead of a later one.
TEST(PolicySteps, AnOwnEndThatIsWrittenDownHidesNoLaterOne) {
  policy_world world(mail({.tries = 2}), {}, true);
  const job_id id = world.put_one();
  ASSERT_TRUE(world.claim_one());
  world.time.advance(11s);
  world.last = world.store->execute({});  // it has ended: failed 1
  world.last = world.store->execute({});  // and is looked at
  world.spied.refuse();
  EXPECT_THROW(world.store->execute({}), store_unavailable);
  world.spied.accept();
  world.time.advance(11s);
  world.last = world.store->execute({});  // the step's own reservation has ended
  EXPECT_TRUE(world.only(claim{.tubes = {"mail"}}).jobs.empty());
  world.spied.lose_answers();
  EXPECT_THROW(world.store->execute({}), store_unavailable);
  world.spied.accept();
  world.pass(1s);
  ASSERT_EQ(world.tries_of(id).failed, 1U);
  ASSERT_TRUE(world.claim_one());
  world.pass(11s);
  EXPECT_EQ(world.state_of(id), job_state::buried);
}

// A tube without a policy.

TEST(PolicyAbsence, AReservationOfATubeWithoutAPolicyCostsNoLook) {
  policy_world world(mail({.tries = 3}));
  world.put_one("other");
  std::size_t batches = 0;
  for (int i = 0; i < 3; ++i) {
    const auto got = world.claim_one("other");
    ASSERT_TRUE(got);
    batches = world.spied.sizes.size();
    world.only(release{.token = got->token, .history = report("", "worker")});
    EXPECT_EQ(world.spied.sizes.size(), batches + 1);
  }
  const auto named = world.only(claim_job{1});
  EXPECT_EQ(world.spied.sizes.size(), batches + 2);
  ASSERT_EQ(named.jobs.size(), 1U);
  EXPECT_TRUE(named.jobs[0].job.history.empty()) << "no tries";
}

TEST(PolicyAbsence, AReasonIsNotedInAnyTube) {
  policy_world world(mail({.tries = 3}));
  const job_id id = world.put_one("other");
  world.run(release{.token = world.claim_one("other")->token, .history = report("why", "worker")});
  ASSERT_EQ(world.tries_of(id).last.size(), 1U);
  EXPECT_EQ(world.tries_of(id).last[0].worker, "worker");
  world.run(release{.token = world.claim_one("other")->token, .history = job_fields()});
  EXPECT_EQ(world.tries_of(id).last.size(), 1U) << "a new history keeps the tries";
}

TEST(PolicyAbsence, APolicyThatComesLaterHoldsForWhatIsReserved) {
  policy_world world(mail({.tries = 3}));
  const job_id id = world.put_one("other");
  const auto got = world.claim_one("other");
  world.set({{"other", {.tries = 1, .most_reserved = 1}}});
  world.put_one("other");
  EXPECT_FALSE(world.claim_one("other")) << "it has the slot";
  world.run(release{.token = got->token});
  EXPECT_EQ(world.state_of(id), job_state::buried);
  EXPECT_TRUE(world.claim_one("other"));
}

/// An end in a tube without a policy concerns no other one.
TEST(PolicyAbsence, ItsEndsAskForNoCounts) {
  policy_world world(mail({.most_reserved = 5}));
  world.put_one();
  world.put_one();
  ASSERT_TRUE(world.claim_one());
  world.put_one("other");
  world.run(finish{world.claim_one("other")->token});
  std::size_t counts = 0;
  world.spied.before = [&counts](std::span<operation> batch) {
    counts += static_cast<std::size_t>(
        std::ranges::count_if(batch, [](const operation& each) { return std::holds_alternative<count_tube>(each); }));
  };
  ASSERT_TRUE(world.claim_one());
  EXPECT_EQ(counts, 0U);
}

TEST(PolicySteps, AFullStoreKeepsTheJobUntilThereIsRoom) {
  policy_world world(mail({.tries = 3}), {.bytes = memory_store::job_overhead + 20});
  const job_id id = world.put_one(put{.tube = "mail", .body = "b", .ttr = 2s});
  ASSERT_TRUE(world.claim_one());
  world.pass(duration(2s) + duration(1ms));
  // The try cannot be written down, so the job is not handed out.
  EXPECT_EQ(world.state_of(id), job_state::reserved);
  EXPECT_FALSE(world.claim_one());
}

}  // namespace
}  // namespace foliot::jobs
