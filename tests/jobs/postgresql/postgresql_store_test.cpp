// postgresql_store beyond the conformance suite: its schema, several nodes, dead ones, and a database that goes away.
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <foliot/jobs/calls.hpp>
#include <foliot/jobs/postgresql_store.hpp>

#include "broken_node.hpp"
#include "connection.hpp"
#include "database.hpp"
#include "jobs/kit/jobs.hpp"
#include "server.hpp"

namespace foliot::jobs {
namespace {

using namespace std::chrono_literals;
using foliot_test::claim_one;
using foliot_test::error_of_opening;
using foliot_test::postgresql_server;
using foliot_test::put_one;
using foliot_test::until_available;

/// A database, and nodes over it on the system's clocks.
class PostgresqlStore : public ::testing::Test {
 protected:
  explicit PostgresqlStore(std::string database = postgresql_server::instance().new_database())
      : database_(std::move(database)) {}
  [[nodiscard]] postgresql_options options(const std::string& node) {
    postgresql_options made = foliot_test::options_of(database_, node);
    made.warn = [this](std::string_view sentence) { warnings_.emplace_back(sentence); };
    return made;
  }
  [[nodiscard]] std::unique_ptr<postgresql_store> open(const std::string& node) {
    return std::make_unique<postgresql_store>(options(node));
  }
  std::string sql(const std::string& statement) { return server_.sql(database_, statement); }

  postgresql_server& server_ = postgresql_server::instance();
  const std::string database_;
  std::vector<std::string> warnings_;
};

/// Those that need the schema.
class PostgresqlNodes : public PostgresqlStore {
 protected:
  PostgresqlNodes() : PostgresqlStore(foliot_test::new_database()) {}
};

TEST_F(PostgresqlStore, IsRefusedWithoutASchema) {
  EXPECT_NE(error_of_opening(options("n")).find("has no schema of foliot: make it with"), std::string::npos);
}

TEST_F(PostgresqlStore, MigrateMakesTheSchemaOnce) {
  const auto first = postgresql_store::migrate(database_);
  EXPECT_EQ(first.from, 0);
  EXPECT_EQ(first.to, 7);
  const auto store = open("n");
  put_one(*store, "a", "kept");
  const auto second = postgresql_store::migrate(database_);
  EXPECT_EQ(second.from, 7);
  EXPECT_EQ(execute_one(*store, count_all{}).counts.ready, 1U);
}

TEST_F(PostgresqlStore, NewDatabaseOfTheTestsIsLikeOneThatWasJustMigrated) {
  postgresql_store::migrate(database_);
  const std::string model = foliot_test::new_database();  // from now on there is one to copy
  const std::string now_ms = "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint";
  const std::string before = server_.sql(model, "SELECT " + now_ms);
  const std::string copy = foliot_test::new_database();

  // Times in milliseconds, alone or with the number of a partition.
  const std::string is_time = "last_value BETWEEN 1000000000000 AND 100000000000000";
  const std::string sequences = "SELECT string_agg(sequencename || ' ' || CASE WHEN " + is_time +
                                " THEN 'time' ELSE last_value::text END, ', ' ORDER BY sequencename) "
                                "FROM pg_sequences WHERE schemaname = 'foliot'";
  EXPECT_EQ(server_.sql(copy, sequences), sql(sequences));
  EXPECT_EQ(
      server_.sql(copy, "SELECT string_agg(sequencename, ', ') FROM pg_sequences WHERE schemaname = 'foliot' AND " +
                            is_time +
                            " AND last_value >> CASE WHEN sequencename LIKE 'part_of_%' THEN 4 ELSE 0 END < " + before),
      "");
}

TEST_F(PostgresqlStore, RefusesASchemaOfAnotherVersion) {
  postgresql_store::migrate(database_);
  sql("CREATE OR REPLACE FUNCTION foliot.schema_version() RETURNS integer LANGUAGE sql AS 'SELECT 9'");
  sql("CREATE OR REPLACE FUNCTION foliot.oldest_program() RETURNS integer LANGUAGE sql AS 'SELECT 8'");
  EXPECT_NE(error_of_opening(options("n")).find("has version 9, which is for programs of version 8 or later"),
            std::string::npos);
  EXPECT_THROW(postgresql_store::migrate(database_), store_failure);
}

TEST_F(PostgresqlStore, RefusesWrongOptionsByName) {
  auto wrong = options("");
  EXPECT_THROW(postgresql_store{wrong}, std::invalid_argument);
  wrong = options(std::string("a\0b", 3));
  EXPECT_THROW(postgresql_store{wrong}, std::invalid_argument);
  wrong = options("n");
  wrong.node_timeout = 999ms;
  EXPECT_THROW(postgresql_store{wrong}, std::invalid_argument);
  wrong.node_timeout = std::chrono::days(1) + 1ms;
  EXPECT_THROW(postgresql_store{wrong}, std::invalid_argument);
  wrong = options("n");
  wrong.database = "host=somewhere password=secret nonsense";
  EXPECT_EQ(error_of_opening(wrong).find("secret"), std::string::npos);
  EXPECT_NE(error_of_opening(wrong).find("connection string"), std::string::npos);
}

TEST_F(PostgresqlStore, ADatabaseThatIsNotThereIsNamedWithoutItsPassword) {
  auto wrong = options("n");
  wrong.database = "host=/nowhere dbname=jobs password=secret";
  wrong.give_up_after = 1ms;
  const std::string text = error_of_opening(wrong);
  EXPECT_NE(text.find("/nowhere"), std::string::npos) << text;
  EXPECT_EQ(text.find("secret"), std::string::npos) << text;
}

/// A primary, and a standby that comes first in the connection strings and does not know yet what has changed.
class PostgresqlLateStandby : public ::testing::Test {
 protected:
  PostgresqlLateStandby() {
    const std::string there = "host=" + standby_->folder() + " user=postgres dbname=postgres";
    standby_->sql(there, "SELECT pg_wal_replay_pause()");
    while (standby_->sql(there, "SELECT pg_get_wal_replay_pause_state()") != "paused") {
    }
  }
  [[nodiscard]] std::string both(const std::string& database) const {
    return "host=" + standby_->folder() + "," + primary_.folder() + " user=postgres dbname=" + database;
  }
  /// Why the schema cannot be made; empty: it can.
  static std::string refusal(const std::string& database) {
    try {
      postgresql_store::migrate(database);
    } catch (const store_failure& error) {
      return error.what();
    }
    return "";
  }

  postgresql_server primary_;
  const std::unique_ptr<postgresql_server> standby_ = postgresql_server::standby_of(primary_);
};

TEST_F(PostgresqlLateStandby, DoesNotKeepAStoreFromADatabaseThatWasJustMade) {
  static_cast<void>(primary_.new_database());
  for (int round = 0; round < 2; ++round) EXPECT_EQ(refusal(both("test1")), "");
  ::setenv("PGHOST", (standby_->folder() + "," + primary_.folder()).c_str(), 1);
  EXPECT_EQ(refusal("dbname=test1 user=postgres"), "");
  ::unsetenv("PGHOST");
  for (int round = 0; round < 2; ++round) {
    postgresql_store store(foliot_test::options_of(both("test1"), "n"));
    put_one(store);
  }
}

TEST_F(PostgresqlLateStandby, IsNamedOnceInARefusalBesideTheOtherHosts) {
  const auto times = [](const std::string& text, const std::string& piece) {
    int count = 0;
    for (std::size_t at = text.find(piece); at != text.npos; at = text.find(piece, at + 1)) ++count;
    return count;
  };
  const std::string absent = refusal(both("absent"));
  EXPECT_EQ(times(absent, "\"absent\" does not exist"), 2) << absent;
  EXPECT_EQ(times(absent, "\"" + standby_->folder() + "/.s.PGSQL"), 1) << absent;
  EXPECT_EQ(times(absent, "\"" + primary_.folder() + "/.s.PGSQL"), 1) << absent;
  // libpq asks the second host by itself here, and the second attempt brings nothing new.
  const std::string away = refusal("host=" + standby_->folder() + ",/nowhere user=postgres dbname=postgres");
  EXPECT_EQ(times(away, "session is read-only"), 1) << away;
  EXPECT_EQ(times(away, "/nowhere/.s.PGSQL"), 1) << away;
}

TEST_F(PostgresqlNodes, ShareTheirJobs) {
  const auto a = open("a");
  const auto b = open("b");
  const job_id id = put_one(*a, "a", "hello");
  const claim_answer claimed = execute_one(*b, claim{{"a"}});
  ASSERT_EQ(claimed.jobs.size(), 1U);
  EXPECT_EQ(claimed.jobs[0].job.body, "hello");
  EXPECT_TRUE(execute_one(*a, claim{{"a"}}).jobs.empty());
  EXPECT_EQ(execute_one(*a, cancel{id}).what, change_answer::kind::reserved);
  EXPECT_EQ(execute_one(*b, finish{claimed.jobs[0].token}).what, holder_answer::kind::done);
  EXPECT_EQ(execute_one(*a, cancel{id}).what, change_answer::kind::gone);
  const check_result right = a->check();
  EXPECT_TRUE(right) << right.error();
}

TEST_F(PostgresqlNodes, ANodeThatIsClosedGivesItsJobsBack) {
  const auto a = open("a");
  const auto b = open("b");
  put_one(*a);
  const reservation token = claim_one(*a).token;
  execute_one(*a, pause{"p", 1h});
  a->close();
  EXPECT_EQ(execute_one(*b, finish{token}).what, holder_answer::kind::not_held);
  EXPECT_NE(claim_one(*b).token, token);
  EXPECT_EQ(execute_one(*b, count_tube{"p"}).paused_until, instant::never());
  EXPECT_THROW(a->execute({}), store_failure);
}

TEST_F(PostgresqlNodes, AnotherNodeOfTheSameNameEndsTheReservationsOfTheFirst) {
  const auto first = open("same");
  put_one(*first);
  const reservation old = claim_one(*first).token;
  const auto second = open("same");
  const reservation token = claim_one(*second).token;
  EXPECT_EQ(token.id, old.id);
  EXPECT_NE(token, old);
  EXPECT_EQ(execute_one(*second, finish{old}).what, holder_answer::kind::not_held);
  // The first one does not fight for its name.
  try {
    first->execute({});
    FAIL() << "two nodes share a name";
  } catch (const store_failure& error) {
    EXPECT_NE(std::string(error.what()).find("another node with the name 'same'"), std::string::npos) << error.what();
  }
  EXPECT_EQ(execute_one(*second, finish{token}).what, holder_answer::kind::done);
}

TEST_F(PostgresqlNodes, TheReservationsOfADeadNodeEnd) {
  auto short_lived = options("dead");
  short_lived.node_timeout = 1s;
  postgresql_store dead(short_lived);
  put_one(dead);
  const reservation old = claim_one(dead).token;
  // The other one looks for dead nodes when it says that it is alive itself.
  auto watching = options("alive");
  watching.node_timeout = 1s;
  postgresql_store alive(watching);
  std::vector<claimed_job> got;
  while (got.empty()) got = execute_one(alive, claim{{"a"}}).jobs;
  EXPECT_NE(got[0].token, old);
  EXPECT_EQ(got[0].job.counters.timeouts, 0U) << "its worker has gone: its TTR has not ended";
  // It was only stopped, and changes nothing by its old reservation.
  operation late = finish{old};
  const execution woken = dead.execute(std::span(&late, 1));
  EXPECT_EQ(std::get<holder_answer>(woken.answers.at(0)).what, holder_answer::kind::not_held);
  EXPECT_EQ(woken.expired, std::vector{old}) << "its broker learns that it holds the job no more";
  EXPECT_EQ(execute_one(alive, finish{got[0].token}).what, holder_answer::kind::done);
}

TEST_F(PostgresqlNodes, ANodeThatExecutesABatchIsNotTakenForDead) {
  auto silent = options("silent");
  silent.node_timeout = 1s;
  postgresql_store dead(silent);
  put_one(dead);
  const reservation old = claim_one(dead).token;
  const std::string session = sql("SELECT session FROM foliot.node");
  // Its batch is under way, and has not come to an end for long.
  const std::string busy =
      "psql -qX -d '" + database_ + "' -c \"BEGIN; SELECT foliot.begin_batch(" + session +
      ", null, 0, '{}', '{}', '{}', '{}', '{}', '{}', 0); SELECT pg_sleep(3600)\" >/dev/null 2>&1 &";
  ASSERT_EQ(std::system(busy.c_str()), 0);
  while (sql("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'") == "0") {
  }
  sql("UPDATE foliot.heard SET seen = 0");
  auto watching = options("alive");
  watching.node_timeout = 1s;
  postgresql_store alive(watching);
  sql("UPDATE foliot.heard h SET since = 0 FROM foliot.node n WHERE n.session = h.session AND n.name = 'alive'");
  const std::string seen =
      "SELECT h.seen FROM foliot.heard h JOIN foliot.node n USING (session) WHERE n.name = 'alive'";
  for (const std::string before = sql(seen); sql(seen) == before;)
    alive.execute({});  // until it has looked for dead ones
  EXPECT_EQ(execute_one(alive, count_all{}).counts.reserved, 1U);
  sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%pg_sleep%' AND pid <> "
      "pg_backend_pid()");
  while (execute_one(alive, count_all{}).counts.reserved == 1) {
  }
  EXPECT_EQ(execute_one(alive, finish{old}).what, holder_answer::kind::not_held);
}

TEST_F(PostgresqlNodes, AreListedByNameWithTheTimesOfTheDatabase) {
  const auto b = open("b");
  const auto a = open("a");
  const auto names_in = [](const nodes_answer& all) {
    std::vector<std::string> names;
    for (const listed_node& each : all.nodes) names.push_back(each.name);
    return names;
  };
  const nodes_answer both = execute_one(*b, list_nodes{});
  EXPECT_EQ(names_in(both), (std::vector<std::string>{"a", "b"}));
  for (const listed_node& each : both.nodes) {
    EXPECT_LE(each.since, each.heard) << each.name;
    EXPECT_LE(each.heard, both.now) << each.name;
    EXPECT_GT(each.since, both.now - 1h) << each.name;
  }
  // The times are those that the database has, in ms.
  sql("UPDATE foliot.heard h SET since = 5999999, seen = 7000000 FROM foliot.node n "
      "WHERE n.session = h.session AND n.name = 'a'");
  const nodes_answer old = execute_one(*b, list_nodes{});
  EXPECT_EQ(old.nodes.at(0), (listed_node{"a", utc_time(5ms), utc_time(7ms)}));
  EXPECT_EQ(sql("SELECT count(*) FROM foliot.node"), "2") << "a look ends no registration";
  // A registration that has ended may have a row, and no name.
  sql("UPDATE foliot.node SET name = NULL WHERE name = 'a'");
  EXPECT_EQ(names_in(execute_one(*b, list_nodes{})), std::vector<std::string>{"b"});
}

TEST_F(PostgresqlNodes, AfterAnOutageNoNodeIsTakenForDeadAtOnce) {
  const auto a = open("a");
  put_one(*a);
  const reservation token = claim_one(*a).token;
  auto fast = options("b");
  fast.node_timeout = 1s;
  postgresql_store b(fast);
  // All have been silent for hours.
  sql("UPDATE foliot.heard SET seen = seen - 36000000000000, since = since - 36000000000000");
  sql("UPDATE foliot.node SET timeout = 1000000000");
  for (std::int64_t seen = 0; seen == 0;) {  // until b has been heard of
    b.execute({});
    seen =
        std::stoll(sql("SELECT count(*) FROM foliot.heard h JOIN foliot.node n USING (session) WHERE n.name = 'b' "
                       "AND h.since > 1000000000 * extract(epoch FROM now() - interval '1 hour')"));
  }
  EXPECT_EQ(sql("SELECT count(*) FROM foliot.node"), "2");
  EXPECT_EQ(execute_one(*a, finish{token}).what, holder_answer::kind::done);
}

TEST_F(PostgresqlNodes, AnOlderProgramsVeryLongTimeoutDoesNotHarmTheOthers) {
  const auto other = open("other");
  sql("UPDATE foliot.node SET timeout = 9223372036854775807");
  const auto node = open("node");  // it sends a heartbeat at once, and looks at all nodes
  EXPECT_EQ(sql("SELECT count(*) FROM foliot.node"), "2");
}

TEST_F(PostgresqlNodes, TheEndOfATtrIsTheDatabases) {
  const auto a = open("a");
  const auto b = open("b");
  put_one(*a, "a", "x", 20ms);
  const reservation old = claim_one(*a).token;
  std::vector<claimed_job> got;
  while (got.empty()) {  // the node that has reserved a job ends its reservation
    a->execute({});
    got = execute_one(*b, claim{{"a"}}).jobs;
  }
  EXPECT_EQ(got[0].job.counters.timeouts, 1U);
  EXPECT_EQ(execute_one(*a, finish{old}).what, holder_answer::kind::not_held);
}

TEST_F(PostgresqlNodes, AConnectionThatBreaksIsMadeAgain) {
  const auto a = open("a");
  const job_id before = put_one(*a, "a", "before");
  sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'foliot'");
  const job_id after = put_one(*a, "a", "after");
  EXPECT_GT(after, before);
  EXPECT_EQ(execute_one(*a, count_all{}).counts.ready, 2U);
}

/// Else its jobs would be reserved until the others took it for dead.
TEST_F(PostgresqlNodes, AConnectionThatHasBrokenIsMadeAgainForTheEnd) {
  const auto other = open("other");
  const auto a = open("a");
  put_one(*a);
  static_cast<void>(claim_one(*a));
  sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'foliot'");
  a->close();
  EXPECT_EQ(sql("SELECT count(*) FROM foliot.node"), "1") << "that of the other node";
  EXPECT_EQ(execute_one(*other, count_all{}).counts.ready, 1U);
}

TEST_F(PostgresqlNodes, ADatabaseThatHasGoneIsUnavailableAndComesBack) {
  auto impatient = options("a");
  impatient.give_up_after = 50ms;
  postgresql_store a(impatient);
  put_one(a, "a", "kept");
  server_.crash();
  for (int i = 0; i < 2; ++i) {
    try {
      put_one(a, "a", "not put");
      ADD_FAILURE() << "a put succeeds without a database";
    } catch (const store_unavailable& error) {
      EXPECT_FALSE(error.is_in_doubt());
    }
  }
  server_.start();
  until_available([&] { put_one(a, "a", "put"); });
  EXPECT_EQ(execute_one(a, count_all{}).counts.ready, 2U);
}

TEST_F(PostgresqlNodes, GoOnWhereTheDatabaseChecksAssignments) {
  foliot_test::postgresql_connection(database_).sql(
      "LOAD 'plpgsql'; DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET plpgsql.extra_errors = %L', "
      "current_database(), "
      "'all'); END $$");
  const auto a = open("a");
  for (const milliseconds due : {0ms, milliseconds(1h)}) {
    const put keyed{.tube = "t", .key = "k", .body = "x", .due = due, .existing = on_existing::replace};
    EXPECT_EQ(execute_one(*a, keyed).what, put_answer::kind::inserted);
    EXPECT_EQ(execute_one(*a, keyed).what, put_answer::kind::replaced);
    EXPECT_EQ(execute_one(*a, reschedule{job_key{"t", "k"}, due}).what, change_answer::kind::done);
    EXPECT_EQ(execute_one(*a, cancel{job_key{"t", "k"}}).what, change_answer::kind::done);
  }
  foliot_test::postgresql_connection shop(database_);
  EXPECT_EQ(shop.sql("SELECT foliot.cancel(foliot.put('t', 'x'))"), "t");
}

TEST_F(PostgresqlNodes, WarnsOfADatabaseThatDoesNotSync) {
  const auto a = open("a");
  ASSERT_EQ(warnings_.size(), 1U);
  EXPECT_NE(warnings_[0].find("fsync"), std::string::npos) << warnings_[0];
}

}  // namespace
}  // namespace foliot::jobs
