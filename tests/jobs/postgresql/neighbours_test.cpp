// What a database may have besides foliot, and what its administrator may set: publications, dumps, functions of
// others, encodings.
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include <foliot/jobs/calls.hpp>
#include <foliot/jobs/database_map.hpp>
#include <foliot/jobs/postgresql_store.hpp>

#include "connection.hpp"
#include "database.hpp"
#include "jobs/kit/jobs.hpp"

namespace foliot::jobs {
namespace {

using namespace std::chrono_literals;
using foliot_test::age_partitions;
using foliot_test::claim_one;
using foliot_test::postgresql_connection;

class PostgresqlNeighbours : public foliot_test::postgresql_database {
 protected:
  /// A partition of this table that has had a row, and is empty.
  void empty_partition(const std::string& table) {
    sql("INSERT INTO foliot." + table + "_0 (id, tube, part) VALUES (0, 0, 0)");
    sql("DELETE FROM foliot." + table + "_0");
  }
  std::string clear(const std::string& part) { return sql("SELECT foliot.clear_part('foliot." + part + "')"); }
};

// PostgreSQL refuses to change rows that a publication has and cannot name.
TEST_F(PostgresqlNeighbours, APublicationOfAllTablesIsInNobodysWay) {
  sql("CREATE PUBLICATION everything FOR ALL TABLES");
  postgresql_store node(options("a"));
  for (int i = 0; i < 5; ++i) execute_one(node, put{.tube = "a", .body = "x"});
  const job_id delayed = execute_one(node, put{.tube = "a", .body = "x", .due = 1h}).id;
  execute_one(node, put{.tube = "a", .key = "k", .body = "x"});
  execute_one(node, put{.tube = "a", .key = "k", .body = "y", .existing = on_existing::replace});
  EXPECT_EQ(execute_one(node, finish{claim_one(node).token}).what, holder_answer::kind::done);
  EXPECT_EQ(execute_one(node, release{claim_one(node).token}).what, holder_answer::kind::done);
  EXPECT_EQ(execute_one(node, bury{claim_one(node).token}).what, holder_answer::kind::done);
  EXPECT_EQ(execute_one(node, touch{claim_one(node).token}).what, holder_answer::kind::done);
  EXPECT_EQ(execute_one(node, kick{.tube = "a", .count = 1}).changed, 1U);
  EXPECT_EQ(execute_one(node, reschedule{delayed, 2h}).what, change_answer::kind::done);
  EXPECT_EQ(execute_one(node, fire_now{delayed}).what, change_answer::kind::done);
  EXPECT_EQ(execute_one(node, cancel{delayed}).what, change_answer::kind::done);
  execute_one(node, pause{.tube = "a", .length = 1h});
  execute_one(node, pause{.tube = "a", .length = 0s});
  for (const char* table : {"job", "ready", "reserved"}) {  // what rests is moved, and reservations are extended
    sql("SELECT foliot.set_current_part('" + std::string(table) + "', (1 - foliot.current_part('" + table +
        "'))::smallint)");
    age_partitions(other_, table, 11s);
  }
  sql("SELECT foliot.move_resting()");
  sql("SELECT foliot.note_change_of_map()");
  EXPECT_EQ(execute_one(node, clear_tube{.tube = "a", .count = 10}).changed, 4U);
  const check_result right = node.check();
  EXPECT_TRUE(right) << right.error();
}

// Its snapshot may be much older than its locks.
TEST_F(PostgresqlNeighbours, WhilePgDumpRunsNothingIsTruncated) {
  empty_partition("ready");
  {
    postgresql_connection dump(database_);
    dump.sql("SET application_name = 'pg_dump'");
    EXPECT_EQ(clear("ready_0"), "NULL");
  }
  while (sql("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pg_dump'") != "0") {
  }
  EXPECT_EQ(clear("ready_0"), "t");
}

TEST_F(PostgresqlNeighbours, QuotedNamesDoNotMatter) {
  empty_partition("ready");
  sql("DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET quote_all_identifiers = on', current_database()); END $$");
  postgresql_connection quoting(database_);
  quoting.sql("SELECT foliot.set_current_part('ready', 1::smallint)");
  EXPECT_EQ(quoting.error_of("SELECT setval('foliot.last_turn', 1), foliot.rotate()"), "");
  sql("SELECT setval('foliot.ready_0_empty_since', 1)");
  EXPECT_EQ(quoting.error_of("SELECT setval('foliot.last_turn', 1), foliot.rotate()"), "");
  EXPECT_EQ(sql("SELECT pg_relation_size('foliot.ready_0')"), "0");
}

// A function that fits better than that of the system would have the rights of the caller.
TEST_F(PostgresqlNeighbours, NoFunctionOfOthersIsCalled) {
  sql("CREATE FUNCTION public.regexp_replace(name, text, text) RETURNS text LANGUAGE plpgsql AS "
      "$$ BEGIN RAISE 'called'; END $$");
  sql("CREATE FUNCTION public.setval(text, bigint) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RAISE 'called'; END $$");
  EXPECT_EQ(other_.error_of("SELECT * FROM foliot.metrics()"), "");
  EXPECT_EQ(other_.error_of("SELECT foliot.restored()"), "");
}

TEST_F(PostgresqlNeighbours, TimeLimitsOfTheDatabaseDoNotHold) {
  const std::string added = server_.new_database();
  for (const std::string& each : {database_, added}) {
    postgresql_connection to(each);
    for (const std::string limit : {"statement_timeout", "idle_session_timeout"}) {
      to.sql("DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET " + limit + " = ''1h''', current_database()); END $$");
    }
    const std::string checks =
        " LANGUAGE plpgsql AS $$ BEGIN "
        "IF current_setting('statement_timeout') <> '0' THEN RAISE 'it has a time limit'; END IF; "
        "IF current_setting('idle_session_timeout') <> '0' THEN RAISE 'it may not rest'; END IF; ";
    to.sql("CREATE FUNCTION public.check_command() RETURNS event_trigger" + checks + "END $$");
    to.sql("CREATE FUNCTION public.check_row() RETURNS trigger" + checks + "RETURN NEW; END $$");
  }
  postgresql_connection(added).sql(
      "SET statement_timeout = 0; SET idle_session_timeout = 0; CREATE EVENT TRIGGER check_command ON "
      "ddl_command_start "
      "EXECUTE FUNCTION public.check_command()");
  for (const std::string table : {"job", "database"}) {
    sql("CREATE TRIGGER check_row BEFORE INSERT ON foliot." + table +
        " FOR EACH ROW EXECUTE FUNCTION public.check_row()");
  }
  EXPECT_NO_THROW(postgresql_store::migrate(added));
  EXPECT_EQ(database_map(database_).add(added), 1);
  postgresql_store node(foliot_test::options_of(for_nodes_, "a", 1s));
  EXPECT_EQ(execute_one(node, put{.tube = "a", .body = "x"}).what, put_answer::kind::inserted);
}

TEST_F(PostgresqlNeighbours, TheDatabaseMayHaveAnyEncoding) {
  const std::string place = "host=" + server_.folder() + " user=postgres dbname=";
  postgresql_connection server(place + "postgres");
  server.sql("DROP DATABASE IF EXISTS latin1 WITH (FORCE)");  // if the test is repeated
  server.sql("CREATE DATABASE latin1 ENCODING 'LATIN1' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'");
  postgresql_store::migrate(place + "latin1");
  postgresql_store node(foliot_test::options_of(place + "latin1", "a"));
  execute_one(node, put{.tube = "a", .key = "schl\xC3\xBCssel", .body = "\xFF\xC3\xBC"});
  EXPECT_EQ(execute_one(node, claim{{"a"}}).jobs.at(0).job.body, "\xFF\xC3\xBC");
}

}  // namespace
}  // namespace foliot::jobs
