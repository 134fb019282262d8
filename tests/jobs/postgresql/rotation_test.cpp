// The partitions of tables: rows that have gone leave nothing behind, and nothing else
// changes.
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <thread>
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
using foliot_test::until_a_lock_is_awaited;

class PostgresqlRotation : public foliot_test::postgresql_one_node {
 protected:
  job_id put_one(jobs::priority urgency = 0, milliseconds delay = 0ms) {
    return execute_one(*node_, put{.tube = "a", .body = "x", .priority = urgency, .due = delay}).id;
  }
  std::vector<job_id> claim_all() {
    std::vector<job_id> ids;
    for (const claimed_job& each : execute_one(*node_, claim{.tubes = {"a"}, .count = 100}).jobs) {
      ids.push_back(each.job.id);
      tokens_.push_back(each.token);
    }
    return ids;
  }
  void finish_all() {
    for (const reservation& each : tokens_) execute_one(*node_, finish{each});
    tokens_.clear();
  }
  /// A turn of the rotation, for partitions of any size and age.
  void rotate(const std::string& table) { other_.sql("SELECT foliot.rotate_table('" + table + "', 0, '0 s')"); }
  std::string current(const std::string& table) { return other_.sql("SELECT foliot.current_part('" + table + "')"); }
  /// The table's partitions that have pages.
  std::string grown(const std::string& table) {
    return other_.sql(
        "SELECT coalesce(string_agg(n::text, ' ' ORDER BY n), '') FROM generate_series(0, 9) n "
        "WHERE pg_relation_size(to_regclass('foliot." +
        table + "_' || n)) > 0");
  }

  static constexpr const char* tables[] = {"delayed", "ready", "reserved", "job", "batch"};

  std::vector<reservation> tokens_;
};

TEST_F(PostgresqlRotation, APartThatIsEmptyIsTruncatedThoughATransactionIsOpen) {
  postgresql_connection old(database_);
  old.sql("BEGIN ISOLATION LEVEL REPEATABLE READ");
  old.sql("SELECT 1");  // from now on PostgreSQL keeps all rows that go
  const auto rotate_all = [&] {
    for (const char* table : tables) rotate(table);
  };
  for (int i = 0; i < 20; ++i) {
    put_one();
    ASSERT_EQ(claim_all().size(), 1U);
    finish_all();
    rotate_all();
  }
  rotate_all();
  for (const char* table : {"ready", "reserved", "job"}) EXPECT_EQ(grown(table), "") << table;
  // The node forgets its batches by and by, and has a last one.
  other_.sql("SELECT foliot.beat(n.session, 1000, 0, NULL) FROM foliot.node n");
  for (int i = 0; i < 3; ++i) rotate("batch");  // each clears one partition
  EXPECT_EQ(grown("batch"), "");
  old.sql("COMMIT");
  expect_right();
}

// Each batch looks for pauses, and would walk over all that have gone.
TEST_F(PostgresqlRotation, PausesThatHaveGoneLeaveNothingBehind) {
  postgresql_connection old(database_);
  old.sql("BEGIN ISOLATION LEVEL REPEATABLE READ");
  old.sql("SELECT 1");
  other_.sql(
      "DO $$ BEGIN FOR i IN 1 .. 2000 LOOP "
      "PERFORM foliot.pause(1, NULL, 'a', 1000); PERFORM foliot.pause(1, NULL, 'a', 0); END LOOP; END $$");
  const auto size = [&] { return std::stoi(other_.sql("SELECT pg_relation_size('foliot.pause')")); };
  const auto turn = [&] { other_.sql("SELECT setval('foliot.last_turn', 1), foliot.rotate()"); };
  execute_one(*node_, pause{.tube = "b", .length = 1h});
  for (int i = 0; i < 3; ++i) turn();
  EXPECT_GT(size(), 65536);
  put_one();
  execute_one(*node_, pause{.tube = "b", .length = 0ms});
  for (int i = 0; size() > 0 && i < 1000; ++i) turn();
  EXPECT_EQ(size(), 0);
  execute_one(*node_, pause{.tube = "a", .length = 1h});
  turn();
  EXPECT_TRUE(claim_all().empty());
  execute_one(*node_, pause{.tube = "a", .length = 0ms});
  EXPECT_EQ(claim_all().size(), 1U);
  expect_right();
}

TEST_F(PostgresqlRotation, JobsComeInTheirOrderFromAllParts) {
  std::vector<job_id> expected;
  expected.push_back(put_one(2));
  rotate("ready");
  EXPECT_EQ(current("ready"), "1");
  expected.push_back(put_one(1));
  age_partitions(other_, "ready", 11s);
  other_.sql("SELECT foliot.move_resting()");
  rotate("ready");
  EXPECT_EQ(current("ready"), "0");
  expected.push_back(put_one(2));
  rotate("ready");  // no partition is empty: the present one goes on
  EXPECT_EQ(current("ready"), "0");
  expected.push_back(put_one(0));
  const job_id last = put_one(1);
  EXPECT_EQ(grown("ready"), "0 1 9");
  expected = {expected[3], expected[1], last, expected[0], expected[2]};
  EXPECT_EQ(claim_all(), expected);
  expect_right();
}

TEST_F(PostgresqlRotation, WhatIsDueLaterLiesApart) {
  put_one(0, 1h);
  put_one(0, 30s);
  EXPECT_EQ(grown("delayed"), "0 9");
  rotate("delayed");
  put_one(0, 30s);
  EXPECT_EQ(grown("delayed"), "0 " + current("delayed") + " 9");
  EXPECT_EQ(execute_one(*node_, kick{.tube = "a", .count = 10}).changed, 3U);
  for (int i = 0; i < 3; ++i) rotate("delayed");
  EXPECT_LE(grown("delayed").size(), std::string("1 9").size());  // at most the present one, and the last
  EXPECT_EQ(claim_all().size(), 3U);
  expect_right();
}

TEST_F(PostgresqlRotation, WhatNobodyTakesIsMoved) {
  std::vector<job_id> ids;
  for (int i = 0; i < 5; ++i) ids.push_back(put_one());
  rotate("ready");
  const auto move = [&] { other_.sql("SELECT foliot.move_resting()"); };
  move();
  EXPECT_EQ(other_.sql("SELECT count(*) FROM foliot.ready_9"), "0");  // it may be about to be taken
  age_partitions(other_, "ready", 11s);
  {
    postgresql_connection shop(database_);  // a job that another transaction has locked stays
    shop.sql("BEGIN");
    EXPECT_EQ(shop.sql("SELECT foliot.cancel(" + std::to_string(ids[2]) + ")"), "t");
    move();
    EXPECT_EQ(other_.sql("SELECT count(*) FROM foliot.ready_9"), "4");
    shop.sql("ROLLBACK");
  }
  move();
  EXPECT_EQ(other_.sql("SELECT count(*) FROM foliot.ready_9"), "5");
  rotate("ready");
  EXPECT_EQ(grown("ready"), "9");
  EXPECT_EQ(claim_all(), ids);
  expect_right();
}

// Texts and long reservations lie apart when they have rested, and a call that meets one that moves finds it.
TEST_F(PostgresqlRotation, WhatRestsIsMovedFromUnderAnApplicationAndANode) {
  const job_id waiting = put_one();
  const auto rest = [&] {
    for (const char* table : {"job", "reserved"}) {
      rotate(table);
      age_partitions(other_, table, 11s);
    }
  };
  postgresql_connection moving(database_);
  const auto move_while = [&](const std::function<void()>& other) {
    moving.sql("BEGIN");
    moving.sql("SELECT foliot.move_resting()");
    std::thread meets(other);
    until_a_lock_is_awaited(other_);
    moving.sql("COMMIT");
    meets.join();
  };

  rest();
  postgresql_connection shop(database_);
  std::string cancelled;
  move_while([&] { cancelled = shop.sql("SELECT foliot.cancel(" + std::to_string(waiting) + ")"); });
  EXPECT_EQ(cancelled, "t");

  put_one();
  ASSERT_EQ(claim_all().size(), 1U);
  rest();
  holder_answer finished;
  move_while([&] { finished = execute_one(*node_, finish{tokens_.front()}); });
  EXPECT_EQ(finished.what, holder_answer::kind::done);
  tokens_.clear();

  put_one();
  ASSERT_EQ(claim_all().size(), 1U);
  rest();
  moving.sql("SELECT foliot.move_resting()");
  EXPECT_EQ(other_.sql("SELECT part FROM foliot.reserved"), "9");
  EXPECT_EQ(other_.sql("SELECT part FROM foliot.job"), "9");
  EXPECT_EQ(execute_one(*node_, touch{tokens_.front()}).what, holder_answer::kind::done);
  finish_all();
  expect_right();

  put_one();
  ASSERT_EQ(claim_all().size(), 1U);
  rest();
  move_while([&] { node_->close(); });
  EXPECT_EQ(other_.sql("SELECT count(*) FROM foliot.ready"), "1");
}

// A statement that waits for the lock of a turn sees what the turn has moved.
TEST_F(PostgresqlRotation, ALookDuringATurnMissesNothing) {
  postgresql_connection looking(database_);
  postgresql_connection turning(database_);
  const auto turn_under = [&](const std::string& look) {
    const std::string statement = "SELECT string_agg(t.seen::text, ' ') FROM (SELECT " + look + ") t (seen)";
    turning.sql("BEGIN");
    for (const std::string table : {"job", "ready", "reserved"}) {
      turning.sql("UPDATE foliot." + table + " SET part = 9");
      turning.sql("TRUNCATE TABLE foliot." + table + "_0, foliot." + table + "_1");
    }
    looking.send(statement);
    until_a_lock_is_awaited(other_);
    turning.sql("COMMIT");
    EXPECT_EQ(looking.finish(), other_.sql(statement)) << look;
  };
  for (const char* look :
       {"foliot.count_jobs(NULL)", "foliot.list_tubes()", "(foliot.reservations_of(1, NULL)).ids", "foliot.has_job(1)",
        "foliot.send_piece('a', 1, 1)", "m.value FROM foliot.job_metrics() m WHERE m.name LIKE 'jobs%'"}) {
    put_one();
    ASSERT_EQ(claim_all().size(), 1U);
    turn_under(look);
    finish_all();
  }
  put_one();
  turn_under("(foliot.peek_first('a', 1)).state");
  expect_right();
}

// A transaction with an old snapshot is told that it may miss a job.
TEST_F(PostgresqlRotation, AnOldSnapshotOfAnApplicationMissesNothing) {
  const std::string id = std::to_string(put_one());
  postgresql_connection shop(database_);
  shop.sql("BEGIN ISOLATION LEVEL REPEATABLE READ");
  shop.sql("SELECT 1 FROM foliot.tube LIMIT 1");
  EXPECT_EQ(shop.sql("SELECT foliot.cancel(1234567)"), "f");
  shop.sql("COMMIT");
  shop.sql("BEGIN ISOLATION LEVEL REPEATABLE READ");
  shop.sql("SELECT 1 FROM foliot.tube LIMIT 1");
  rotate("job");
  age_partitions(other_, "job", 11s);
  other_.sql("SELECT foliot.move_resting()");
  rotate("job");
  EXPECT_EQ(grown("job"), "9");
  EXPECT_NE(shop.error_of("SELECT foliot.cancel(" + id + ")").find("may have changed"), std::string::npos);
  shop.sql("ROLLBACK");
  EXPECT_EQ(shop.sql("SELECT foliot.cancel(" + id + ")"), "t");
  expect_right();
}

// A dump has its snapshot a little before its locks: so a partition stays for a while after its last row has gone.
TEST_F(PostgresqlRotation, APartThatHasJustBecomeEmptyStays) {
  other_.sql("SET lock_timeout = '50ms'");
  const auto turn = [&] { return other_.sql("SELECT foliot.rotate_table('batch', 1000000000, '10 s')"); };
  const auto seen_before = [&](const std::string& part, const std::string& ms) {
    other_.sql("SELECT setval('foliot.batch_" + part + "_empty_since', last_value - " + ms + ") FROM foliot.batch_" +
               part + "_empty_since WHERE last_value > 0");
  };
  // Both other partitions have been used.
  for (const char* part : {"0", "1", "2"}) {
    other_.sql(std::string("INSERT INTO foliot.batch VALUES (77, 1, false, 0, ") + part + ")");
  }
  other_.sql("SELECT foliot.set_current_part('batch', 2::smallint)");
  EXPECT_EQ(turn(), "1");
  other_.sql("DELETE FROM foliot.batch");
  EXPECT_EQ(turn(), "1");
  EXPECT_EQ(grown("batch"), "0 1 2");
  seen_before("0", "2000");
  seen_before("1", "1000");
  EXPECT_EQ(turn(), "2");
  EXPECT_EQ(grown("batch"), "1 2");
  seen_before("1", "1000");
  // A row that is not committed yet.
  postgresql_connection late(database_);
  late.sql("BEGIN");
  late.sql("INSERT INTO foliot.batch VALUES (77, 2, false, 0, 1)");
  EXPECT_EQ(turn(), "0");
  late.sql("COMMIT");
  other_.sql("DELETE FROM foliot.batch");
  EXPECT_EQ(turn(), "1");  // it counts anew
  EXPECT_EQ(grown("batch"), "1 2");
  seen_before("1", "-3600000");  // the clock was set back
  EXPECT_EQ(turn(), "1");
  seen_before("1", "2000");
  EXPECT_EQ(turn(), "2");
  EXPECT_EQ(grown("batch"), "2");
  // What a partition had before it was the current one does not count.
  other_.sql("SELECT setval('foliot.batch_0_empty_since', 1)");
  other_.sql("SELECT foliot.set_current_part('batch', 0::smallint)");
  other_.sql("INSERT INTO foliot.batch VALUES (77, 3, false, 0, 0)");
  other_.sql("DELETE FROM foliot.batch");
  other_.sql("SELECT foliot.set_current_part('batch', 1::smallint)");
  EXPECT_EQ(turn(), "1");
  EXPECT_EQ(grown("batch"), "0 2");
}

// The clock of the server may be set back, and calls may have one snapshot.
TEST_F(PostgresqlRotation, ATurnTrustsNeitherTheClockNorItsCaller) {
  age_partitions(other_, "job", -1h);
  EXPECT_EQ(other_.sql("SELECT foliot.age_of_part('job') < '0 s'"), "t");
  other_.sql("SELECT foliot.rotate_table('job', 1000000000, '10 s')");
  EXPECT_EQ(other_.sql("SELECT foliot.age_of_part('job') BETWEEN '0 s' AND '30 min'"), "t");
  put_one();
  rotate("job");
  claim_all();
  finish_all();
  other_.sql("BEGIN ISOLATION LEVEL REPEATABLE READ");
  EXPECT_NE(other_.error_of("SELECT foliot.rotate_table('job', 0, '0 s')").find("READ COMMITTED"), std::string::npos);
  other_.sql("ROLLBACK");
  expect_right();
}

// The texts that are due later, and those with keys, are written where they stay.
TEST_F(PostgresqlRotation, KeysAreUniqueInAllParts) {
  const auto with_key = [&](milliseconds delay) {
    return execute_one(*node_, put{.tube = "a", .key = "k", .body = "x", .due = delay});
  };
  const job_id first = with_key(0ms).id;
  for (const char* table : tables) rotate(table);
  EXPECT_EQ(with_key(0ms).id, first);
  EXPECT_EQ(with_key(1h).id, first);
  EXPECT_EQ(other_.sql("SELECT foliot.put('a', 'y', key => 'k')"), std::to_string(first));
  EXPECT_EQ(other_.sql("SELECT part FROM foliot.job"), "9");
  put_one(0, 1h);
  EXPECT_EQ(other_.sql("SELECT count(*) FROM foliot.job_9"), "2");
  EXPECT_NE(other_.error_of("INSERT INTO foliot.job VALUES (1, 1, 'k', 0, 1, '', 0)"), "");
  expect_right();
}

TEST_F(PostgresqlRotation, BatchesOfAClosedNodeKeepNoPart) {
  put_one();
  EXPECT_NE(other_.sql("SELECT count(*) FROM foliot.batch"), "0");
  node_->close();
  EXPECT_EQ(other_.sql("SELECT count(*) FROM foliot.batch"), "0");
  // Of a node that has died they stay for an hour.
  other_.sql(
      "INSERT INTO foliot.batch VALUES (77, 1, false, 1000000000 * (extract(epoch FROM now())::bigint - 3500), 0), "
      "(77, 2, false, 1000000000 * (extract(epoch FROM now())::bigint - 3700), 0)");
  rotate("batch");
  ASSERT_NE(current("batch"), "0");
  while (other_.sql("SELECT array_agg(number) FROM foliot.batch") != "{1}") {
    other_.sql("SELECT foliot.rotate(), pg_sleep(0.05)");
  }
}

// An application that has put a job keeps its partition from being truncated, and nothing waits for that.
TEST_F(PostgresqlRotation, APartInUseIsLeftForLater) {
  put_one();
  claim_all();
  finish_all();
  postgresql_connection shop(database_);
  shop.sql("BEGIN");
  shop.sql("SELECT foliot.put('a', 'of the shop')");
  rotate("ready");
  const std::string present = current("ready");
  EXPECT_NE(present, "0");
  while (other_.sql("SELECT foliot.rotate() FROM pg_sleep(0.05)") !=
         "0") {  // the partition must have been empty for a while
  }
  EXPECT_EQ(grown("ready"), "0");
  shop.sql("COMMIT");
  EXPECT_EQ(claim_all().size(), 1U);
  finish_all();
  rotate("ready");
  EXPECT_EQ(grown("ready"), "");
  expect_right();
}

// Where one table cannot be truncated, the others are, each by another turn, and what rests is moved.
TEST_F(PostgresqlRotation, ATurnPassesOverWhatIsLocked) {
  execute_one(*node_, put{.tube = "b", .body = "rests"});
  execute_one(*node_, claim{.tubes = {"b"}});
  for (int i = 0; i < 2; ++i) {
    put_one();
    claim_all();
    finish_all();
    for (const char* table : {"ready", "reserved", "job"}) rotate(table);
  }
  for (const char* table : {"ready", "reserved", "job"}) age_partitions(other_, table, 11s);
  postgresql_connection looking(database_);
  looking.sql("BEGIN");
  looking.sql("LOCK TABLE foliot.ready IN ACCESS SHARE MODE");
  const std::string ready = grown("ready");
  while (grown("reserved") != "1 9" || grown("job") != "1 9") {
    other_.sql("SELECT foliot.rotate(), pg_sleep(0.05)");
  }
  EXPECT_EQ(grown("ready"), ready);
  looking.sql("COMMIT");
  expect_right();
}

// The look at the whole database has one snapshot, to which a partition that is truncated later would seem empty.
TEST_F(PostgresqlRotation, NoPartIsTruncatedUnderACheck) {
  put_one();
  postgresql_connection checking(database_);
  checking.sql("BEGIN");
  checking.sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY");
  checking.sql("LOCK TABLE foliot.job, foliot.ready, foliot.delayed, foliot.reserved IN ACCESS SHARE MODE");
  checking.sql("SELECT 1");  // its snapshot has the job
  rotate("ready");
  claim_all();
  finish_all();
  other_.sql("SET lock_timeout = '50ms'");
  EXPECT_EQ(other_.sql("SELECT foliot.rotate_table('ready', 0, '0 s')"), "0");
  EXPECT_EQ(grown("ready"), "0");
  EXPECT_EQ(checking.sql("SELECT foliot.check_jobs()"), "NULL");
  checking.sql("COMMIT");
}

// A node does it by itself: whatever the size, partitions that are empty are truncated.
TEST_F(PostgresqlRotation, ANodeTakesItsTurns) {
  put_one();
  rotate("ready");
  claim_all();
  finish_all();
  while (grown("ready") != "") {
    put_one();
    claim_all();
    finish_all();
    other_.sql("SELECT pg_sleep(0.05)");
    if (grown("ready") == current("ready")) break;  // what the rounds here have left
  }
  expect_right();
}

}  // namespace
}  // namespace foliot::jobs
