// The rights that docs/serve/nodes.md gives to the role of the nodes: enough for all that a node does, and for nothing
// else. The conformance suite and the tests over postgresql_database have the same role.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <foliot/jobs/calls.hpp>
#include <foliot/jobs/postgresql_store.hpp>

#include "connection.hpp"
#include "database.hpp"
#include "documented_sql.hpp"
#include "node_role.hpp"

namespace foliot::jobs {
namespace {

using namespace std::chrono_literals;
using foliot_test::error_of_opening;
using foliot_test::postgresql_connection;

class PostgresqlNodeRole : public foliot_test::postgresql_database {
 protected:
  void expect_refused(const std::string& statement) {
    const std::string error = as_node_.error_of(statement);
    EXPECT_TRUE(error.find("permission denied") != std::string::npos ||
                error.find("must be owner") != std::string::npos)
        << statement << " says: " << error;
  }

  postgresql_connection as_node_{for_nodes_};
};

TEST_F(PostgresqlNodeRole, IsEnoughForANode) {
  {
    postgresql_store node(options("a"));
    execute_one(node, put{.tube = "a", .body = "x"});
    const reservation held = execute_one(node, claim{{"a"}}).jobs.at(0).token;
    EXPECT_EQ(execute_one(node, touch{held}).what, holder_answer::kind::done);
    EXPECT_EQ(execute_one(node, bury{held}).what, holder_answer::kind::done);
    EXPECT_EQ(execute_one(node, kick{.tube = "a"}).changed, 1U);
    const reservation again = execute_one(node, claim{{"a"}}).jobs.at(0).token;
    EXPECT_EQ(execute_one(node, release{.token = again, .due = 1h}).what, holder_answer::kind::done);
    execute_one(node, pause{.tube = "b", .length = 1h});
    execute_one(node, put{.tube = "a", .key = "k", .body = "x"});
    EXPECT_EQ(execute_one(node, cancel{job_key{"a", "k"}}).what, change_answer::kind::done);
    EXPECT_EQ(execute_one(node, clear_tube{.tube = "a"}).changed, 1U);
    execute_one(node, put{.tube = "a", .body = "x"});
    execute_one(node, claim{{"a"}});
    const check_result right = node.check();
    EXPECT_TRUE(right) << right.error();
    node.close();
  }
  postgresql_store other(options("b"));
  EXPECT_EQ(execute_one(other, finish{execute_one(other, claim{{"a"}}).jobs.at(0).token}).what,
            holder_answer::kind::done);
  EXPECT_EQ(execute_one(other, count_all{}).counts, job_counts{});
}

// A node takes its turns without a word, so only the tables show whether it may.
TEST_F(PostgresqlNodeRole, IsEnoughForTheRotation) {
  ASSERT_EQ(as_node_.error_of("SELECT foliot.rotate()"), "");
  for (const char* part : {"0", "1"}) {  // which could be emptied by a vacuum instead
    sql(std::string("ALTER TABLE foliot.ready_") + part + " SET (autovacuum_enabled = off)");
  }
  postgresql_store node(options("a"));
  const auto use = [&] {
    execute_one(node, put{.tube = "a", .body = "x"});
    execute_one(node, finish{execute_one(node, claim{{"a"}}).jobs.at(0).token});
  };
  use();
  const auto size = [&] { return sql("SELECT pg_relation_size('foliot.ready_0')"); };
  ASSERT_NE(size(), "0");
  sql("SELECT foliot.set_current_part('ready', 1::smallint)");
  while (size() != "0") {
    use();
    sql("SELECT pg_sleep(0.05)");
  }
  // A partition that has grown leaves the new rows to the next one.
  sql("INSERT INTO foliot.ready SELECT i, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1 FROM generate_series(1000001, 1010000) i");
  sql("DELETE FROM foliot.ready WHERE id > 1000000");
  foliot_test::age_partitions(other_, "ready", 11s);
  while (sql("SELECT foliot.current_part('ready')") == "1") {
    use();
    sql("SELECT pg_sleep(0.05)");
  }
}

TEST_F(PostgresqlNodeRole, ARightThatItLacksIsToldOf) {
  std::vector<std::string> warnings;
  postgresql_options made = options("a");
  made.warn = [&](std::string_view sentence) { warnings.emplace_back(sentence); };
  postgresql_store node(made);
  sql("REVOKE EXECUTE ON FUNCTION foliot.rotate FROM foliot_node");
  const std::string connection =  // its first one, which is for its jobs
      "SELECT pid FROM pg_stat_activity WHERE application_name = 'foliot' AND datname = current_database() "
      "ORDER BY backend_start LIMIT 1";
  const std::string before = sql(connection);
  const auto refusals = [&] {
    return std::ranges::count_if(warnings, [](const std::string& each) {
      return each.find("refuses foliot.rotate(): ERROR:  permission denied") != std::string::npos;
    });
  };
  while (refusals() == 0) execute_one(node, put{.tube = "a", .body = "x"});
  for (int i = 0; i < 3; ++i) execute_one(node, put{.tube = "a", .body = "x"});
  EXPECT_EQ(refusals(), 1);
  EXPECT_EQ(sql(connection), before) << "the connection is as good as before";
}

/// The text of the error that opening a store with these options ends with; empty: there was none.
TEST_F(PostgresqlNodeRole, ANodeThatLacksARightDoesNotStartAndSaysWhich) {
  sql("REVOKE DELETE ON foliot.pause FROM foliot_node");
  sql("REVOKE EXECUTE ON FUNCTION foliot.rotate FROM foliot_node");
  const std::string error = error_of_opening(options("a"));
  EXPECT_NE(error.find("the role 'foliot_node' lacks rights in the database "), std::string::npos) << error;
  EXPECT_NE(error.find(": DELETE on foliot.pause; EXECUTE on foliot.rotate. Repeat the GRANTs of "), std::string::npos)
      << error;
}

TEST_F(PostgresqlNodeRole, ANodeThatMayNotUseTheSchemaSaysSo) {
  sql("REVOKE USAGE ON SCHEMA foliot FROM foliot_node");
  const std::string error = error_of_opening(options("a"));
  EXPECT_NE(error.find(": USAGE on schema foliot. Repeat the GRANTs of "), std::string::npos) << error;
}

// What a role without any right of its own is told to need is what the page grants.
TEST_F(PostgresqlNodeRole, IsWhatTheProgramAsksFor) {
  sql("DO $$ BEGIN CREATE ROLE stranger LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$");
  postgresql_options of_a_stranger = options("a");
  of_a_stranger.database = database_ + " user=stranger";
  const std::string error = error_of_opening(of_a_stranger);
  std::set<std::string> asked;
  const std::regex group("([A-Z]+(?:, [A-Z]+)*) on ((?:schema )?[a-z_.]+(?:, (?:schema )?[a-z_.]+)*)(?:; |[.] Repeat)");
  const std::regex word("[^,]+");
  const std::string list = error.substr(error.find(": ", error.find("lacks rights")) + 2);
  const auto none = std::sregex_iterator();
  for (std::sregex_iterator each(list.begin(), list.end(), group); each != none; ++each) {
    const std::string rights = each->str(1);
    const std::string names = each->str(2);
    for (std::sregex_iterator right(rights.begin(), rights.end(), word); right != none; ++right) {
      for (std::sregex_iterator name(names.begin(), names.end(), word); name != none; ++name) {
        const auto trimmed = [](const std::string& it) { return it.substr(it.find_first_not_of(' ')); };
        asked.insert(trimmed(right->str()) + " on " + trimmed(name->str()));
      }
    }
  }
  std::set<std::string> granted;
  std::istringstream lines(
      sql("SELECT string_agg(DISTINCT g.line, E'\\n') FROM ("
          "SELECT a.privilege_type || ' on foliot.' || c.relname, a.grantee FROM pg_class c, aclexplode(c.relacl) a "
          "WHERE c.relnamespace = 'foliot'::regnamespace "
          "UNION ALL SELECT a.privilege_type || ' on foliot.' || p.proname, a.grantee "
          "FROM pg_proc p, aclexplode(p.proacl) a WHERE p.pronamespace = 'foliot'::regnamespace "
          "UNION ALL SELECT a.privilege_type || ' on schema ' || s.nspname, a.grantee "
          "FROM pg_namespace s, aclexplode(s.nspacl) a WHERE s.nspname = 'foliot') g (line, grantee) "
          "WHERE g.grantee = 'foliot_node'::regrole"));
  for (std::string line; std::getline(lines, line);) granted.insert(line);
  EXPECT_GT(granted.size(), 40U);
  EXPECT_EQ(asked, granted);
}

TEST_F(PostgresqlNodeRole, ARightThatIsRevokedLaterIsARefusal) {
  postgresql_store node(foliot_test::options_of(for_nodes_, "a", 10ms));
  const auto error_of_a_pause = [&] {
    try {
      execute_one(node, pause{.tube = "b", .length = 1h});
    } catch (const store_unavailable& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  sql("REVOKE INSERT ON foliot.pause FROM foliot_node");
  const std::string refused = error_of_a_pause();
  EXPECT_NE(refused.find(" refuses: ERROR:  permission denied for table pause"), std::string::npos) << refused;
  // A new connection looks at the rights, and a store that is open waits for them.
  sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'foliot' "
      "AND datname = current_database()");
  std::string lacks = error_of_a_pause();
  while (lacks.find(" refuses: ") == std::string::npos) lacks = error_of_a_pause();
  EXPECT_NE(lacks.find(": INSERT on foliot.pause. Repeat the GRANTs"), std::string::npos) << lacks;
  sql("GRANT INSERT ON foliot.pause TO foliot_node");
  while (!error_of_a_pause().empty()) {
  }
}

TEST_F(PostgresqlNodeRole, IsEnoughForTurnsOfKeys) {
  postgresql_store node(options("a"));
  const put keyed{.tube = "a", .key = "k", .body = "x", .existing = on_existing::replace};
  execute_one(node, keyed);
  postgresql_connection application(database_);
  application.sql("BEGIN");
  application.sql("SELECT id FROM foliot.job FOR UPDATE");
  std::vector<operation> batch{keyed};
  EXPECT_TRUE(std::holds_alternative<passed_over_answer>(node.execute(batch).answers.at(0)));
  EXPECT_EQ(sql("SELECT is_called FROM foliot.turns_until"), "t") << "turns began";
  application.sql("ROLLBACK");
  sql("SELECT foliot.set_turns(60000)");
  EXPECT_EQ(execute_one(node, keyed).what, put_answer::kind::replaced);
}

TEST_F(PostgresqlNodeRole, CanDoNothingElse) {
  EXPECT_THROW(postgresql_store::migrate(for_nodes_), store_failure);
  for (const char* each : {
           "CREATE TABLE foliot.mine (id int)",
           "CREATE OR REPLACE FUNCTION foliot.here() RETURNS text LANGUAGE sql AS 'SELECT NULL::text'",
           "ALTER TABLE foliot.job ADD COLUMN mine int",
           "ALTER SEQUENCE foliot.job_id RESTART WITH 1",
           "DROP TABLE foliot.job",
           "DROP FUNCTION foliot.rotate",
           "DROP SCHEMA foliot CASCADE",
           "TRUNCATE foliot.ready",
           "SELECT setval('foliot.job_id', 1)",
           "SELECT nextval('foliot.part_of_job')",
           "SELECT last_value FROM foliot.session",
           "SELECT last_value FROM foliot.burial",
       }) {
    expect_refused(each);
  }
  for (const std::string table : {"map", "database", "tube_place", "joined", "away", "leaving", "arrived", "origin"}) {
    expect_refused("INSERT INTO foliot." + table + " DEFAULT VALUES");
    expect_refused("DELETE FROM foliot." + table);
    expect_refused("TRUNCATE foliot." + table);
  }
  expect_refused("UPDATE foliot.map SET version = version + 1");
  expect_refused("UPDATE foliot.tube_place SET database = 1");
  expect_refused("UPDATE foliot.tube SET name = 'x'");
}

TEST_F(PostgresqlNodeRole, CanCallNoFunctionOfAnOperatorOrAnApplication) {
  for (const char* each : {
           "restored()",
           "skip_numbers()",
           "clear_part('foliot.ready_0')",
           "set_current_part('ready', 1::smallint)",
           "job_metrics()",
           "note_change_of_map()",
           "give_ids_of(1::smallint, 0)",
           "become_database(1::smallint, gen_random_uuid(), 0)",
           "plan_database('dbname=x')",
           "place_database(1::smallint, 'dbname=x')",
           "plan_move('a', 1::smallint)",
           "end_move('a')",
           "leave('a')",
           "join('a', 0)",
           "send_piece('a', 1, 1)",
           "take_piece(0, 1, 'a', '{}', '{}', '{}')",
           "forget_piece(1)",
           "has_left('a')",
           "put('a', 'x')",
           "put('a', 'x'::bytea)",
           "cancel(1)",
           "cancel_by_key('a', 'k')",
           "reschedule(1, '1 h')",
           "reschedule_by_key('a', 'k', '1 h')",
           "tell('a')",
       }) {
    expect_refused(std::string("SELECT foliot.") + each);
  }
}

// The default privileges of a careful owner: the documented grants are enough all the same.
TEST_F(PostgresqlNodeRole, IsEnoughWhereFunctionsAreNotForAllRoles) {
  const std::string database = server_.new_database();
  postgresql_connection owner(database);
  owner.sql("ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC");
  postgresql_store::migrate(database);
  postgresql_store node(foliot_test::options_of(foliot_test::as_node_role(database), "a"));
  owner.sql("DO $$ BEGIN CREATE ROLE foliot_shop LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$");
  owner.sql(foliot_test::documented_grants("serve/sql.md", "shop", "foliot_shop"));
  postgresql_connection shop(database + " user=foliot_shop");
  for (const char* const each : {"put('a', 'x')", "put('a', 'x', key => 'k', delay => '1 h')", "tell('a')",
                                 "reschedule_by_key('a', 'k', '2 h')", "cancel_by_key('a', 'k')"}) {
    EXPECT_EQ(shop.error_of(std::string("SELECT foliot.") + each), "");
  }
  const reservation held = execute_one(node, claim{{"a"}}).jobs.at(0).token;
  EXPECT_EQ(execute_one(node, release{.token = held, .due = 1h}).what, holder_answer::kind::done);
  execute_one(node, put{.tube = "a", .key = "k", .body = "x"});
  EXPECT_EQ(execute_one(node, clear_tube{.tube = "a"}).changed, 2U);
  EXPECT_TRUE(node.check());
}

// What runs with the rights of the schema's owner is granted by name.
TEST_F(PostgresqlNodeRole, NoFunctionWithTheRightsOfTheOwnerIsForAllRoles) {
  EXPECT_EQ(sql("SELECT string_agg(p.oid::regprocedure::text, ', ') FROM pg_proc p "
                "WHERE p.pronamespace = 'foliot'::regnamespace AND p.prosecdef "
                "AND has_function_privilege('public', p.oid, 'EXECUTE')"),
            "NULL");
}

}  // namespace
}  // namespace foliot::jobs
