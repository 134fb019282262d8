// The ways of operations through several databases.
#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <foliot/jobs/operations.hpp>

#include "jobs/postgresql/routing/routed_operation.hpp"
#include "jobs/postgresql/tube_map.hpp"
#include "once_keys.hpp"

namespace foliot::jobs::detail {
namespace {

using foliot_test::once_of;
using std::chrono::milliseconds;

/// Three databases. The tube "one" is in 1, and "moving" moves from 1 to 2.
class RoutedOperation : public ::testing::Test {
 protected:
  [[nodiscard]] routed_operation of(operation what, std::size_t first = 0) {
    return {asked_.emplace_back(std::move(what)), map_, first};
  }
  static void refuse(routed_operation& it, int database, bool is_in_doubt) {
    it.take_refusal(database, is_in_doubt, "why");
  }

  std::deque<operation> asked_;  // of the caller
  const tube_map map_{{{1, "db1"}, {2, "db2"}}, {{"one", {1}}, {"moving", {2, 1}}}};
};

using databases = std::vector<int>;

databases next_of(const routed_operation& it) { return {it.next().begin(), it.next().end()}; }

TEST_F(RoutedOperation, APutGoesToTheDatabaseOfItsTube) {
  EXPECT_EQ(next_of(of(put{.tube = "other", .body = ""})), databases{0});
  EXPECT_EQ(next_of(of(put{.tube = "one", .body = ""})), databases{1});
  EXPECT_EQ(next_of(of(put{.tube = "moving", .body = ""})), databases{2});
}

TEST_F(RoutedOperation, APutWithAKeyLooksWhereTheTubeWasFirst) {
  routed_operation it = of(put{.tube = "moving", .key = "k", .body = "body"});
  ASSERT_EQ(next_of(it), databases{1});
  operation there = it.share(1, map_);
  EXPECT_EQ(std::get<put>(there).body, "body");
  it.take_back(std::move(there));
  it.take_elsewhere(1);
  it.go_on();
  ASSERT_EQ(next_of(it), databases{2});
  EXPECT_EQ(std::get<put>(it.share(2, map_)).body, "body");
  it.take(2, put_answer{put_answer::kind::inserted, 66}, false);
  it.go_on();
  EXPECT_TRUE(it.next().empty());
  EXPECT_EQ(std::get<put_answer>(it.result()).id, 66U);
}

/// Its record may be where the tube was.
TEST_F(RoutedOperation, APutThatHappensOnceLooksWhereTheTubeWasFirst) {
  routed_operation it = of(put{.tube = "moving", .body = "", .once = once_of(1)});
  ASSERT_EQ(next_of(it), databases{1});
  it.take_elsewhere(1);
  it.go_on();
  ASSERT_EQ(next_of(it), databases{2});
  routed_operation known = of(put{.tube = "moving", .body = "", .once = once_of(1)});
  known.take(1, put_answer{.id = 5, .is_replayed = true}, false);
  known.go_on();
  EXPECT_TRUE(known.next().empty());
  EXPECT_EQ(std::get<put_answer>(known.result()).id, 5U);
}

claim once_from(std::vector<std::string> tubes) { return {.tubes = std::move(tubes), .count = 2, .once = once_of(1)}; }

claim_answer jobs_of(std::initializer_list<job_id> ids, bool is_replayed = false) {
  claim_answer made;
  made.is_replayed = is_replayed;
  for (const job_id each : ids) made.jobs.emplace_back().token.id = each;
  return made;
}

TEST_F(RoutedOperation, AClaimThatHappensOnceAsksAllDatabasesForItsRecordFirst) {
  EXPECT_EQ(next_of(of(once_from({"one"}))), databases{1});
  EXPECT_TRUE(of(once_from({"one"})).is_whole_for(1, map_)) << "there is but one database";
  routed_operation it = of(once_from({"other", "moving"}), 1);
  ASSERT_EQ(next_of(it), (databases{0, 1, 2}));
  for (const int each : {0, 1, 2}) {
    const operation looks = it.share(each, map_);
    EXPECT_EQ(std::get<claim>(looks).once.lifetime(), milliseconds(0));
    EXPECT_EQ(std::get<claim>(looks).once.key(), once_of(1).key());
    it.take(each, jobs_of({}), false);
  }
  it.go_on();
  ASSERT_EQ(next_of(it), databases{0}) << "each twin begins there";
  EXPECT_EQ(std::get<claim>(it.share(0, map_)).once, once_of(1));
  it.take(0, jobs_of({64}), false);
  it.go_on();
  ASSERT_EQ(next_of(it), databases{1});
  const operation rest = it.share(1, map_);
  EXPECT_EQ(std::get<claim>(rest).once, once_of(1));
  EXPECT_EQ(std::get<claim>(rest).count, 1U);
  it.take(1, jobs_of({65}, true), false);  // a twin was there before
  it.go_on();
  EXPECT_TRUE(it.next().empty());
  const answer done = it.result();
  EXPECT_EQ(std::get<claim_answer>(done).jobs.size(), 2U);
  EXPECT_TRUE(std::get<claim_answer>(done).is_replayed);
}

TEST_F(RoutedOperation, AClaimWithARecordIsNotExecuted) {
  for (const bool is_other : {false, true}) {
    routed_operation it = of(once_from({"other", "one"}));
    claim_answer known = jobs_of({}, !is_other);
    if (is_other) known.what = claim_answer::kind::other_request;
    it.take(0, jobs_of({}), false);
    it.take(1, known, false);
    it.go_on();
    EXPECT_TRUE(it.next().empty());
    EXPECT_EQ(std::get<claim_answer>(it.result()), known) << is_other;
  }
}

TEST_F(RoutedOperation, AClaimIsNotExecutedUnlessAllDatabasesHaveAnswered) {
  for (const bool is_known : {false, true}) {
    routed_operation it = of(once_from({"other", "one"}));
    it.take(0, jobs_of({64}, is_known), false);
    refuse(it, 1, false);
    it.go_on();
    EXPECT_TRUE(it.next().empty());
    const answer got = it.result();
    EXPECT_EQ(std::holds_alternative<unavailable_answer>(got), !is_known);
  }
}

put_all all_in(const std::vector<std::string>& tubes, const std::string& key = "") {
  put_all all;
  for (const std::string& each : tubes) all.puts.push_back({.tube = each, .key = key, .body = ""});
  return all;
}

TEST_F(RoutedOperation, PutsOfAllGoToTheDatabaseOfTheirTubes) {
  EXPECT_EQ(next_of(of(all_in({"other", "another"}, "k"))), databases{0});
  EXPECT_EQ(next_of(of(all_in({"one", "one"}))), databases{1});
  EXPECT_EQ(next_of(of(all_in({"moving", "moving"}))), databases{2});
  routed_operation it = of(all_in({"moving"}, "k"));
  ASSERT_EQ(next_of(it), databases{1}) << "where its jobs may still be";
  it.take_elsewhere(1);
  it.go_on();
  ASSERT_EQ(next_of(it), databases{2});
  it.take(2, put_all_answer{.puts = {{put_answer::kind::inserted, 66}}}, false);
  it.go_on();
  EXPECT_FALSE(it.is_unplaced());
  EXPECT_EQ(std::get<put_all_answer>(it.result()).puts.at(0).id, 66U);
}

TEST_F(RoutedOperation, APutAllWhoseTubesWerePartedAsksForItsRecord) {
  put_all all = all_in({"other", "moving"});
  all.once = once_of(1);
  routed_operation it = of(all);
  ASSERT_EQ(next_of(it), (databases{0, 1, 2}));
  const operation looks = it.share(0, map_);
  EXPECT_EQ(std::get<put_all>(looks).once.lifetime(), milliseconds(0));
  EXPECT_EQ(std::get<put_all>(looks).puts.size(), 2U);
  for (const int each : {0, 1, 2}) it.take_elsewhere(each);
  it.go_on();
  EXPECT_TRUE(it.next().empty());
  EXPECT_TRUE(it.is_unplaced()) << "a newer map may have a database for it";
  it.begin_again(map_);
  ASSERT_EQ(next_of(it), (databases{0, 1, 2}));
  for (const int each : {0, 1, 2}) it.take_elsewhere(each);
  it.go_on();
  EXPECT_TRUE(it.next().empty());
  EXPECT_FALSE(it.is_unplaced());
  EXPECT_EQ(std::get<put_all_answer>(it.result()).what, put_all_answer::kind::several_databases);

  routed_operation known = of(all);
  known.take_elsewhere(0);
  known.take(1, put_all_answer{.is_replayed = true}, false);
  known.take_elsewhere(2);
  known.go_on();
  EXPECT_TRUE(known.next().empty());
  EXPECT_FALSE(known.is_unplaced());
  EXPECT_TRUE(std::get<put_all_answer>(known.result()).is_replayed);

  put_all moves = all_in({"moving"});
  moves.once = once_of(1);
  EXPECT_EQ(next_of(of(moves)), databases{1}) << "where the record may be";
}

TEST_F(RoutedOperation, PutsOfAllInSeveralDatabasesAreRefusedByTheNewestMap) {
  for (const bool is_old : {true, false}) {
    routed_operation it = of(all_in({"one", "other", "another", "one"}));
    EXPECT_TRUE(it.next().empty());
    ASSERT_TRUE(it.is_unplaced()) << "the map may be old";
    if (is_old) {
      it.begin_again({{{1, "db1"}}, {{"one", {1}}, {"other", {1}}, {"another", {1}}}});
      EXPECT_EQ(next_of(it), databases{1});
      continue;
    }
    it.begin_again(map_);
    EXPECT_FALSE(it.is_unplaced());
    put_all_answer refused{put_all_answer::kind::several_databases};
    refused.tubes = {{"another", "other"}, {"one"}};
    EXPECT_EQ(it.result(), answer(refused));
  }
}

// A transaction in one of the databases would not see the keys in the other one.
TEST_F(RoutedOperation, PutsOfAllWaitForATubeThatMoves) {
  const tube_map map{{{1, "db1"}, {2, "db2"}}, {{"moving", {2, 1}}, {"there", {2}}}};
  put_all all = all_in({"moving", "there"}, "k");
  asked_.emplace_back(all);
  routed_operation it(asked_.back(), map, 0);
  EXPECT_TRUE(it.next().empty());
  it.begin_again(map);
  EXPECT_EQ(it.result(), answer(passed_over_answer{}));
  all.puts.front().key.clear();
  asked_.emplace_back(all);
  EXPECT_EQ(next_of({asked_.back(), map, 0}), databases{2});
}

TEST_F(RoutedOperation, ADatabaseThatExecutesAllOfItNeedsNoShare) {
  const routed_operation listing = of(count_all{});
  EXPECT_FALSE(listing.is_whole_for(0, map_)) << "three databases execute it";
  const routed_operation claiming = of(claim{.tubes = {"other", "one"}});
  EXPECT_FALSE(claiming.is_whole_for(0, map_)) << "the database 0 has one of its tubes";
  routed_operation kicking = of(kick{.tube = "moving", .count = 5});
  EXPECT_TRUE(kicking.is_whole_for(1, map_));
  EXPECT_FALSE(kicking.is_whole_for(2, map_));
  kicking.take(1, bulk_answer{2}, true);
  kicking.go_on();
  EXPECT_TRUE(kicking.is_whole_for(2, map_));
  kicking.reduce();
  EXPECT_EQ(std::get<kick>(asked_.back()).count, 3U);
}

TEST_F(RoutedOperation, APutThatNoDatabaseTakesBeginsAgain) {
  routed_operation it = of(put{.tube = "other", .body = ""});
  it.take_elsewhere(0);
  it.go_on();
  EXPECT_TRUE(it.is_unplaced());
  it.begin_again({{{1, "db1"}}, {{"other", {1}}}});
  EXPECT_EQ(next_of(it), databases{1});
  EXPECT_FALSE(it.is_unplaced());
}

TEST_F(RoutedOperation, AJobIsLookedForInAllDatabases) {
  routed_operation it = of(cancel{job_id{65}});
  for (const int each : {1, 2, 0}) {  // its id is one of database 1
    ASSERT_EQ(next_of(it), databases{each});
    it.take(each, change_answer{change_answer::kind::gone, 0}, false);
    it.go_on();
  }
  EXPECT_TRUE(it.next().empty());
  EXPECT_EQ(std::get<change_answer>(it.result()).what, change_answer::kind::gone);
}

// It was still in 1 when 2 was asked, and has come there before 1 was asked.
TEST_F(RoutedOperation, AJobThatMayHaveMovedIsLookedForOnceMore) {
  for (const bool is_there : {false, true}) {
    routed_operation it = of(peek{job_id{66}});
    for (const int each : {2, 0, 1}) {
      ASSERT_EQ(next_of(it), databases{each});
      it.take(each, peek_answer{}, each == 1);
      it.go_on();
    }
    ASSERT_EQ(next_of(it), databases{2});
    if (is_there) {
      it.take(2, peek_answer{job{}}, false);
      it.go_on();
    } else {
      for (const int each : {2, 0, 1}) {
        ASSERT_EQ(next_of(it), databases{each});
        it.take(each, peek_answer{}, each == 1);
        it.go_on();
      }
    }
    EXPECT_TRUE(it.next().empty());
    EXPECT_EQ(std::get<peek_answer>(it.result()).job.has_value(), is_there);
  }
}

// Its job was on its way from 1, so it may be in 2.
TEST_F(RoutedOperation, WhatWasPassedOverIsLookedForInTheNextDatabase) {
  for (const bool is_there : {false, true}) {
    routed_operation it = of(peek{job_key{"moving", "k"}});
    ASSERT_EQ(next_of(it), databases{1});
    it.take(1, passed_over_answer{}, false);
    it.go_on();
    ASSERT_EQ(next_of(it), databases{2});
    it.take(2, is_there ? peek_answer{job{}} : peek_answer{}, false);
    it.go_on();
    EXPECT_TRUE(it.next().empty());
    EXPECT_EQ(std::holds_alternative<peek_answer>(it.result()), is_there) << "else it may be in neither";
  }
}

TEST_F(RoutedOperation, APutThatWasPassedOverGoesNowhereElse) {
  routed_operation it = of(put{.tube = "moving", .key = "k", .body = ""});
  it.take(1, passed_over_answer{}, true);
  it.go_on();
  EXPECT_TRUE(it.next().empty());
  EXPECT_TRUE(std::holds_alternative<passed_over_answer>(it.result()));
}

TEST_F(RoutedOperation, WhatIsInDoubtGoesNowhereElse) {
  routed_operation it = of(cancel{job_id{64}});
  refuse(it, 0, true);
  it.go_on();
  EXPECT_TRUE(it.next().empty());
  EXPECT_TRUE(std::get<unavailable_answer>(it.result()).is_in_doubt);
}

TEST_F(RoutedOperation, AJobThatWasNotFoundMayBeWhereNobodyAnswers) {
  routed_operation it = of(cancel{job_id{64}});
  it.take(0, change_answer{change_answer::kind::gone, 0}, false);
  it.go_on();
  refuse(it, 1, false);
  it.go_on();
  ASSERT_EQ(next_of(it), databases{2});
  it.take(2, change_answer{change_answer::kind::gone, 0}, false);
  it.go_on();
  EXPECT_TRUE(it.next().empty());
  EXPECT_EQ(std::get<unavailable_answer>(it.result()), (unavailable_answer{false, "why"}));
}

TEST_F(RoutedOperation, WhatWasNotFoundByAnOldMapMayBeElsewhere) {
  routed_operation it = of(cancel{job_key{"one", "k"}});
  it.take(1, change_answer{change_answer::kind::gone, 0}, false);
  it.take_doubt("why");
  it.go_on();
  EXPECT_TRUE(it.next().empty());
  EXPECT_EQ(std::get<unavailable_answer>(it.result()), (unavailable_answer{false, "why"}));

  routed_operation found = of(cancel{job_key{"one", "k"}});
  found.take(1, change_answer{change_answer::kind::done, 65}, true);
  found.take_doubt("why");
  found.go_on();
  EXPECT_EQ(std::get<change_answer>(found.result()).id, 65U);
}

TEST_F(RoutedOperation, APutGoesOnByAnOldMap) {
  routed_operation it = of(put{.tube = "moving", .key = "k", .body = ""});
  it.take_elsewhere(1);
  it.take_doubt("why");
  it.go_on();
  EXPECT_EQ(next_of(it), databases{2});
}

TEST_F(RoutedOperation, AJobThatItsDatabaseHasNoRoomToReserveIsFound) {
  routed_operation it = of(claim_job{65});
  ASSERT_EQ(next_of(it), databases{1});
  it.take(1, claim_answer{{}, claim_answer::kind::no_space}, false);
  it.go_on();
  EXPECT_TRUE(it.next().empty());
  EXPECT_EQ(std::get<claim_answer>(it.result()).what, claim_answer::kind::no_space);
}

TEST_F(RoutedOperation, AClaimAsksEachDatabaseForItsTubesAndForWhatIsMissing) {
  routed_operation it = of(claim{.tubes = {"other", "one", "moving"}, .count = 3}, 1);
  ASSERT_EQ(next_of(it), databases{1});
  EXPECT_EQ(std::get<claim>(it.share(1, map_)).tubes, (std::vector<std::string>{"one", "moving"}));
  it.take(1, claim_answer{{claimed_job{}}}, false);
  it.go_on();
  ASSERT_EQ(next_of(it), databases{2});
  EXPECT_EQ(std::get<claim>(it.share(2, map_)), (claim{.tubes = {"moving"}, .count = 2}));
  refuse(it, 2, false);
  it.go_on();
  ASSERT_EQ(next_of(it), databases{0});
  EXPECT_EQ(std::get<claim>(it.share(0, map_)), (claim{.tubes = {"other"}, .count = 2}));
  it.take(0, claim_answer{}, false);
  it.go_on();
  EXPECT_TRUE(it.next().empty());
  EXPECT_EQ(std::get<claim_answer>(it.result()).jobs.size(), 1U);
}

// The node has reserved them: without an answer they would be nobody's until their time is over.
TEST_F(RoutedOperation, AClaimKeepsItsJobsIfAnotherDatabaseRefusesIt) {
  for (const answer& refusal : {answer(unavailable_answer{false, "why"}), answer(passed_over_answer{})}) {
    routed_operation it = of(claim{.tubes = {"one", "other"}, .count = 3}, 1);
    it.take(1, claim_answer{{claimed_job{}}}, false);
    it.go_on();
    ASSERT_EQ(next_of(it), databases{0});
    it.take(0, answer(refusal), false);
    it.go_on();
    EXPECT_TRUE(it.next().empty());
    EXPECT_EQ(std::get<claim_answer>(it.result()).jobs.size(), 1U);
  }
}

TEST_F(RoutedOperation, AKickGoesOnWithTheRest) {
  routed_operation it = of(kick{.tube = "moving", .count = 5});
  it.take(1, bulk_answer{2}, true);
  it.go_on();
  ASSERT_EQ(next_of(it), databases{2});
  EXPECT_EQ(std::get<kick>(it.share(2, map_)).count, 3U);
  it.take(2, bulk_answer{3}, false);
  it.go_on();
  EXPECT_TRUE(it.next().empty());
  EXPECT_EQ(std::get<bulk_answer>(it.result()).changed, 5U);
}

TEST_F(RoutedOperation, CountsAreSums) {
  routed_operation it = of(count_all{});
  ASSERT_EQ(next_of(it), (databases{0, 1, 2}));
  for (const int each : it.next()) it.take(each, count_answer{{.ready = 2, .delayed = 1}}, false);
  it.go_on();
  EXPECT_TRUE(it.next().empty());
  EXPECT_EQ(std::get<count_answer>(it.result()).counts, (job_counts{.ready = 6, .delayed = 3}));
}

TEST_F(RoutedOperation, ACountWithoutOneDatabaseIsNone) {
  routed_operation it = of(count_tube{"moving"});
  it.take(1, count_answer{{.ready = 2}}, false);
  refuse(it, 2, false);
  it.go_on();
  EXPECT_TRUE(it.next().empty());
  EXPECT_TRUE(std::holds_alternative<unavailable_answer>(it.result()));
}

TEST_F(RoutedOperation, ANewerMapNamesTheDatabasesThatAreYetToBeAsked) {
  routed_operation it = of(cancel{job_key{"one", "k"}});
  ASSERT_EQ(next_of(it), databases{1});
  it.take(1, change_answer{change_answer::kind::gone, 0}, true);
  const tube_map newer{{{1, "db1"}, {2, "db2"}}, {{"one", {2, 1}}}};
  it.follow(newer);
  it.go_on();
  ASSERT_EQ(next_of(it), databases{2});
  it.take(2, change_answer{change_answer::kind::done, 66}, false);
  it.go_on();
  EXPECT_TRUE(it.next().empty());
  EXPECT_EQ(std::get<change_answer>(it.result()).id, 66U);
}

TEST_F(RoutedOperation, TheListOfTubesHasEachOnce) {
  routed_operation it = of(list_tubes{});
  it.take(0, tubes_answer{{"a", "moving"}}, false);
  it.take(1, tubes_answer{{"moving", "one"}}, true);
  it.take(2, tubes_answer{{"moving"}}, false);
  it.go_on();
  EXPECT_TRUE(it.next().empty());
  EXPECT_EQ(std::get<tubes_answer>(it.result()).tubes, (std::vector<std::string>{"a", "moving", "one"}));
}

TEST_F(RoutedOperation, APageOfTubesGoesNoFurtherThanEachDatabaseHasSearched) {
  const auto counted = [](std::uint64_t ready) { return count_answer{{.ready = ready}}; };
  routed_operation it = of(list_tubes{.count = 4, .with_counts = true});
  EXPECT_EQ(next_of(it), (databases{0, 1, 2}));
  it.take(0, tubes_answer{{"a", "moving", "z"}, {counted(1), counted(2), counted(9)}}, false);
  it.take(1, tubes_answer{{"moving", "one"}, {counted(3), counted(4)}, "p"}, true);  // it has not looked behind p
  it.take(2, tubes_answer{}, false);
  it.go_on();
  EXPECT_TRUE(it.next().empty());
  EXPECT_EQ(std::get<tubes_answer>(it.result()),
            (tubes_answer{{"a", "moving", "one"}, {counted(1), counted(5), counted(4)}, "p"}));
}

TEST_F(RoutedOperation, PagesOfJobsAreMergedInOrderAndCutToThePage) {
  const auto listed = [](std::uint64_t rank, job_id id) {
    listed_job made{{rank, id}, {}};
    made.job.id = id;
    return made;
  };
  const auto ids_of = [](const jobs_answer& page) {
    std::vector<job_id> all;
    for (const listed_job& each : page.jobs) all.push_back(each.job.id);
    return all;
  };
  routed_operation it = of(list_jobs{.count = 3});
  it.take(0, jobs_answer{{listed(0, 64), listed(0, 128), listed(0, 192)}, job_place{0, 192}}, false);
  it.take(2, jobs_answer{{listed(0, 66)}}, false);
  it.take(1, jobs_answer{{listed(0, 65)}, job_place{0, 100}}, false);  // it has not looked behind 100
  it.go_on();
  const jobs_answer merged = std::get<jobs_answer>(it.result());
  EXPECT_EQ(ids_of(merged), (std::vector<job_id>{64, 65, 66}));
  EXPECT_EQ(merged.next, (job_place{0, 66})) << "the page is full";
  routed_operation wide = of(list_jobs{.count = 100});
  wide.take(0, jobs_answer{{listed(0, 64), listed(0, 128)}}, false);
  wide.take(2, jobs_answer{}, false);
  wide.take(1, jobs_answer{{listed(0, 65)}, job_place{0, 100}}, false);
  wide.go_on();
  const jobs_answer cut = std::get<jobs_answer>(wide.result());
  EXPECT_EQ(ids_of(cut), (std::vector<job_id>{64, 65}));
  EXPECT_EQ(cut.next, (job_place{0, 100}));
}

TEST_F(RoutedOperation, JobsOfATubeAreListedWhereTheTubeIs) {
  EXPECT_EQ(next_of(of(list_jobs{.tube = "one"})), databases{1});
  EXPECT_EQ(next_of(of(list_jobs{.which = job_state::reserved})), (databases{0, 1, 2}));
}

TEST_F(RoutedOperation, WhatIsDueNextIsMergedInOrderAndCutToThePage) {
  const auto due_in = [](std::int64_t ms, job_id id) {
    return due_job{id, "t", job_state::delayed, utc_time(milliseconds(ms))};
  };
  routed_operation it = of(list_due{.count = 4});
  EXPECT_EQ(next_of(it), (databases{0, 1, 2}));
  it.take(2, due_answer{{due_in(1, 66), due_in(5, 2), due_in(5, 130)}}, false);
  it.take(0, due_answer{{due_in(5, 64), due_in(6, 128)}}, false);
  it.take(1, due_answer{{due_in(1, 65), due_in(5, 130), due_in(9, 193)}}, true);  // 130 has moved from 1 to 2
  it.go_on();
  EXPECT_TRUE(it.next().empty());
  EXPECT_EQ(std::get<due_answer>(it.result()),
            (due_answer{{due_in(1, 65), due_in(1, 66), due_in(5, 2), due_in(5, 64)}}));
}

TEST_F(RoutedOperation, ANodeThatSeveralDatabasesKnowIsListedOnce) {
  const auto at = [](std::int64_t ms) { return utc_time(milliseconds(ms)); };
  routed_operation it = of(list_nodes{});
  EXPECT_EQ(next_of(it), (databases{0, 1, 2}));
  it.take(1, nodes_answer{{{"a", at(10), at(90)}, {"c", at(30), at(95)}}, at(100)}, false);
  it.take(0, nodes_answer{{{"a", at(5), at(80)}, {"b", at(20), at(98)}}, at(101)}, false);
  it.take(2, nodes_answer{{{"a", at(15), at(85)}, {"c", at(25), at(99)}}, at(99)}, false);
  it.go_on();
  EXPECT_TRUE(it.next().empty());
  const nodes_answer expected{{{"a", at(15), at(80)}, {"b", at(20), at(98)}, {"c", at(30), at(95)}}, at(101)};
  EXPECT_EQ(std::get<nodes_answer>(it.result()), expected);
}

TEST_F(RoutedOperation, WhatIsDueNextIsNotKnownIfOneDatabaseDoesNotAnswer) {
  routed_operation it = of(list_due{});
  it.take(0, due_answer{}, false);
  it.take(2, due_answer{}, false);
  refuse(it, 1, false);
  it.go_on();
  EXPECT_TRUE(it.next().empty());
  EXPECT_TRUE(std::holds_alternative<unavailable_answer>(it.result()));
}

}  // namespace
}  // namespace foliot::jobs::detail
