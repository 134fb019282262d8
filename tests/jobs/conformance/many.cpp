// The conformance suite case by case: reservations, tubes and jobs whose time comes together, more than one batch
// takes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "conformance.hpp"

namespace foliot::jobs::conformance {
namespace {

using namespace std::chrono_literals;
using holder = holder_answer::kind;

/// More than a store ends or makes ready in one batch.
constexpr std::size_t many = 2600;
/// No store does more than this in one batch.
constexpr std::size_t most_in_a_batch = 2048;

/// Executes one operation. Without the check of the store, which reads everything.
template <class Operation>
answer_of<Operation> run_on(open_store& store, Operation what, execution& batch) {
  operation only(std::move(what));
  batch = store->execute(std::span(&only, 1));
  return std::get<answer_of<Operation>>(batch.answers.at(0));
}

std::string tube_name(std::size_t i) { return "t" + std::to_string(i); }

void put_each(open_store& store, std::vector<operation> puts) {
  for (std::size_t i = 0; i < puts.size(); i += 500) {
    static_cast<void>(store->execute(std::span(puts).subspan(i, std::min<std::size_t>(500, puts.size() - i))));
  }
}

std::vector<claimed_job> hold_many(open_store& store) {
  put_each(store, std::vector<operation>(many, put{.tube = "a", .body = "", .ttr = 5ms}));
  execution batch;
  return run_on(store, claim{{"a"}, many}, batch).jobs;
}

TEST_P(JobStore, ReservationsThatEndTogetherEndInPiecesAndOnceEach) {
  const std::vector<claimed_job> mine = hold_many(store_);
  ASSERT_EQ(mine.size(), many);
  store_.pass(5ms + 1ns);
  std::set<job_id> ended;
  std::size_t batches = 0;
  for (; store_->next().expiry <= store_.now(); ++batches) {
    ASSERT_LT(batches, many);
    const execution piece = store_->execute({});
    EXPECT_FALSE(piece.expired.empty());
    EXPECT_LE(piece.expired.size(), most_in_a_batch);
    for (const reservation& each : piece.expired) EXPECT_TRUE(ended.insert(each.id).second);
    if (batches == 0) check();
  }
  EXPECT_GT(batches, 1U);
  EXPECT_EQ(ended.size(), many);
  EXPECT_EQ(run(count_all{}).counts.ready, many);
  const std::vector<claimed_job> again = run(claim{{"a"}, many}).jobs;
  ASSERT_EQ(again.size(), many);
  for (std::size_t i = 0; i < many; ++i) EXPECT_EQ(again[i].job.id, mine[i].job.id);
  EXPECT_EQ(again.back().job.counters.timeouts, 1U);
}

TEST_P(JobStore, AReservationWhoseTimeIsOverIsRefusedBeforeItsPiece) {
  const std::vector<claimed_job> mine = hold_many(store_);
  ASSERT_EQ(mine.size(), many);
  // The last ones: equal expiries end in the order of their ids, so their piece has not come.
  const auto token = [&](std::size_t from_last) { return mine[many - 1 - from_last].token; };
  store_.pass(5ms);
  execution batch;
  EXPECT_EQ(run_on(store_, finish{token(0)}, batch).what, holder::done);  // at the last instant it is alive
  store_.pass(1ns);
  std::set<job_id> ended;
  const auto refused = [&](auto what) {
    EXPECT_EQ(run_on(store_, what, batch).what, holder::not_held);
    for (const reservation& each : batch.expired) EXPECT_TRUE(ended.insert(each.id).second);
  };
  refused(finish{token(1)});
  refused(touch{token(2)});
  refused(release{token(3)});
  refused(bury{token(4)});
  refused(abandon{token(5)});
  EXPECT_EQ(run_on(store_, cancel{token(6).id}, batch).what, change_answer::kind::done);
  for (const reservation& each : batch.expired) ended.insert(each.id);
  const job seen = run_on(store_, peek{token(7).id}, batch).job.value();
  for (const reservation& each : batch.expired) ended.insert(each.id);
  EXPECT_EQ(seen.state, job_state::ready);
  EXPECT_EQ(seen.counters.timeouts, 1U);
  const claim_answer next = run_on(store_, claim_job{token(8).id}, batch);
  for (const reservation& each : batch.expired) ended.insert(each.id);
  ASSERT_EQ(next.jobs.size(), 1U);
  EXPECT_NE(next.jobs[0].token, token(8));
  check();
  while (store_->next().expiry <= store_.now()) {
    for (const reservation& each : store_->execute({}).expired) EXPECT_TRUE(ended.insert(each.id).second);
  }
  EXPECT_EQ(ended.size(), many - 1);
  const job_counts counts = run(count_all{}).counts;
  EXPECT_EQ(counts.ready, many - 3);  // one was finished, one was cancelled, one is reserved again
  EXPECT_EQ(counts.reserved, 1U);
}

TEST_P(JobStore, PausesThatEndTogetherEndInPieces) {
  std::vector<operation> pauses;
  for (std::size_t i = 0; i < many; ++i) pauses.push_back(pause{tube_name(i), 5ms});
  put_each(store_, std::move(pauses));
  store_.pass(5ms);
  std::set<std::string> ended;
  std::size_t batches = 0;
  for (; store_->next().expiry <= store_.now(); ++batches) {
    ASSERT_LT(batches, many);
    const execution piece = store_->execute({});
    EXPECT_LE(piece.ready_tubes.size(), most_in_a_batch);
    ended.insert(piece.ready_tubes.begin(), piece.ready_tubes.end());
  }
  EXPECT_GT(batches, 1U);
  EXPECT_EQ(ended.size(), many);
  check();
}

TEST_P(JobStore, JobsOfManyTubesThatAreDueTogetherBecomeReadyInPieces) {
  std::vector<operation> puts;
  for (std::size_t i = 0; i < 2 * many; ++i) {
    puts.push_back(put{.tube = tube_name(i % many), .body = "", .due = store_.utc() + 5ms});
  }
  put_each(store_, std::move(puts));
  store_.pass(5ms);
  std::set<std::string> ready;
  std::size_t batches = 0;
  for (; store_->next().due <= store_.utc(); ++batches) {
    ASSERT_LT(batches, many);
    const execution piece = store_->execute({});
    EXPECT_LE(piece.ready_tubes.size(), most_in_a_batch);
    ready.insert(piece.ready_tubes.begin(), piece.ready_tubes.end());
    if (batches == 0) check();
  }
  EXPECT_GT(batches, 1U);
  EXPECT_EQ(ready.size(), many);
  EXPECT_EQ(run(count_all{}).counts.ready, 2 * many);
}

TEST_P(JobStore, JobsThatAreDueTogetherComeAlsoAfterTheClockWasSetBack) {
  put_each(store_, std::vector<operation>(many, put{.tube = "a", .body = "", .due = 1h}));
  store_.pass(3h);
  settle();
  store_.step_wall(-duration(1h));  // the jobs are still due
  std::size_t batches = 0;
  for (; store_->next().due <= store_.utc(); ++batches) {
    ASSERT_LT(batches, many);
    store_->execute({});
  }
  EXPECT_GE(batches, 1U);
  EXPECT_EQ(run(count_all{}).counts.ready, many);
}

TEST_P(JobStore, ATubeThatWaitsForItsTurnMayLoseItsJobs) {
  std::vector<operation> puts(many, put{.tube = "a", .body = "", .due = store_.utc() + 5ms});
  std::vector<job_id> ids;
  const execution made = store_->execute(puts);
  for (const answer& each : made.answers) ids.push_back(std::get<put_answer>(each).id);
  store_.pass(5ms);
  static_cast<void>(store_->execute({}));
  std::vector<operation> ends;
  for (const job_id each : ids) ends.push_back(cancel{each});
  for (const answer& each : store_->execute(ends).answers) {
    EXPECT_EQ(std::get<change_answer>(each).what, change_answer::kind::done);
  }
  check();
  settle();
  EXPECT_EQ(store_->next().due, utc_time::max());
  run(put{.tube = "a", .body = "", .due = 7ms});
  store_.pass(7ms);
  EXPECT_EQ(run(claim{{"a"}}).jobs.size(), 1U);
}

TEST_P(JobStore, TheClaimsOfABatchBringABoundedSizeOfBodies) {
  for (int i = 0; i < 6; ++i) run(put{.tube = i < 3 ? "a" : "b", .body = std::string(100, 'x')});
  using kind = claim_answer::kind;
  const claim bounded{.tubes = {"a"}, .count = 3, .bytes = 150};
  const claim other{.tubes = {"b"}, .count = 3, .bytes = 250};
  const claim none{.tubes = {"c"}, .count = 3, .bytes = 0};
  std::vector<operation> batch{bounded, bounded, other, none};
  const execution first = store_->execute(batch);
  const auto expect = [](const answer& got, std::size_t jobs, kind what) {
    EXPECT_EQ(std::get<claim_answer>(got).jobs.size(), jobs);
    EXPECT_EQ(std::get<claim_answer>(got).what, what);
  };
  expect(first.answers[0], 2, kind::cut_short);
  expect(first.answers[1], 0, kind::cut_short);
  expect(first.answers[2], 1, kind::cut_short);
  expect(first.answers[3], 0, kind::done);
  // The next batch begins anew, and a claim that has all that it asked for is not cut short.
  batch = {claim{.tubes = {"a"}, .count = 1, .bytes = 100}, claim{.tubes = {"b"}, .count = 2}};
  const execution second = store_->execute(batch);
  expect(second.answers[0], 1, kind::done);
  expect(second.answers[1], 2, kind::done);
  check();
}

}  // namespace
}  // namespace foliot::jobs::conformance
