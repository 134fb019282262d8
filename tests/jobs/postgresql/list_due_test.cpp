// What is due next in a PostgreSQL store: over many tubes, over several searches, in a schema that lacks the function,
// and for applications.
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
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
using foliot_test::postgresql_connection;

class PostgresqlListDue : public foliot_test::postgresql_database {
 protected:
  /// Jobs in many tubes with a common prefix, and in others; many of them are due at one time.
  static void put_many(postgresql_store& into) {
    std::vector<operation> puts;
    for (int i = 0; i < 900; ++i) {
      const std::string tube = (i % 3 == 0 ? "other." : "user.") + std::to_string(i % 450);
      puts.emplace_back(put{.tube = tube, .body = "", .due = utc_time(2'000'000'000'000ms + milliseconds(i * 7 % 50))});
    }
    into.execute(puts);
  }
  /// The ids of a page by a plain sort of all delayed jobs, joined by commas.
  std::string expected(const std::string& prefix, const std::string& behind, std::size_t count) {
    return sql(
        "SELECT coalesce(string_agg(p.id::text, ',' ORDER BY p.due, p.id), '') FROM (SELECT d.due, d.id FROM "
        "foliot.delayed d JOIN "
        "foliot.tube t ON t.id = d.tube WHERE encode(t.name, 'escape') LIKE '" +
        prefix + "%' AND (d.due, d.id) > " + behind + " ORDER BY d.due, d.id LIMIT " + std::to_string(count) + ") p");
  }
  static std::string ids_of(const due_answer& page) {
    std::string all;
    for (const due_job& each : page.jobs) all += (all.empty() ? "" : ",") + std::to_string(each.id);
    return all;
  }
  /// The pages of one walk over all jobs with this prefix.
  void expect_pages(postgresql_store& store, const std::string& prefix, std::uint32_t count) {
    list_due next{.prefix = prefix, .count = count};
    for (;;) {
      const std::string behind = "(" + std::to_string(next.from.time_since_epoch().count()) + "::bigint, " +
                                 std::to_string(next.after) + "::bigint)";
      const due_answer page = execute_one(store, next);
      ASSERT_EQ(ids_of(page), expected(prefix, behind, count)) << prefix << " behind " << behind;
      if (page.jobs.size() < count) return;
      next.from = page.jobs.back().due;
      next.after = page.jobs.back().id;
    }
  }
  /// How many rows the search walks over before it goes to the tubes.
  void walk(int rows) {
    sql("CREATE OR REPLACE FUNCTION foliot.step_of_counts() RETURNS bigint LANGUAGE sql STABLE AS 'SELECT " +
        std::to_string(2 * rows) + "::bigint'");
  }
};

TEST_F(PostgresqlListDue, PagesOverManyTubesAreWhatASortOfAllJobsGives) {
  postgresql_store store(options("a"));
  put_many(store);
  let_counts_take("1 h");
  for (const int rows : {5000, 200, 1}) {  // enough for all pages, for some, and for few
    walk(rows);
    for (const std::string prefix : {"", "user.", "other.", "user.4", "user.404", "nobody"}) {
      ASSERT_NO_FATAL_FAILURE(expect_pages(store, prefix, 120));
    }
  }
}

TEST_F(PostgresqlListDue, WithTooManyTubesItSaysSo) {
  postgresql_store store(options("a"));
  put_many(store);
  walk(1);
  let_counts_take("0 ms");
  try {
    execute_one(store, list_due{.prefix = "user."});
    ADD_FAILURE() << "it is executed";
  } catch (const store_unavailable& why) {
    EXPECT_FALSE(why.is_in_doubt());
    EXPECT_NE(std::string(why.what()).find("too many tubes"), std::string::npos) << why.what();
  }
  EXPECT_EQ(execute_one(store, list_due{}).jobs.size(), 100U) << "all tubes share an index";
  EXPECT_EQ(execute_one(store, list_due{.prefix = "user.404"}).jobs.size(), 2U);
}

TEST_F(PostgresqlListDue, FewTubesAreRefusedWhenTheTimeIsOverToo) {
  postgresql_store store(options("a"));
  std::vector<operation> puts;
  for (int i = 0; i < 30; ++i) puts.emplace_back(put{.tube = "user." + std::to_string(i), .body = "", .due = 1h});
  store.execute(puts);
  let_counts_take("0 ms");
  std::vector<operation> batch{list_due{.prefix = "user."}};
  EXPECT_TRUE(std::holds_alternative<unavailable_answer>(store.execute(batch).answers.at(0)));
  EXPECT_EQ(execute_one(store, list_due{.prefix = "user.7"}).jobs.size(), 1U) << "what is not much is always searched";
  EXPECT_NE(other_.error_of("SELECT * FROM foliot.due('user.')").find("in time"), std::string::npos);
  let_counts_take("1 h");
  EXPECT_EQ(execute_one(store, list_due{.prefix = "user."}).jobs.size(), 30U);
}

TEST_F(PostgresqlListDue, TheSearchesOfABatchShareTheirTime) {
  postgresql_store store(options("a"));
  execute_one(store, put{.tube = "a", .body = "", .due = 1h});
  let_counts_take("0 ms");
  std::vector<operation> batch{list_due{}, list_due{}, list_due{.prefix = "a"}, put{.tube = "b", .body = ""}};
  const std::vector<answer> got = store.execute(batch).answers;
  ASSERT_TRUE(std::holds_alternative<due_answer>(got.at(0)));
  EXPECT_EQ(std::get<due_answer>(got.at(0)).jobs.size(), 1U) << "the first one is not refused for the others";
  for (const std::size_t each : {1U, 2U}) EXPECT_TRUE(std::holds_alternative<unavailable_answer>(got.at(each))) << each;
  EXPECT_EQ(std::get<put_answer>(got.at(3)).what, put_answer::kind::inserted);
  let_counts_take("1 h");
  std::vector<operation> two{list_due{}, list_due{}};
  const std::vector<answer> both = store.execute(two).answers;
  for (const answer& each : both) {
    ASSERT_TRUE(std::holds_alternative<due_answer>(each));
    EXPECT_EQ(std::get<due_answer>(each).jobs.size(), 1U);
  }
}

/// A search passes over them without a look at the clock.
TEST_F(PostgresqlListDue, TooManyDeadRowsAreNotSearched) {
  postgresql_store store(options("a"));
  execute_one(store, put{.tube = "a", .body = "", .due = 1h});
  walk(10);
  postgresql_connection pin(database_);
  pin.sql("BEGIN ISOLATION LEVEL REPEATABLE READ");
  pin.sql("SELECT 1");  // from now on PostgreSQL keeps all rows that go
  sql("INSERT INTO foliot.delayed_9 (id, tube, pri, due, delay, reserves, timeouts, releases, buries, kicks, part) "
      "SELECT i, 1, 0, 4000000000000, 0, 0, 0, 0, 0, 0, 9 FROM generate_series(1000001, 1000100) i");
  sql("DELETE FROM foliot.delayed_9 WHERE id > 1000000");
  // The statistics come late.
  while (sql("SELECT pg_stat_get_dead_tuples('foliot.delayed_9'::regclass) >= 100") != "t") {
    sql("SELECT pg_stat_force_next_flush()");
  }
  let_counts_take("0 ms");
  std::vector<operation> batch{list_due{}};
  const execution done = store.execute(batch);
  const auto* const refused = std::get_if<unavailable_answer>(&done.answers.at(0));
  ASSERT_NE(refused, nullptr);
  EXPECT_NE(refused->why.find("dead rows"), std::string::npos) << refused->why;
  EXPECT_NE(other_.error_of("SELECT * FROM foliot.due()").find("dead rows"), std::string::npos);
  let_counts_take("1 h");
  EXPECT_EQ(execute_one(store, list_due{}).jobs.size(), 1U);
}

TEST_F(PostgresqlListDue, ASchemaThatLacksTheFunctionRefusesThisOperationAlone) {
  postgresql_store store(options("a"));
  sql("DROP FUNCTION foliot.list_due");
  std::vector<operation> batch{put{.tube = "a", .body = "", .due = 1h}, list_due{}, count_all{}};
  const execution done = store.execute(batch);
  EXPECT_TRUE(std::holds_alternative<put_answer>(done.answers.at(0)));
  const auto* const refused = std::get_if<unavailable_answer>(&done.answers.at(1));
  ASSERT_NE(refused, nullptr);
  EXPECT_FALSE(refused->is_in_doubt);
  EXPECT_NE(refused->why.find("list_due"), std::string::npos) << refused->why;
  const auto* const counted = std::get_if<count_answer>(&done.answers.at(2));
  ASSERT_NE(counted, nullptr);
  EXPECT_EQ(counted->counts.delayed, 1U);
}

TEST_F(PostgresqlListDue, ASchemaThatLacksTheFunctionHasNoOtherOperationPassedOver) {
  postgresql_store store(options("a"));
  // Batches that pass over locked jobs put by this function: their puts would be refused as well.
  sql("DROP FUNCTION foliot.list_due; DROP FUNCTION foliot.put_or_pass");
  for (int turn = 0; turn < 2; ++turn) {
    std::vector<operation> batch{put{.tube = "a", .body = ""}, list_due{}, put{.tube = "b", .body = ""}};
    const execution done = store.execute(batch);
    EXPECT_TRUE(std::holds_alternative<put_answer>(done.answers.at(0)));
    EXPECT_TRUE(std::holds_alternative<unavailable_answer>(done.answers.at(1)));
    EXPECT_TRUE(std::holds_alternative<put_answer>(done.answers.at(2)));
  }
  std::vector<operation> next{put{.tube = "a", .body = ""}};
  EXPECT_TRUE(std::holds_alternative<put_answer>(store.execute(next).answers.at(0)));
}

TEST_F(PostgresqlListDue, AnApplicationReadsThePagesOfItsDatabase) {
  postgresql_store store(options("a"));
  put_many(store);
  sql("SET TIME ZONE 'UTC'");
  EXPECT_EQ(sql("SELECT string_agg(d.job::text, ',') FROM foliot.due('user.', most => 7) d"),
            expected("user.", "(0::bigint, 0::bigint)", 7));
  EXPECT_EQ(
      sql("SELECT format('%s %s %s', d.tube, d.state, d.due) FROM foliot.due('user.404') d LIMIT 1"),
      sql("SELECT format('%s %s %s', 'user.404', 'delayed', to_timestamp(min(d.due) / 1000.0)) FROM foliot.delayed "
          "d WHERE d.tube = foliot.tube_id('user.404')"));
  // Page after page, by what a row shows.
  EXPECT_EQ(sql("WITH RECURSIVE pages AS (SELECT d.*, 1 AS page FROM foliot.due(most => 1) d UNION ALL SELECT d.*, "
                "p.page + 1 FROM pages p, foliot.due('', p.due, p.job, 1) d WHERE p.page < 60) "
                "SELECT string_agg(p.job::text, ',' ORDER BY p.page) FROM pages p"),
            expected("", "(0::bigint, 0::bigint)", 60));
  EXPECT_EQ(sql("SELECT count(*) FROM foliot.due(since => '2100-01-01 00:00Z')"), "0");
}

TEST_F(PostgresqlListDue, APageForAnApplicationReadsFewRowsOfTheTableOfTubes) {
  {
    postgresql_store store(options("a"));
    put_many(store);
  }
  sql("ANALYZE foliot.tube, foliot.delayed");
  sql("BEGIN");
  EXPECT_EQ(sql("SELECT count(*) FROM foliot.due(most => 100)"), "100");
  EXPECT_LE(std::stoi(sql("SELECT coalesce(t.seq_tup_read, 0) + coalesce(t.idx_tup_fetch, 0) FROM "
                          "pg_stat_xact_user_tables t WHERE t.relid = 'foliot.tube'::regclass")),
            400)
      << "it read all of them, and more";
  sql("COMMIT");
}

/// A search that begins at the floor does not see the rows of the lasting partition before it.
TEST_F(PostgresqlListDue, AnOldTransactionOfAnApplicationSearchesFromTheFloor) {
  {
    postgresql_store store(options("a"));
    execute_one(store, put{.tube = "a", .body = "", .due = 1h});
  }
  const std::string now = "(floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint)";
  sql("UPDATE foliot.delayed SET due = " + now + " - 60000");
  sql("SELECT setval('foliot.due_floor', " + now + ")");
  // As in a transaction that began an hour ago.
  sql("CREATE OR REPLACE FUNCTION foliot.time_of(given bigint[]) RETURNS bigint[] LANGUAGE sql STABLE AS $$ SELECT "
      "ARRAY[t.ms, t.ms, 0]::bigint[] FROM (SELECT floor(extract(epoch FROM now()) * 1000) - 3600000 AS ms) t $$");
  EXPECT_EQ(sql("SELECT count(*) FROM foliot.due()"), "0");
  // An old snapshot may have jobs that were due since.
  sql("BEGIN ISOLATION LEVEL REPEATABLE READ");
  EXPECT_EQ(sql("SELECT count(*) FROM foliot.due()"), "1");
  sql("COMMIT");
}

TEST_F(PostgresqlListDue, WrongParametersAreErrorsThatNameThem) {
  EXPECT_NE(other_.error_of("SELECT foliot.due(most => 0)").find("most must be from 1 to 1000; got 0"),
            std::string::npos);
  EXPECT_NE(other_.error_of("SELECT foliot.due(most => 1001)").find("got 1001"), std::string::npos);
  EXPECT_NE(other_.error_of("SELECT foliot.due(repeat('a', 201))").find("at most 200 bytes; got 201"),
            std::string::npos);
  EXPECT_NE(other_.error_of("SELECT foliot.due(after => -1)").find("after must be"), std::string::npos);
  EXPECT_NE(other_.error_of("SELECT foliot.due(since => '1960-01-01')").find("from 1970"), std::string::npos);
}

TEST_F(PostgresqlListDue, ARoleNeedsAGrant) {
  sql("CREATE ROLE due_" + sql("SELECT current_database()") + " LOGIN");
  const std::string role = "due_" + sql("SELECT current_database()");
  sql("GRANT USAGE ON SCHEMA foliot TO " + role);
  postgresql_connection as_role(database_);
  as_role.sql("SET ROLE " + role);
  EXPECT_NE(as_role.error_of("SELECT * FROM foliot.due()").find("permission denied"), std::string::npos);
  sql("GRANT EXECUTE ON FUNCTION foliot.due TO " + role);
  EXPECT_EQ(as_role.sql("SELECT count(*) FROM foliot.due()"), "0");
}

}  // namespace
}  // namespace foliot::jobs
