// The parts of a node over PostgreSQL that have a state of their own, without any connection.
#include <gtest/gtest.h>

#include <chrono>
#include <vector>

#include <foliot/core/instant.hpp>
#include <foliot/jobs/job.hpp>

#include "jobs/postgresql/commits_in_doubt.hpp"
#include "jobs/postgresql/deadlines.hpp"
#include "jobs/postgresql/execution_modes.hpp"
#include "jobs/postgresql/node_registration.hpp"

namespace foliot::jobs::detail {
namespace {

using tokens = std::vector<reservation>;

constexpr instant start = instant::from_nanoseconds(1'000'000'000);
constexpr duration briefly = std::chrono::milliseconds(1);

TEST(CommitsInDoubt, WhatACommittedBatchHasReservedIsGivenBack) {
  commits_in_doubt all;
  EXPECT_TRUE(all.next().is_never());
  all.add({7, 0, {{1, 1, 1}, {2, 1, 1}}, {}}, start);
  EXPECT_EQ(all.next(), start + commits_in_doubt::asks_after);
  EXPECT_FALSE(all.begins_to_settle(all.next() - briefly));
  EXPECT_TRUE(all.begins_to_settle(all.next()));
  ASSERT_NE(all.oldest(), nullptr);
  EXPECT_EQ(all.oldest()->number, 7);
  EXPECT_EQ(all.settle_oldest(true), tokens{}) << "they exist";
  EXPECT_EQ(all.oldest(), nullptr);
  EXPECT_EQ(all.unwanted(1), (tokens{{1, 1, 1}}));
  EXPECT_EQ(all.unwanted(9), (tokens{{1, 1, 1}, {2, 1, 1}}));
  EXPECT_FALSE(all.next().is_never()) << "they are yet to be given back";
  all.note_given_back(1);
  EXPECT_EQ(all.unwanted(9), (tokens{{2, 1, 1}}));
  all.note_given_back(1);
  EXPECT_TRUE(all.next().is_never());
}

TEST(CommitsInDoubt, WhatABatchHasReservedThatWasNotCommittedNeverWas) {
  commits_in_doubt all;
  all.add({7, 0, {{1, 1, 1}}, {{2, 1, 1}}}, start);
  EXPECT_EQ(all.settle_oldest(false), (tokens{{1, 1, 1}}));
  EXPECT_TRUE(all.unwanted(9).empty());
}

TEST(CommitsInDoubt, WhatABatchInDoubtHasGivenBackIsGivenBackOnce) {
  for (const bool was_committed : {false, true}) {
    commits_in_doubt all;
    all.add({7, 0, {{1, 1, 1}}, {}}, start);
    static_cast<void>(all.settle_oldest(true));
    all.add({8, 0, {}, all.unwanted(9)}, start);
    EXPECT_EQ(all.settle_oldest(was_committed), was_committed ? (tokens{{1, 1, 1}}) : tokens{});
    EXPECT_EQ(all.unwanted(9), was_committed ? tokens{} : (tokens{{1, 1, 1}}));
  }
}

TEST(CommitsInDoubt, BatchesAreSettledInTheirOrder) {
  commits_in_doubt all;
  all.add({7, 0, {{1, 1, 1}}, {}}, start);
  all.add({8, 0, {}, {}}, start);  // nothing depends on it
  all.add({9, 0, {{2, 1, 1}}, {}}, start);
  EXPECT_EQ(all.oldest()->number, 7);
  all.postpone(start);
  EXPECT_EQ(all.next(), start + commits_in_doubt::asks_again_after);
  static_cast<void>(all.settle_oldest(false));
  EXPECT_EQ(all.oldest()->number, 9);
  all.end_registration();
  EXPECT_EQ(all.oldest(), nullptr);
  EXPECT_TRUE(all.next().is_never());
}

constexpr reservation of_registration{1, 256, 1};
constexpr reservation lasting{2, 256 + 255, 1};
constexpr reservation other_lasting{3, 256 + 255, 1};

TEST(CommitsInDoubt, WhatLastsIsGivenBackAfterTheEndOfTheRegistration) {
  commits_in_doubt all;
  all.add({7, 0, {of_registration, lasting}, {}}, start);
  static_cast<void>(all.settle_oldest(true));
  all.add({8, 0, {of_registration, other_lasting}, all.unwanted(9)}, start);
  all.end_registration();
  EXPECT_EQ(all.oldest(), nullptr) << "nobody can ask for its number any more";
  EXPECT_EQ(all.unwanted(9), (tokens{lasting, other_lasting}));
  EXPECT_FALSE(all.next().is_never());
}

TEST(Deadlines, OfReservationsThatLastStayAfterTheEndOfTheRegistration) {
  deadlines all;
  all.set(lasting, start + briefly);
  all.set(of_registration, start);
  EXPECT_EQ(all.take_those_of_registration(), tokens{of_registration});
  EXPECT_EQ(all.over(instant::never(), 9), tokens{lasting});
  EXPECT_GT(all.next(), start + briefly);
  EXPECT_EQ(all.take_those_of_registration(), tokens{});
}

constexpr auto if_taken = execution_modes::turn_taking::if_taken;
constexpr auto begin = execution_modes::turn_taking::begin;
constexpr auto ignore = execution_modes::turn_taking::ignore;
constexpr auto end = execution_modes::turn_taking::end;

TEST(ExecutionModes, ABatchWithKeysTakesItsTurnBeforeItPassesOverLockedJobs) {
  execution_modes modes;
  const database_failure locked("55P03", "a lock");
  const instant until = start + std::chrono::seconds(5);
  EXPECT_EQ(modes.turns_after(locked, if_taken, true, start, until), begin);
  EXPECT_FALSE(modes.passes_over(start));
  EXPECT_EQ(modes.turns_after(locked, begin, true, start, until), end);
  EXPECT_TRUE(modes.passes_over(start));
  EXPECT_FALSE(modes.executes_one_by_one(start));
  EXPECT_TRUE(modes.passes_over(start + execution_modes::lasts - briefly));
  EXPECT_FALSE(modes.passes_over(start + execution_modes::lasts));
}

TEST(ExecutionModes, ABatchWithoutKeysOrWithoutTimePassesOverLockedJobsAtOnce) {
  const database_failure locked("55P03", "a lock");
  for (const bool has_keys : {false, true}) {
    execution_modes modes;
    const instant until = start + (has_keys ? execution_modes::two_waits : duration(std::chrono::hours(1)));
    EXPECT_EQ(modes.turns_after(locked, if_taken, has_keys, start, until), if_taken);
    EXPECT_TRUE(modes.passes_over(start));
  }
}

TEST(ExecutionModes, AfterALateTurnBatchesTakeNoneForAWhile) {
  execution_modes modes;
  EXPECT_EQ(modes.turns(start), if_taken);
  EXPECT_EQ(modes.turns_after(database_failure("FL005", "a turn"), if_taken, true, start, instant::never()), ignore);
  EXPECT_EQ(modes.turns(start + briefly), ignore);
  EXPECT_EQ(modes.turns(start + execution_modes::lasts), if_taken);
  EXPECT_EQ(modes.turns_after(database_failure("40001", "another"), ignore, true, start, instant::never()), ignore);
}

TEST(ExecutionModes, WithoutRoomOperationsAreAloneAndAnOperatorIsToldOnceAMinute) {
  execution_modes modes;
  EXPECT_TRUE(modes.note_lack_of_room(start));
  EXPECT_TRUE(modes.note_refusal(start)) << "another reason";
  EXPECT_FALSE(modes.note_lack_of_room(start + briefly));
  EXPECT_TRUE(modes.executes_one_by_one(start + execution_modes::lasts));
  EXPECT_TRUE(modes.passes_over(start + execution_modes::lasts)) << "what waits for a lock would hold up the others";
  EXPECT_FALSE(modes.executes_one_by_one(start + execution_modes::lasts + briefly));
  EXPECT_TRUE(modes.note_lack_of_room(start + execution_modes::warns_every));
}

TEST(ExecutionModes, AMissingFunctionIsToldOnceAMinuteAndBeginsNoMode) {
  execution_modes modes;
  EXPECT_TRUE(modes.note_missing_function(start));
  EXPECT_FALSE(modes.note_missing_function(start + briefly));
  EXPECT_FALSE(modes.executes_one_by_one(start + briefly));
  EXPECT_FALSE(modes.passes_over(start + briefly));
  EXPECT_FALSE(modes.note_refusal(start + briefly)) << "told just before";
  EXPECT_TRUE(modes.executes_one_by_one(start + briefly));
  EXPECT_TRUE(modes.note_missing_function(start + execution_modes::warns_every));
}

TEST(NodeRegistration, BatchesAreNumberedWithinOne) {
  node_registration it;
  EXPECT_FALSE(it.is_there());
  it.begin(5);
  EXPECT_EQ(it.next_batch(), 1);
  EXPECT_EQ(it.next_batch(), 2);
  it.begin_heartbeats(start);
  it.note_heartbeat(2, start + briefly);
  it.begin_heartbeats(start);
  EXPECT_EQ(it.next_heartbeat(), start + briefly) << "they have begun";
  EXPECT_EQ(it.forgotten_below(), 2);
  it.end();
  EXPECT_FALSE(it.is_there());
  EXPECT_EQ(it.last_number(), 5) << "what the next one says of itself";
  it.begin(6);
  EXPECT_EQ(it.next_batch(), 1);
  EXPECT_EQ(it.forgotten_below(), 0);
  EXPECT_EQ(it.next_heartbeat(), start + briefly) << "the same node goes on";
}

}  // namespace
}  // namespace foliot::jobs::detail
