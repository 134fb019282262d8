// Pages of tubes and jobs in a PostgreSQL store: what they read does not depend on what is stored.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <variant>
#include <vector>

#include <foliot/jobs/calls.hpp>
#include <foliot/jobs/postgresql_store.hpp>

#include "connection.hpp"
#include "one_node.hpp"

namespace foliot::jobs {
namespace {

using namespace std::chrono_literals;
using foliot_test::postgresql_connection;

class PostgresqlLists : public foliot_test::postgresql_one_node {
 protected:
  /// Makes tubes with so many jobs of each state, by statements.
  void fill(int tubes, int jobs_of_each) {
    const std::string rows =
        "FROM generate_series(1, " + std::to_string(jobs_of_each) + ") i, foliot.tube t WHERE t.name LIKE 'tube%'";
    sql("INSERT INTO foliot.tube (name) SELECT convert_to('tube' || lpad(i::text, 6, '0'), 'UTF8') FROM "
        "generate_series(1, " +
        std::to_string(tubes) + ") i");
    sql("INSERT INTO foliot.node VALUES (7777, 'another', 1, 3600000)");
    sql("INSERT INTO foliot.heard VALUES (7777, 4000000000000000000, 0, foliot.current_part('heard'))");
    int state = 0;
    for (const std::string table : {"ready", "delayed", "buried", "reserved"}) {
      const std::string id = "(t.id * 1000::bigint + i * 10 + " + std::to_string(state++) + ")";
      const std::string common = " SELECT " + id + ", t.id, 1, 2000000000000 + i, 0, 1, 0, 0, 0, 0, ";
      sql("INSERT INTO foliot.job (id, tube, made, ttr, body) SELECT " + id + ", t.id, 0, 1000, 'x' " + rows);
      const std::string rest = table == "buried"     ? "nextval('foliot.burial') "
                               : table == "reserved" ? "7777, 1, 4000000000000000000, 9 "
                                                     : "9 ";
      sql("INSERT INTO foliot." + table + common + rest + rows);
    }
    sql("SELECT setval('foliot.job_id', (SELECT max(id) FROM foliot.job))");
    sql("VACUUM ANALYZE foliot.tube, foliot.job, foliot.ready, foliot.delayed, foliot.buried, foliot.reserved");
  }
  /// How many pages of the database the node would read for this.
  int pages_of(const std::string& statement) {
    sql(std::string(foliot_test::plans_of_nodes) + "; SET plan_cache_mode = force_generic_plan");
    sql("CREATE OR REPLACE FUNCTION public.plan_of(statement text) RETURNS SETOF text LANGUAGE plpgsql AS $$ BEGIN "
        "RETURN QUERY EXECUTE 'EXPLAIN (ANALYZE, BUFFERS) ' || statement; END $$");
    const std::string look =
        "SELECT substring(string_agg(line, ' ') FROM 'Buffers: shared hit=([0-9]+)') FROM public.plan_of($plan$" +
        statement + "$plan$) line";
    sql(look);  // reads the catalog
    return std::stoi(sql(look));
  }
  static std::vector<std::string> statements() {
    std::vector<std::string> all{"SELECT foliot.page_of_tubes('', '', 100, 1)",
                                 "SELECT foliot.page_of_tubes('tube', 'tube000200', 100, 1)"};
    for (const std::string state : {"0", "1", "2", "3", "NULL"}) {
      for (const std::string rest : {"0, 0, 100)", "1, 300010, 100)"}) {
        all.push_back("SELECT count(*) FROM foliot.page_of_jobs(NULL, 'tube000300', '{}', " + state + ", " + rest);
      }
    }
    all.emplace_back("SELECT count(*) FROM foliot.page_of_jobs(NULL, '', ARRAY[''::bytea], NULL, 0, 100000, 100)");
    all.emplace_back("SELECT count(*) FROM foliot.page_of_jobs(NULL, '', ARRAY[''::bytea], 2, 0, 100000, 100)");
    return all;
  }
};

/// The trees of the indexes have one level more, and pages that many rows share.
TEST_F(PostgresqlLists, APageOfVeryMuchReadsWhatAPageOfLittleDoes) {
  fill(400, 3);
  std::vector<int> little;
  for (const std::string& each : statements()) little.push_back(pages_of(each));
  sql("TRUNCATE foliot.tube, foliot.job, foliot.ready, foliot.delayed, foliot.buried, foliot.reserved");
  sql("DELETE FROM foliot.node WHERE session = 7777");
  sql("DELETE FROM foliot.heard WHERE session = 7777");
  fill(20'000, 3);
  std::size_t place = 0;
  for (const std::string& each : statements()) {
    const int now = pages_of(each);
    const int before = little.at(place++);
    // A list by ids reads up to most_searched jobs, which the small database does not have.
    const bool searches = each.find("'tube000300', '{}', NULL") != std::string::npos ||
                          each.find("'tube000300', '{}', 2") != std::string::npos;
    const int most = searches ? static_cast<int>(3 * most_searched) : 2 * before + 300;
    EXPECT_LT(now, most) << each << " reads " << now << ", and read " << before;
  }
}

TEST_F(PostgresqlLists, ATubeOfVeryManyJobsIsCountedInPart) {
  fill(1, 90);
  sql("INSERT INTO foliot.tube (name) SELECT convert_to('x' || i, 'UTF8') FROM generate_series(1, 3) i");
  sql("CREATE OR REPLACE FUNCTION foliot.step_of_counts() RETURNS bigint LANGUAGE sql STABLE AS 'SELECT 100::bigint'");
  execute_one(*node_, put{.tube = "tube000001", .body = "", .due = 1h});
  const tubes_answer few = execute_one(*node_, list_tubes{.count = 10, .with_counts = true});
  EXPECT_EQ(few.tubes, std::vector<std::string>{"tube000001"}) << "the others have no job";
  EXPECT_EQ(few.counts.at(0).what, count_answer::kind::done);
  EXPECT_EQ(few.counts.at(0).counts.delayed, 91U);
  std::vector<operation> puts;
  for (int i = 0; i < 20; ++i) puts.emplace_back(put{.tube = "tube000001", .body = "", .due = 1h});
  node_->execute(puts);
  const tubes_answer cut = execute_one(*node_, list_tubes{.count = 10, .with_counts = true});
  EXPECT_EQ(cut.counts.at(0).what, count_answer::kind::cut_short);
  EXPECT_EQ(cut.counts.at(0).counts.delayed, 100U);
  EXPECT_EQ(cut.counts.at(0).counts.ready, 90U);
}

TEST_F(PostgresqlLists, TubesWithoutJobsArePassedOverInPieces) {
  EXPECT_EQ(sql("SELECT foliot.most_searched()"), std::to_string(most_searched));
  sql("INSERT INTO foliot.tube (name) SELECT convert_to('tube' || lpad(i::text, 6, '0'), 'UTF8') FROM "
      "generate_series(1, 200) i");
  execute_one(*node_, put{.tube = "z", .body = ""});
  sql("CREATE OR REPLACE FUNCTION foliot.most_searched() RETURNS bigint LANGUAGE sql STABLE AS 'SELECT 100::bigint'");
  const tubes_answer first = execute_one(*node_, list_tubes{.count = 10});
  EXPECT_EQ(first.tubes, std::vector<std::string>{});
  EXPECT_EQ(first.next, "tube000100");
  std::vector<std::string> all;
  int pages = 0;
  for (list_tubes next{.count = 10};; ++pages) {
    const tubes_answer page = execute_one(*node_, next);
    all.insert(all.end(), page.tubes.begin(), page.tubes.end());
    if (page.next.empty()) break;
    next.after = page.next;
  }
  EXPECT_EQ(all, std::vector<std::string>{"z"});
  EXPECT_LE(pages, 4);
}

TEST_F(PostgresqlLists, WhoHasAJobIsToldByTheNameOfTheNode) {
  const auto other = open("other");
  execute_one(*node_, put{.tube = "a", .body = ""});
  execute_one(*node_, put{.tube = "a", .body = ""});
  execute_one(*other, claim{{"a"}});
  execute_one(*node_, claim{{"a"}});
  const jobs_answer listed = execute_one(*node_, list_jobs{.which = job_state::reserved});
  ASSERT_EQ(listed.jobs.size(), 2U);
  EXPECT_EQ(listed.jobs[0].node, "other");
  EXPECT_EQ(listed.jobs[1].node, "n");
  EXPECT_EQ(execute_one(*node_, list_jobs{.tube = "a", .which = job_state::ready}).jobs.size(), 0U);
}

/// A search passes over them without a look at the clock.
TEST_F(PostgresqlLists, TooManyDeadRowsAreNotSearched) {
  execute_one(*node_, put{.tube = "a", .body = "", .due = 1h});
  sql("CREATE OR REPLACE FUNCTION foliot.step_of_counts() RETURNS bigint LANGUAGE sql STABLE AS 'SELECT 50::bigint'");
  postgresql_connection pin(database_);
  pin.sql("BEGIN ISOLATION LEVEL REPEATABLE READ");
  pin.sql("SELECT 1");  // from now on PostgreSQL keeps all rows that go
  sql("INSERT INTO foliot.delayed_9 (id, tube, pri, due, delay, reserves, timeouts, releases, buries, kicks, part) "
      "SELECT i, 1, 0, 4000000000000, 0, 0, 0, 0, 0, 0, 9 FROM generate_series(1000001, 1000100) i");
  sql("DELETE FROM foliot.delayed_9 WHERE id > 1000000");
  while (sql("SELECT pg_stat_get_dead_tuples('foliot.delayed_9'::regclass) >= 100") != "t") {
    sql("SELECT pg_stat_force_next_flush()");  // the statistics come late
  }
  let_counts_take("0 ms");
  std::vector<operation> batch{list_jobs{.tube = "a", .which = job_state::delayed}, list_tubes{.count = 10},
                               list_jobs{.tube = "a", .which = job_state::ready}};
  const std::vector<answer> got = node_->execute(batch).answers;
  EXPECT_TRUE(std::holds_alternative<unavailable_answer>(got.at(0)));
  EXPECT_TRUE(std::holds_alternative<unavailable_answer>(got.at(1)));
  EXPECT_TRUE(std::holds_alternative<jobs_answer>(got.at(2))) << "another table";
  let_counts_take("1 h");
  EXPECT_EQ(execute_one(*node_, list_jobs{.tube = "a", .which = job_state::delayed}).jobs.size(), 1U);
}

}  // namespace
}  // namespace foliot::jobs
