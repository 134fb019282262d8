// Case by case, what the walks have found.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <foliot/core/virtual_clock.hpp>
#include <foliot/jobs/calls.hpp>
#include <foliot/jobs/job_tries.hpp>
#include <foliot/jobs/memory_store.hpp>
#include <foliot/jobs/policy_store.hpp>

namespace foliot::jobs::policies_model {
namespace {

using namespace std::chrono_literals;

class PolicyCases : public ::testing::Test {
 protected:
  void follow(const tube_policy& policy) {
    store_.set_policies(std::make_shared<const policy_table>(policy_table{{"mail", policy}}));
  }
  job_id put_one(const std::string& body, milliseconds ttr = 1h, const std::string& group = {}) {
    put what{.tube = "mail", .body = body, .ttr = ttr};
    if (!group.empty()) {
      EXPECT_TRUE(what.fields.set(tag_of_group, group));
    }
    return execute_one(store_, what).id;
  }
  std::optional<claimed_job> claim_one(const std::string& tube = "mail") {
    claim_answer got = execute_one(store_, claim{.tubes = {tube}});
    if (got.jobs.empty()) return std::nullopt;
    return std::move(got.jobs.front());
  }
  job shown(job_id id) { return execute_one(store_, peek{id}).job.value_or(job{}); }
  /// Until the store has nothing to do at this time.
  void settle() {
    for (int i = 0; i < 100 && store_.next().expiry <= time_.now(); ++i) store_.execute({});
  }
  /// Asks the store whenever it wants to be asked.
  void pass(duration length) {
    const instant target = time_.now() + length;
    settle();
    for (;;) {
      const next_change next = store_.next();
      instant at = next.expiry;
      if (next.due != utc_time::max()) at = std::min(at, time_.when_wall_shows(wall_clock::from_sys(next.due)));
      if (at > target) break;
      time_.advance_to(std::max(at, time_.now()));
      store_.execute({});
    }
    time_.advance_to(target);
    store_.execute({});
    settle();
  }

  virtual_clock time_;
  virtual_wall_clock wall_{time_};
  memory_store memory_{{&wall_, &time_}};
  policy_store store_{memory_, {&wall_, &time_}};
};

/// A reservation of the store itself that ends by its TTR is no failed try.
TEST_F(PolicyCases, WhatNobodyHasHadIsNoFailedTry) {
  follow({.tries = 2, .delay = {.first = 5ms}});
  const job_id id = put_one("late", 1ms);
  ASSERT_TRUE(claim_one().has_value());
  time_.advance(10ms);
  store_.execute({});  // the TTR of the worker has ended: the store asks for the job
  for (int i = 0; i < 10; ++i) {
    time_.advance(10ms);  // and is always late
    store_.execute({});
  }
  pass(1min);
  EXPECT_EQ(shown(id).state, job_state::ready);
  EXPECT_FALSE(claim_one().has_value()) << "it is judged now, and waits for its second try of two";
  pass(1s);
  ASSERT_TRUE(claim_one().has_value());
  pass(1min);
  EXPECT_EQ(shown(id).state, job_state::buried);
}

/// The dead letter does not take the key of another job, and that does not keep it away.
TEST_F(PolicyCases, ADeadLetterGoesBesideAJobWithItsKey) {
  follow({.tries = 1, .dead_letters = "dead"});
  execute_one(store_, put{.tube = "dead", .key = "key", .body = "other"});
  execute_one(store_, put{.tube = "mail", .key = "key", .body = "mine"});
  const auto mine = claim_one();
  ASSERT_TRUE(mine.has_value());
  execute_one(store_, release{.token = mine->token});
  settle();
  EXPECT_EQ(execute_one(store_, count_tube{"mail"}).counts.all(), 0U);
  EXPECT_EQ(execute_one(store_, count_tube{"dead"}).counts.ready, 2U);
}

/// A job that has been moved, and was kicked back by hand, moves again.
TEST_F(PolicyCases, ATryOfNextTimeIsNotTakenForTheLast) {
  follow({.tries = 1, .dead_letters = "dead"});
  for (int round = 0; round < 3; ++round) {
    put_one("round " + std::to_string(round));
    const auto mine = claim_one();
    ASSERT_TRUE(mine.has_value());
    execute_one(store_, release{.token = mine->token});
    settle();
    const auto letter = claim_one("dead");
    ASSERT_TRUE(letter.has_value());
    EXPECT_EQ(letter->job.body, "round " + std::to_string(round));
    execute_one(store_, finish{letter->token});
  }
}

/// Tries that another store has counted: its counters are not these ones.
TEST_F(PolicyCases, TriesFromAnotherStoreAreKept) {
  follow({.tries = 3, .delay = {.first = 5ms}});
  put moved{.tube = "mail", .body = "moved", .ttr = 10ms};
  ASSERT_TRUE((job_tries{.failed = 1, .seen_timeouts = 5, .seen_kicks = 7}).write(moved.history));
  const job_id id = execute_one(store_, moved).id;
  for (int tries = 0; tries < 2; ++tries) {
    EXPECT_TRUE(claim_one().has_value()) << "try " << tries;
    pass(1s);
  }
  EXPECT_EQ(shown(id).state, job_state::buried);
}

/// What a later version has written stays.
TEST_F(PolicyCases, TriesThatCannotBeReadStay) {
  follow({.tries = 1});
  put later{.tube = "mail", .body = "later"};
  ASSERT_TRUE(later.history.set(tag_of_tries, "\xff later"));
  const job_id id = execute_one(store_, later).id;
  for (int tries = 0; tries < 3; ++tries) {
    const auto got = claim_one();
    ASSERT_TRUE(got.has_value());
    execute_one(store_, release{.token = got->token});
    settle();
    EXPECT_EQ(shown(id).history.find(tag_of_tries), "\xff later");
  }
}

}  // namespace
}  // namespace foliot::jobs::policies_model
