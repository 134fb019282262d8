// Counts and lists that would take long: they are cut short, and the rest of their batch happens. No test relies on the
// time that a count takes: the database is told that it has none, or much.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <variant>
#include <vector>

#include <foliot/jobs/calls.hpp>
#include <foliot/jobs/postgresql_store.hpp>

#include "connection.hpp"
#include "database.hpp"

namespace foliot::jobs {
namespace {

using namespace std::chrono_literals;

class PostgresqlCounts : public foliot_test::postgresql_database {
 protected:
  void put_many(const std::string& tube, int count, milliseconds due = 0ms, priority urgency = 0) {
    std::vector<operation> batch;
    for (int i = 0; i < count; ++i) {
      batch.emplace_back(put{.tube = tube, .body = "x", .priority = urgency, .due = due, .ttr = 1h});
    }
    store_.execute(batch);
  }
  std::vector<claimed_job> claim_many(std::uint32_t count) { return execute_one(store_, claim{{"a"}, count}).jobs; }
  void bury_many(std::uint32_t count) {
    std::vector<operation> batch;
    for (const claimed_job& each : claim_many(count)) batch.emplace_back(bury{each.token});
    store_.execute(batch);
  }
  /// By both operations: of its tube and of all.
  void expect_cut(bool is_cut, const job_counts& real) {
    const count_answer of_tube = execute_one(store_, count_tube{"a"});
    const count_answer of_all = execute_one(store_, count_all{});
    for (const count_answer& each : {of_tube, of_all}) {
      EXPECT_EQ(each.what, is_cut ? count_answer::kind::cut_short : count_answer::kind::done);
      EXPECT_EQ(each.counts == real, !is_cut);
      EXPECT_LE(each.counts.urgent, real.urgent);
      EXPECT_LE(each.counts.ready, real.ready);
      EXPECT_LE(each.counts.reserved, real.reserved);
      EXPECT_LE(each.counts.delayed, real.delayed);
      EXPECT_LE(each.counts.buried, real.buried);
      EXPECT_GE(each.counts.all(), 1000U) << "it has begun";
    }
  }

  /// So many rows of a table are counted in any case: fewer than nodes count, so that the tests need fewer jobs.
  const std::string step_ = sql(
      "CREATE OR REPLACE FUNCTION foliot.step_of_counts() RETURNS bigint LANGUAGE sql STABLE AS 'SELECT 1000::bigint'");
  postgresql_store store_{options("a")};
};

TEST_F(PostgresqlCounts, ACountThatIsCutShortLeavesTheRestOfItsBatchAlone) {
  put_many("a", 2500);
  let_counts_take("0");
  std::vector<operation> batch{put{.tube = "b", .body = "x"},
                               count_all{},
                               count_tube{"a"},
                               count_tube{"b"},
                               count_tube{"none"},
                               list_tubes{},
                               claim{{"a"}}};
  const std::vector<answer> got = store_.execute(batch).answers;
  EXPECT_EQ(std::get<put_answer>(got[0]).what, put_answer::kind::inserted);
  EXPECT_EQ(std::get<count_answer>(got[1]).what, count_answer::kind::cut_short);
  EXPECT_EQ(std::get<count_answer>(got[2]).what, count_answer::kind::cut_short);
  for (const std::size_t each : {3U, 4U}) EXPECT_EQ(std::get<count_answer>(got[each]).what, count_answer::kind::done);
  EXPECT_EQ(std::get<count_answer>(got[3]).counts.ready, 1U) << "what is not much is counted in any case";
  EXPECT_EQ(std::get<tubes_answer>(got[5]).tubes, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(std::get<claim_answer>(got[6]).jobs.size(), 1U);
}

TEST_F(PostgresqlCounts, EachStateIsCountedForALimitedTime) {
  const std::vector<std::pair<const char*, job_counts>> cases{{"ready and urgent", {.urgent = 1500, .ready = 1500}},
                                                              {"ready", {.ready = 1500}},
                                                              {"delayed", {.delayed = 1500}},
                                                              {"reserved", {.reserved = 1500}},
                                                              {"buried", {.buried = 1500}}};
  for (const auto& [name, real] : cases) {
    SCOPED_TRACE(name);
    let_counts_take("1 hour");
    put_many("a", 1500, real.delayed > 0 ? 1h : 0ms, real.urgent > 0 ? 0 : 1024);
    if (real.reserved > 0) {
      EXPECT_EQ(claim_many(1500).size(), 1500U);
    }
    if (real.buried > 0) bury_many(1500);
    expect_cut(false, real);
    let_counts_take("0");
    expect_cut(true, real);
    sql("TRUNCATE foliot.job, foliot.ready, foliot.delayed, foliot.reserved, foliot.buried");
  }
}

TEST_F(PostgresqlCounts, TheCountsOfABatchShareTheirTime) {
  put_many("a", 1500);
  let_counts_take("1 hour");
  sql("BEGIN");
  EXPECT_EQ(sql("SELECT (foliot.count_jobs(NULL))[7]"), "0");
  EXPECT_EQ(sql("SELECT current_setting('foliot.has_counted')::interval > '0'"), "t");
  sql("SELECT set_config('foliot.has_counted', '2 hours', true)");
  EXPECT_EQ(sql("SELECT (foliot.count_jobs(NULL))[7]"), "1");
  EXPECT_EQ(sql("SELECT (foliot.count_jobs('a'))[7]"), "1");
  sql("COMMIT");
  EXPECT_EQ(sql("SELECT (foliot.count_jobs(NULL))[7]"), "0");
}

TEST_F(PostgresqlCounts, AListOfVeryManyTubesIsRefused) {
  std::vector<std::string> names;
  std::vector<operation> puts;
  for (int i = 1000; i < 1300; ++i) {
    names.push_back("tube" + std::to_string(i));
    puts.emplace_back(put{.tube = names.back(), .body = "x"});
  }
  store_.execute(puts);
  let_counts_take("0");
  std::vector<operation> batch{list_tubes{}, put{.tube = "a", .body = "x"}};
  const std::vector<answer> got = store_.execute(batch).answers;
  ASSERT_TRUE(std::holds_alternative<unavailable_answer>(got[0]));
  EXPECT_FALSE(std::get<unavailable_answer>(got[0]).is_in_doubt);
  EXPECT_EQ(std::get<put_answer>(got[1]).what, put_answer::kind::inserted);
  let_counts_take("1 hour");
  names.insert(names.begin(), "a");
  EXPECT_EQ(execute_one(store_, list_tubes{}).tubes, names);
}

/// They are walked over unseen.
TEST_F(PostgresqlCounts, JobsThatHaveGoneTakeTimeToo) {
  foliot_test::postgresql_connection pin(database_);
  put_many("a", 1);
  pin.sql("BEGIN ISOLATION LEVEL REPEATABLE READ");
  pin.sql("SELECT 1");  // from now on PostgreSQL keeps all rows that go
  for (const std::string table : {"buried", "delayed", "reserved", "ready"}) {
    SCOPED_TRACE(table);
    const std::string part = "foliot." + table + (table == "buried" ? "" : "_9");
    const std::string columns = "(id, tube, pri, due, delay, reserves, timeouts, releases, buries, kicks";
    const std::string others = table == "buried"     ? ", seq"
                               : table == "reserved" ? ", part, session, opening, expires"
                                                     : ", part";
    const std::string values = table == "buried" ? ", i" : table == "reserved" ? ", 9, 1, 1, 1" : ", 9";
    sql("INSERT INTO " + part + columns + others + ") SELECT i, 1, 0, 0, 0, 1, 0, 0, 0, 0" + values +
        " FROM generate_series(1000001, 1003000) i");
    sql("DELETE FROM " + part + " WHERE id > 1000000");
    // The statistics come late.
    while (sql("SELECT pg_stat_get_dead_tuples('" + part + "'::regclass) >= 2000") != "t") {
      sql("SELECT pg_stat_force_next_flush()");
    }
    let_counts_take("0");
    EXPECT_EQ(execute_one(store_, count_tube{"a"}).what, count_answer::kind::cut_short);
    EXPECT_EQ(execute_one(store_, count_all{}).what, count_answer::kind::cut_short);
    std::vector<operation> list{list_tubes{}};
    EXPECT_TRUE(std::holds_alternative<unavailable_answer>(store_.execute(list).answers.at(0)));
    let_counts_take("1 hour");
    EXPECT_EQ(execute_one(store_, count_tube{"a"}).counts, (job_counts{.urgent = 1, .ready = 1}));
    EXPECT_EQ(execute_one(store_, count_all{}).counts, (job_counts{.urgent = 1, .ready = 1}));
    EXPECT_EQ(execute_one(store_, list_tubes{}).tubes, std::vector<std::string>{"a"});
    sql("TRUNCATE " + part);
  }
}

/// While a count goes on from one table to the next, jobs move from one to the other.
TEST_F(PostgresqlCounts, ACountSeesOneMoment) {
  put_many("a", 1);
  sql("ALTER FUNCTION foliot.count_rows RENAME TO count_rows_alone");
  sql("CREATE FUNCTION foliot.count_rows(brought refcursor, until timestamptz, OUT rows bigint, OUT is_cut boolean) "
      "LANGUAGE plpgsql AS $$ BEGIN "
      "SELECT * INTO rows, is_cut FROM foliot.count_rows_alone(brought, until); "
      "WITH gone AS (DELETE FROM foliot.ready RETURNING *) INSERT INTO foliot.buried SELECT id, tube, pri, due, delay, "
      "reserves, timeouts, releases, buries, kicks, nextval('foliot.burial') FROM gone; END $$");
  for (const char* of : {"NULL", "'a'"}) {
    sql("BEGIN");
    EXPECT_EQ(sql(std::string("SELECT (foliot.count_jobs(") + of + "))[2]"), "1");
    EXPECT_EQ(sql("SELECT count(*) FROM foliot.buried"), "1") << "the job has moved";
    sql("ROLLBACK");
  }
}

}  // namespace
}  // namespace foliot::jobs
