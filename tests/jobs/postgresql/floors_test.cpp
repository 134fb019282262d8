// A backlog of ready jobs drains beside a transaction that stays open: searches do not walk over the jobs that have
// gone, and find the same jobs as without floors (sql/floors.sql).
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <foliot/jobs/calls.hpp>
#include <foliot/jobs/postgresql_store.hpp>

#include "connection.hpp"
#include "one_node.hpp"

namespace foliot::jobs {
namespace {

using namespace std::chrono_literals;
using foliot_test::age_partitions;
using foliot_test::postgresql_connection;

class PostgresqlFloors : public foliot_test::postgresql_one_node {
 protected:
  PostgresqlFloors() {
    pin_.sql("BEGIN ISOLATION LEVEL REPEATABLE READ");
    pin_.sql("SELECT 1");  // from now on PostgreSQL keeps all rows that go
    other_.sql(foliot_test::plans_of_nodes);
  }

  void put_many(int count, const std::string& tube = "a") {
    std::vector<operation> puts(static_cast<std::size_t>(count), put{.tube = tube, .body = "x", .priority = 1024});
    static_cast<void>(node_->execute(puts));
  }
  job_id put_one(jobs::priority urgency) {
    return execute_one(*node_, put{.tube = "a", .body = "x", .priority = urgency}).id;
  }
  /// All ready jobs come to the lasting partition, as in ten seconds.
  void rest() {
    other_.sql("SELECT foliot.rotate_table('ready', 0, '0 s')");
    age_partitions(other_, "ready", 11s);
    while (other_.sql("SELECT foliot.has_row(to_regclass('foliot.ready_' || 1 - foliot.current_part('ready')))") ==
           "t") {
      other_.sql("SELECT foliot.move_ready()");
    }
    other_.sql("SELECT foliot.rotate_table('ready', 0, '0 s')");
    EXPECT_EQ(other_.sql("SELECT count(*) FROM foliot.ready WHERE part <> 9"), "0");
  }
  std::vector<job_id> claim_some(std::uint32_t count, std::vector<std::string> tubes = {"a"}) {
    std::vector<job_id> ids;
    for (const claimed_job& each : execute_one(*node_, claim{.tubes = std::move(tubes), .count = count}).jobs) {
      ids.push_back(each.job.id);
    }
    return ids;
  }
  /// How many entries of gone jobs a search for the first job meets in the lasting partition.
  int gone_before(const std::string& tube = "a") {
    other_.sql("BEGIN");
    const int before = std::stoi(other_.sql("SELECT foliot.gone_met()"));
    other_.sql("SELECT b.id FROM foliot.tube_named('" + tube + "') t, foliot.best_ready(t.id, 1) b");
    const int after = std::stoi(other_.sql("SELECT foliot.gone_met()"));
    other_.sql("COMMIT");
    return after - before;
  }
  /// Claims one job after the other until there is a floor, as a turn of the node may just have the lock; returns how
  /// many.
  std::size_t claim_until_floor(const std::vector<std::string>& tubes) {
    std::size_t taken = 0;
    while (floors() == 0 && taken < 50) taken += claim_some(1, tubes).size();
    return taken;
  }
  /// Whether a claim has found that there are many gone jobs before those that it took in the other partitions.
  bool claims_walk_far() { return other_.sql("SELECT last_value > 0 FROM foliot.ready_gone_met") == "t"; }
  /// Has turns move ready jobs, as while claims walk far, until this is true.
  void move_until(const std::string& condition) {
    while (other_.sql(condition) != "t") {
      other_.sql("SELECT foliot.move_ready() FROM (SELECT foliot.note_gone_met() OFFSET 0) n");
    }
  }
  int floors() { return std::stoi(other_.sql("SELECT count(*) FROM foliot.ready_floor")); }

  /// A claim leaves a floor at the latest when it has met so many.
  static constexpr int most_gone = 5000;

  postgresql_connection pin_{database_};
};

TEST_F(PostgresqlFloors, ClaimsDoNotWalkOverWhatHasGone) {
  constexpr int many = 30000;
  constexpr int at_once = 1000;
  put_many(many);
  rest();
  job_id last = 0;
  for (int taken = 0; taken < many; taken += at_once) {
    EXPECT_LE(gone_before(), most_gone + at_once) << "after " << taken << " jobs";
    const std::vector<job_id> ids = claim_some(at_once);
    ASSERT_EQ(ids.size(), std::size_t{at_once});
    for (const job_id each : ids) {
      EXPECT_LT(last, each);
      last = each;
    }
  }
  // A claim that finds none raises the floor as well.
  EXPECT_TRUE(claim_some(1).empty());
  EXPECT_LE(gone_before(), most_gone);
  EXPECT_EQ(floors(), 1);
  expect_right();
}

// It makes another index, also while a node runs.
TEST_F(PostgresqlFloors, ClaimsLeaveFloorsAlsoAfterREINDEX) {
  put_many(14000);
  rest();
  EXPECT_EQ(claim_some(100).size(), 100U);
  pin_.sql("COMMIT");  // REINDEX waits for it
  other_.sql("REINDEX TABLE CONCURRENTLY foliot.ready_9");
  pin_.sql("BEGIN ISOLATION LEVEL REPEATABLE READ");
  pin_.sql("SELECT 1");
  EXPECT_EQ(claim_some(6000).size(), 6000U);
  claim_until_floor({"a"});
  EXPECT_EQ(floors(), 1);
  expect_right();
}

TEST_F(PostgresqlFloors, ClaimsFromSeveralTubesDoNotEither) {
  put_many(9000, "a");
  put_many(9000, "b");
  rest();
  for (int i = 0; i < 18; ++i) {
    EXPECT_EQ(claim_some(1000, {"a", "b"}).size(), 1000U);
    EXPECT_LE(gone_before("a"), 2 * most_gone);
    EXPECT_LE(gone_before("b"), 2 * most_gone);
  }
  EXPECT_EQ(floors(), 2);
  expect_right();
}

TEST_F(PostgresqlFloors, ClaimsFromManyTubesDoNotWalkFarInOne) {
  std::vector<std::string> tubes{"a"};
  put_many(7100);
  for (int i = 0; i < 20; ++i) {
    tubes.push_back("t" + std::to_string(i));
    put_many(1, tubes.back());
  }
  rest();
  EXPECT_EQ(claim_some(7000, tubes).size(), 7000U);
  const std::size_t taken = claim_until_floor(tubes);
  EXPECT_EQ(floors(), 1);
  EXPECT_EQ(gone_before(), 1);
  EXPECT_EQ(claim_some(200, tubes).size(), 120U - taken);
  expect_right();
}

// A claim finds such a job, and brings it in the order of the priorities.
TEST_F(PostgresqlFloors, AJobThatComesToBeforeAFloorLowersIt) {
  put_many(8000);
  rest();
  EXPECT_EQ(claim_some(7000).size(), 7000U);
  const job_id next = claim_some(1).front();
  ASSERT_EQ(floors(), 1);
  const job_id urgent = put_one(0);
  const job_id later = put_one(2000);
  rest();
  const std::vector<job_id> expected{urgent, next + 1, next + 2};
  EXPECT_EQ(claim_some(3), expected);
  EXPECT_EQ(other_.sql("SELECT (foliot.peek_first('a', 1)).shown"),
            other_.sql("SELECT (foliot.peek(" + std::to_string(next + 3) + ", '', '')).shown"));
  const std::vector<job_id> rest_of_them = claim_some(2000);
  EXPECT_EQ(rest_of_them.size(), 8000U - 7001U - 2U + 1U);
  EXPECT_EQ(rest_of_them.back(), later);
  EXPECT_TRUE(claim_some(1).empty());
  const job_id last = put_one(0);
  rest();
  EXPECT_EQ(claim_some(1), std::vector<job_id>{last});
  expect_right();
}

// Two claims at the same time pass over each other's jobs, and take each job once.
TEST_F(PostgresqlFloors, ClaimsAtTheSameTimeTakeEachJobOnce) {
  put_many(8000);
  rest();
  EXPECT_EQ(claim_some(6000).size(), 6000U);
  EXPECT_EQ(claim_some(1).size(), 1U);
  ASSERT_EQ(floors(), 1);
  postgresql_connection first(database_);
  postgresql_connection second(database_);
  const auto claim_in = [](postgresql_connection& over, int count) {
    over.sql("BEGIN");
    return over.sql(
        "SELECT string_agg(id::text, ' ') FROM foliot.claim((SELECT session FROM foliot.node), 1, NULL, '{a}', " +
        std::to_string(count) + ", NULL)");
  };
  const auto ids_from = [](job_id begin, int count) {
    std::string list = std::to_string(begin);
    for (int i = 1; i < count; ++i) list += " " + std::to_string(++begin);
    return list;
  };
  EXPECT_EQ(claim_in(first, 3), ids_from(6002, 3));
  EXPECT_EQ(claim_in(second, 3), ids_from(6005, 3));
  first.sql("ROLLBACK");
  second.sql("COMMIT");
  EXPECT_EQ(claim_in(first, 4), "6002 6003 6004 6008");
  first.sql("COMMIT");
  expect_right();
}

// A claim that is rolled back leaves no floor, and while a turn moves jobs, a claim raises none.
TEST_F(PostgresqlFloors, AFloorIsNeverAboveAJob) {
  put_many(9000);
  rest();
  EXPECT_EQ(claim_some(7000).size(), 7000U);
  postgresql_connection late(database_);
  const std::string claim_all =
      "SELECT count(*) FROM foliot.claim((SELECT session FROM foliot.node), 1, NULL, '{a}', 5000, NULL)";
  late.sql("BEGIN");
  EXPECT_EQ(late.sql(claim_all), "2000");
  EXPECT_EQ(late.sql("SELECT count(*) FROM foliot.ready_floor"), "1");
  late.sql("ROLLBACK");
  EXPECT_EQ(floors(), 0);

  const job_id urgent = put_one(0);
  other_.sql("SELECT foliot.rotate_table('ready', 0, '0 s')");
  age_partitions(other_, "ready", 11s);
  late.sql("BEGIN");
  late.sql("SELECT foliot.move_ready(), foliot.move_ready()");  // the first may have begun below all
  EXPECT_EQ(late.sql("SELECT count(*) FROM foliot.ready_9 WHERE id = " + std::to_string(urgent)), "1");
  EXPECT_EQ(claim_some(1000).size(), 1000U);
  EXPECT_EQ(floors(), 0);
  late.sql("COMMIT");
  EXPECT_EQ(claim_some(1), std::vector<job_id>{urgent});
  EXPECT_EQ(claim_some(2000).size(), 1000U);
  expect_right();
}

// Beside the transaction, a partition in which claims walk over gone jobs is moved at once, the youngest jobs first,
// while claims go on.
TEST_F(PostgresqlFloors, WhatIsBehindGoneJobsIsMovedSoon) {
  other_.sql("SELECT pg_advisory_lock(1718578282::bigint << 32)");  // the node takes no turn meanwhile
  put_many(14000);
  other_.sql("SELECT foliot.rotate_table('ready', 0, '0 s')");
  age_partitions(other_, "ready", 3s);
  EXPECT_EQ(other_.sql("SELECT foliot.move_ready()"), "f");
  EXPECT_EQ(other_.sql("SELECT count(*) FROM foliot.ready_9"), "0");  // it may be about to be taken
  EXPECT_EQ(claim_some(10001).size(), 10001U);
  EXPECT_FALSE(claims_walk_far());
  EXPECT_EQ(claim_some(1).front(), 10002U);
  EXPECT_TRUE(claims_walk_far());
  move_until("SELECT count(*) > 0 FROM foliot.ready_9");
  EXPECT_EQ(other_.sql("SELECT min(id) FROM foliot.ready_9"), "13001");
  std::vector<job_id> ids = claim_some(100);
  EXPECT_EQ(ids.front(), 10003U);
  {
    postgresql_connection shop(database_);  // a job that another transaction has locked stays
    shop.sql("BEGIN");
    EXPECT_EQ(shop.sql("SELECT foliot.cancel(12500)"), "t");
    move_until("SELECT count(*) = 1 FROM foliot.ready WHERE part <> 9");
    EXPECT_EQ(other_.sql("SELECT id FROM foliot.ready WHERE part <> 9"), "12500");
    EXPECT_EQ(other_.sql("SELECT foliot.move_ready()"), "f");
    shop.sql("ROLLBACK");
  }
  move_until("SELECT count(*) = 0 FROM foliot.ready WHERE part <> 9");
  EXPECT_EQ(other_.sql("SELECT count(*) FROM foliot.ready_9"), "3898");
  ids = claim_some(5000);
  ASSERT_EQ(ids.size(), 3898U);
  for (std::size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(ids[i], 10103 + i);
  expect_right();
}

// Older jobs may be in the partition that claims do not come to: those of another tube, or less urgent ones.
TEST_F(PostgresqlFloors, ClaimsWalkFarAlsoWhereTheOldestJobsStay) {
  other_.sql("SELECT pg_advisory_lock(1718578282::bigint << 32)");  // the node takes no turn meanwhile
  put_many(2, "idle");
  put_many(10100);
  EXPECT_EQ(claim_some(10050).size(), 10050U);
  EXPECT_EQ(claim_some(1).size(), 1U);
  EXPECT_TRUE(claims_walk_far());
  other_.sql("SELECT foliot.rotate_table('ready', 0, '0 s')");
  age_partitions(other_, "ready", 3s);
  move_until("SELECT count(*) = 0 FROM foliot.ready WHERE part <> 9");
  EXPECT_EQ(claim_some(100, {"a", "idle"}).size(), 51U);
  expect_right();
}

// When the lasting partition is empty, it is truncated as the others are, and to an old snapshot of an application no
// job is lost.
TEST_F(PostgresqlFloors, TheLastPartIsTruncatedWhenItIsEmpty) {
  put_many(7000);
  rest();
  postgresql_connection shop(database_);
  shop.sql("BEGIN ISOLATION LEVEL REPEATABLE READ");
  shop.sql("SELECT 1 FROM foliot.tube LIMIT 1");
  EXPECT_EQ(claim_some(6999).size(), 6999U);
  const auto size = [&] { return other_.sql("SELECT pg_relation_size('foliot.ready_9') > 0"); };
  const auto turn = [&] { other_.sql("SELECT foliot.rotate_table('ready', 1000000000, '10 s')"); };
  turn();
  EXPECT_EQ(other_.sql("SELECT last_value FROM foliot.ready_9_empty_since"), "0");
  const std::string id = std::to_string(claim_some(1).front());
  turn();
  EXPECT_EQ(size(), "t");  // a dump may have a snapshot that has the job
  other_.sql("SELECT setval('foliot.ready_9_empty_since', last_value - 2000) FROM foliot.ready_9_empty_since");
  turn();
  EXPECT_EQ(size(), "f");
  EXPECT_NE(other_.sql("SELECT foliot.current_part('ready')"), "9");
  EXPECT_EQ(gone_before(), 0);
  other_.sql("SELECT foliot.forget_floors()");
  EXPECT_EQ(floors(), 1);
  other_.sql("SELECT setval('foliot.floor_raised', 1)");  // long ago
  while (floors() > 0) other_.sql("SELECT foliot.forget_floors()");
  EXPECT_EQ(other_.sql("SELECT last_value FROM foliot.floor_raised"), "0");

  // Its worker gives the job back: to the snapshot it is in no partition.
  EXPECT_EQ(other_.sql(
                "WITH gone AS (DELETE FROM foliot.reserved WHERE id = " + id +
                " RETURNING *) INSERT INTO foliot.ready "
                "SELECT id, tube, pri, due, delay, reserves, timeouts, releases, buries, kicks FROM gone RETURNING id"),
            id);
  EXPECT_NE(shop.error_of("SELECT foliot.cancel(" + id + ")").find("has changed"), std::string::npos);
  shop.sql("ROLLBACK");
  EXPECT_EQ(shop.sql("SELECT foliot.cancel(" + id + ")"), "t");
  expect_right();
}

}  // namespace
}  // namespace foliot::jobs
