// Jobs that become due in a PostgreSQL store: more together than one batch makes ready, and where the search for them
// begins.
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <foliot/jobs/calls.hpp>
#include <foliot/jobs/postgresql_store.hpp>

#include "connection.hpp"
#include "database.hpp"

namespace foliot::jobs {
namespace {

using namespace std::chrono_literals;
using foliot_test::postgresql_connection;

class PostgresqlDue : public foliot_test::postgresql_database {
 protected:
  std::size_t count(const std::string& rows) { return std::stoul(sql("SELECT count(*) FROM " + rows)); }
  /// Jobs that are due at once by the time of the database, though they were delayed: those of `burst` first.
  void put_due(postgresql_store& store, std::size_t burst, std::size_t others) {
    std::vector<operation> puts(burst, put{.tube = "burst", .body = "", .due = 1h});
    for (std::size_t i = 0; i < others; ++i) {
      puts.emplace_back(put{.tube = "other " + std::to_string(i), .body = "", .due = 1h});
    }
    store.execute(puts);
    sql("UPDATE foliot.delayed SET due = CASE WHEN tube = foliot.tube_id('burst') THEN 1 ELSE 2 END");
    sql("SELECT setval('foliot.due_floor', 0)");
  }
  std::int64_t floor() { return std::stoll(sql("SELECT last_value FROM foliot.due_floor")); }
  std::int64_t now_ms() { return std::stoll(sql("SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)")); }
};

TEST_F(PostgresqlDue, ABurstInOneTubeDoesNotDelayTheOthers) {
  constexpr std::size_t burst = 12'000;
  constexpr std::size_t others = 200;  // a batch serves 64
  postgresql_store store(options("one"));
  put_due(store, burst, others);
  for (int batches = 0; batches < 4; ++batches) store.execute({});
  EXPECT_EQ(count("foliot.delayed WHERE tube <> foliot.tube_id('burst')"), 0U);
  EXPECT_GT(count("foliot.delayed"), burst / 3);
  // All become ready, each once.
  while (store.next().due <= utc_time(1h)) store.execute({});
  EXPECT_EQ(count("foliot.ready"), burst + others);
  const check_result right = store.check();
  EXPECT_TRUE(right) << right.error();
}

TEST_F(PostgresqlDue, ATubeBesideABurstIsReadyAfterOneBatch) {
  postgresql_store store(options("one"));
  put_due(store, 5000, 1);
  const execution first = store.execute({});
  EXPECT_EQ(first.ready_tubes.size(), 2U);
  EXPECT_EQ(execute_one(store, claim{.tubes = {"other 0"}}).jobs.size(), 1U);
  EXPECT_GT(count("foliot.delayed"), 0U);
}

// Rows that have gone stay where the first one is looked for, as long as the other transaction is open.
TEST_F(PostgresqlDue, ASearchBeginsAtTheFloor) {
  postgresql_connection other(database_);
  other.sql("BEGIN ISOLATION LEVEL REPEATABLE READ");
  other.sql("SELECT 1");
  postgresql_store store(options("one"));
  const job_id later = execute_one(store, put{.tube = "a", .body = "x", .due = 1h}).id;
  sql("INSERT INTO foliot.delayed SELECT i, 1, 0, i, 0, 0, 0, 0, 0, 0, 9 FROM generate_series(1000001, 1020000) i");
  sql("DELETE FROM foliot.delayed WHERE id > 1000000");
  const auto pages = [&] {
    const std::string plan =
        sql("SELECT substring(string_agg(line, ' ') FROM 'Buffers: shared hit=([0-9]+)') FROM public.plan_of('SELECT "
            "foliot.first_due(2000000000000)') line");
    return std::stoi(plan);
  };
  sql("CREATE FUNCTION public.plan_of(statement text) RETURNS SETOF text LANGUAGE plpgsql AS $$ BEGIN "
      "RETURN QUERY EXECUTE 'EXPLAIN (ANALYZE, BUFFERS) ' || statement; END $$");
  sql("SELECT setval('foliot.due_floor', 0)");
  pages();  // of the catalog, too
  const int all = pages();
  EXPECT_GT(all, 200);
  rotate();
  EXPECT_LT(pages(), all / 4);
  EXPECT_LE(floor(), now_ms());
  sql("SELECT setval('foliot.due_floor', 2000000000500)");  // as by a turn after the batch has begun
  EXPECT_LT(pages(), all / 4);
  EXPECT_EQ(execute_one(store, fire_now{later}).what, change_answer::kind::done);
}

// As one of an application that was open for longer than its job was delayed.
TEST_F(PostgresqlDue, ARowThatComesBelowTheFloorIsFound) {
  postgresql_store store(options("one"));
  const job_id late = execute_one(store, put{.tube = "a", .body = "x", .due = 1h}).id;
  sql("UPDATE foliot.delayed SET due = 1000");
  sql("SELECT setval('foliot.due_floor', 2000), setval('foliot.due_floor_checked', " + std::to_string(now_ms()) +
      " + 5000)");
  rotate();
  store.execute({});
  EXPECT_TRUE(execute_one(store, claim{{"a"}}).jobs.empty());
  sql("SELECT setval('foliot.due_floor_checked', 1)");
  rotate();
  EXPECT_EQ(floor(), 1000);
  EXPECT_EQ(execute_one(store, claim{{"a"}}).jobs.at(0).job.id, late);
  rotate();
  EXPECT_GT(floor(), 1000) << "it has gone";
}

TEST_F(PostgresqlDue, AFloorThatLiesAheadDoesNotCount) {
  postgresql_store store(options("one"));
  execute_one(store, put{.tube = "a", .body = "x", .due = 1h});
  sql("UPDATE foliot.delayed SET due = 1000");
  sql("SELECT setval('foliot.due_floor', " + std::to_string(now_ms() + 3'600'000) + ")");
  EXPECT_EQ(execute_one(store, claim{{"a"}}).jobs.size(), 1U);
  rotate();
  EXPECT_LE(floor(), now_ms());
}

}  // namespace
}  // namespace foliot::jobs
