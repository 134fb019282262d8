// Operations that happen once, over two databases: where their records are, and what happens while tubes move.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <foliot/jobs/calls.hpp>
#include <foliot/jobs/database_map.hpp>
#include <foliot/jobs/postgresql_store.hpp>

#include "connection.hpp"
#include "once_keys.hpp"
#include "two_databases.hpp"

namespace foliot::jobs {
namespace {

using namespace std::chrono_literals;
using foliot_test::once_of;
using foliot_test::postgresql_connection;

/// The tube "there" is in the second database, and "moves" moves there.
class PostgresqlOnceOverTwo : public foliot_test::two_databases {
 protected:
  void SetUp() override {
    database_map(first_).add(second_);
    database_map(first_).move("there", 1);
    static_cast<void>(execute_one(*node_, count_all{}));  // shows that the map has changed
  }
  static put to(const std::string& tube, std::uint32_t key, const std::string& job_key = "") {
    return {.tube = tube, .key = job_key, .body = "x", .once = once_of(key)};
  }
  static put_all both(const std::string& one, const std::string& other, std::uint32_t key) {
    return {{put{.tube = one, .body = "1"}, put{.tube = other, .body = "2"}}, once_of(key)};
  }
  static claim from(std::vector<std::string> tubes, std::uint32_t key, std::uint32_t count = 2) {
    return {.tubes = std::move(tubes), .count = count, .once = once_of(key)};
  }
  static std::vector<job_id> ids_of(const claim_answer& got) {
    std::vector<job_id> all;
    for (const claimed_job& each : got.jobs) all.push_back(each.job.id);
    std::ranges::sort(all);
    return all;
  }
  std::uint64_t all_jobs() { return execute_one(*node_, count_all{}).counts.all(); }
  void expect_right() {
    const check_result right = node_->check();
    EXPECT_TRUE(right) << right.error();
  }

  const std::unique_ptr<postgresql_store> node_ = open("a", 20s);
  const std::unique_ptr<postgresql_store> other_ = open("b", 20s);
};

TEST_F(PostgresqlOnceOverTwo, APutIsAnsweredByTheDatabaseOfItsTube) {
  const put_answer first = execute_one(*node_, to("there", 1));
  EXPECT_EQ(first.id % 64, 1U);
  EXPECT_EQ(execute_one(*other_, to("there", 1)).id, first.id);
  EXPECT_EQ(all_jobs(), 1U);
}

/// Each step of a move fails, and a client sends its put again then; so does one whose node has an old map.
TEST_F(PostgresqlOnceOverTwo, APutHappensOnceWhereverAMoveOfItsTubeIsBrokenOff) {
  const std::vector<std::pair<std::string, std::string>> steps{
      {first_, "leave"},       {second_, "join"},        {first_, "send_piece"},
      {second_, "take_piece"}, {first_, "forget_piece"}, {first_, "once_of_tube"},
      {second_, "take_once"},  {first_, "has_left"},     {first_, "end_move"}};
  std::uint32_t key = 0;
  for (const auto& [database, function] : steps) {
    SCOPED_TRACE(function);
    const std::string tube = "moves for " + function;
    const put before = to(tube, ++key);
    const put with_key = to(tube, ++key, "k");
    const put_all all = both(tube, tube, ++key);
    const put_answer first = execute_one(*node_, before);
    const put_answer first_with_key = execute_one(*node_, with_key);
    const put_all_answer first_of_all = execute_one(*node_, all);
    ask(database, "ALTER FUNCTION foliot.\"" + function + "\" RENAME TO lost");
    EXPECT_THROW(database_map(first_).move(tube, 1), store_failure);
    ask(database, "ALTER FUNCTION foliot.lost RENAME TO \"" + function + "\"");
    const put meanwhile = to(tube, ++key);
    const auto expect_replays = [&](postgresql_store& by) {
      const put_answer again = execute_one(by, before);
      EXPECT_TRUE(again.is_replayed);
      EXPECT_EQ(again.id, first.id);
      EXPECT_EQ(execute_one(by, with_key).id, first_with_key.id);
      const put_all_answer all_again = execute_one(by, all);
      EXPECT_TRUE(all_again.is_replayed);
      EXPECT_EQ(all_again.puts, first_of_all.puts);
    };
    expect_replays(*node_);
    const put_answer second = execute_one(*node_, meanwhile);
    EXPECT_EQ(second.what, put_answer::kind::inserted);
    expect_replays(*other_);
    database_map(first_).move(tube, 1);
    for (postgresql_store* const each : {other_.get(), node_.get()}) {
      expect_replays(*each);
      const put_answer again = execute_one(*each, meanwhile);
      EXPECT_TRUE(again.is_replayed);
      EXPECT_EQ(again.id, second.id);
    }
    EXPECT_EQ(execute_one(*node_, count_tube{tube}).counts.ready, 5U);
  }
  expect_right();
}

TEST_F(PostgresqlOnceOverTwo, ARecordMovesThereAndBack) {
  const put_answer first = execute_one(*node_, to("moves", 1));
  for (const int database : {1, 0, 1}) {
    database_map(first_).move("moves", database);
    static_cast<void>(execute_one(*node_, count_all{}));
    const put_answer again = execute_one(*node_, to("moves", 1));
    EXPECT_TRUE(again.is_replayed);
    EXPECT_EQ(again.id, first.id);
  }
}

/// Of two records with one key, the one that ends later is that of the operation that has happened last.
TEST_F(PostgresqlOnceOverTwo, ANewerRecordIsNotReplacedByTheMove) {
  const put_answer first = execute_one(*node_, to("moves", 1));
  ask(second_, "INSERT INTO foliot.once SELECT '\\x" + std::string("01") + std::string(62, '0') +
                   "', '\\x01', 0, 9000000000000, '{moves}', '{0,77}'");
  database_map(first_).move("moves", 1);
  static_cast<void>(execute_one(*node_, count_all{}));
  EXPECT_EQ(ask(second_, "SELECT answer FROM foliot.once"), "{0,77}");
  EXPECT_NE(first.id, 77U);
}

/// More records than a page has, of two tubes.
TEST_F(PostgresqlOnceOverTwo, AllRecordsOfATubeMoveAndNoOthers) {
  ask(first_,
      "INSERT INTO foliot.once SELECT int4send(i), 'r', 0, 9000000000000 + i, CASE WHEN i % 3 = 0 THEN '{moves}' WHEN "
      "i % 3 = 1 "
      "THEN '{stays}' ELSE '{stays,moves}' END::bytea[], ARRAY[0, i] FROM generate_series(1, 5000) i");
  database_map(first_).move("moves", 1);
  const std::string digest =
      "SELECT count(*) || md5(string_agg(o::text, '' ORDER BY key)) FROM foliot.once o WHERE 'moves' = ANY (tubes)";
  EXPECT_EQ(ask(second_, digest), ask(first_, digest));
  EXPECT_EQ(ask(second_, "SELECT count(*) FROM foliot.once"), "3333");
  EXPECT_EQ(ask(first_, "SELECT count(*) FROM foliot.once"), "5000");
}

/// Its jobs were put when both tubes were in one database.
TEST_F(PostgresqlOnceOverTwo, APutAllIsAnsweredOnceMoreAfterItsTubesWereParted) {
  const put_all_answer first = execute_one(*node_, both("moves", "stays", 1));
  ASSERT_EQ(first.what, put_all_answer::kind::done);
  database_map(first_).move("moves", 1);
  static_cast<void>(execute_one(*node_, count_all{}));
  for (postgresql_store* const each : {node_.get(), other_.get()}) {
    const put_all_answer again = execute_one(*each, both("moves", "stays", 1));
    EXPECT_TRUE(again.is_replayed);
    EXPECT_EQ(again.puts, first.puts);
  }
  EXPECT_EQ(execute_one(*node_, both("moves", "stays", 2)).what, put_all_answer::kind::several_databases);
  put_all other = both("moves", "stays", 1);
  other.once = once_of(1, 2);
  EXPECT_EQ(execute_one(*node_, other).what, put_all_answer::kind::other_request);
  EXPECT_EQ(all_jobs(), 2U);
  database_map(first_).move("stays", 1);
  static_cast<void>(execute_one(*node_, count_all{}));
  EXPECT_TRUE(execute_one(*node_, both("moves", "stays", 1)).is_replayed);
  EXPECT_FALSE(execute_one(*node_, both("moves", "stays", 2)).is_replayed);
  EXPECT_EQ(all_jobs(), 4U);
}

TEST_F(PostgresqlOnceOverTwo, AClaimGetsWhatBothDatabasesHaveReservedForIt) {
  for (const char* const tube : {"here", "there", "here", "there"}) {
    execute_one(*node_, put{.tube = tube, .body = "x", .ttr = 1h});
  }
  const claim_answer first = execute_one(*node_, from({"here", "there"}, 1, 3));
  ASSERT_EQ(first.jobs.size(), 3U);
  EXPECT_FALSE(first.is_replayed);
  for (postgresql_store* const each : {node_.get(), other_.get(), node_.get()}) {
    const claim_answer again = execute_one(*each, from({"there", "here"}, 1, 3));
    EXPECT_TRUE(again.is_replayed);
    EXPECT_EQ(ids_of(again), ids_of(first));
  }
  claim other = from({"here", "there"}, 1);
  other.once = once_of(1, 2);
  EXPECT_EQ(execute_one(*node_, other).what, claim_answer::kind::other_request);
  EXPECT_EQ(execute_one(*node_, from({"here", "there"}, 2)).jobs.size(), 1U);
  for (const claimed_job& each : first.jobs)
    EXPECT_EQ(execute_one(*other_, finish{each.token}).what, holder_answer::kind::done);
  const claim_answer none = execute_one(*node_, from({"here", "there"}, 1, 3));
  EXPECT_TRUE(none.is_replayed);
  EXPECT_TRUE(none.jobs.empty());
  expect_right();
}

TEST_F(PostgresqlOnceOverTwo, AClaimDoesNotClaimAnewWhereItHasGotNothing) {
  execute_one(*node_, put{.tube = "there", .body = "x", .ttr = 1h});
  const claim_answer first = execute_one(*node_, from({"here", "there"}, 1, 1));
  ASSERT_EQ(first.jobs.size(), 1U);
  EXPECT_EQ(first.jobs[0].job.tube, "there");
  execute_one(*node_, put{.tube = "here", .body = "x"});
  const claim_answer again = execute_one(*node_, from({"here", "there"}, 1, 1));
  EXPECT_TRUE(again.is_replayed);
  EXPECT_EQ(ids_of(again), ids_of(first));
  EXPECT_EQ(execute_one(*node_, count_tube{"here"}).counts.ready, 1U);
}

/// A database that does not answer may have the record.
TEST_F(PostgresqlOnceOverTwo, AClaimIsNotExecutedWhileADatabaseDoesNotSayWhatItHas) {
  const auto impatient = open("c", 50ms);
  static_cast<void>(execute_one(*impatient, count_all{}));
  execute_one(*node_, put{.tube = "here", .body = "x"});
  shut(second_);
  EXPECT_THROW(execute_one(*impatient, from({"here", "there"}, 1)), store_unavailable);
  EXPECT_EQ(ask(first_, "SELECT count(*) FROM foliot.ready"), "1");
  EXPECT_EQ(execute_one(*impatient, from({"here"}, 2)).jobs.size(), 1U);
  open_again(second_);
}

/// Jobs that workers have keep their tube from moving, so none of them is left to be given again.
TEST_F(PostgresqlOnceOverTwo, AClaimIsRememberedWhereItsTubeHasMoved) {
  execute_one(*node_, put{.tube = "moves", .body = "x", .ttr = 1h});
  const claim_answer first = execute_one(*node_, from({"moves"}, 1));
  ASSERT_EQ(first.jobs.size(), 1U);
  bool has_waited = false;
  database_map(first_).move("moves", 1, [&](const database_map::progress& so_far) {
    if (so_far.waits && !std::exchange(has_waited, true)) {
      const claim_answer again = execute_one(*other_, from({"moves"}, 1));
      EXPECT_TRUE(again.is_replayed);
      EXPECT_EQ(ids_of(again), ids_of(first));
      EXPECT_EQ(execute_one(*node_, release{first.jobs[0].token}).what, holder_answer::kind::done);
    }
    return true;
  });
  EXPECT_TRUE(has_waited);
  const claim_answer none = execute_one(*node_, from({"moves"}, 1));
  EXPECT_TRUE(none.is_replayed);
  EXPECT_TRUE(none.jobs.empty());
  EXPECT_EQ(execute_one(*node_, from({"moves"}, 2)).jobs.size(), 1U);
}

/// A program of version 4 of the schema does not know what to take along.
TEST_F(PostgresqlOnceOverTwo, AnOlderProgramMovesNoTubeThatWouldLeaveRecordsBehind) {
  const put what{.tube = "moves", .body = "x", .once = once_of(1, 1, 1h)};
  execute_one(*node_, what);
  EXPECT_NE(
      postgresql_connection(first_).error_of("SELECT foliot.leave('moves')").find("move the tube with a newer program"),
      std::string::npos);
  EXPECT_EQ(ask(first_, "SELECT count(*) FROM foliot.away WHERE tube = 'moves'"), "0");
  ask(first_, "UPDATE foliot.once SET ends = 1");
  EXPECT_EQ(postgresql_connection(first_).error_of("SELECT foliot.leave('moves')"), "");
}

}  // namespace
}  // namespace foliot::jobs
