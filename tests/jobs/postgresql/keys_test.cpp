// Batches that name jobs by their keys, of several nodes: they take turns once one has waited for another in vain.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <thread>
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

class PostgresqlKeys : public foliot_test::postgresql_database {
 protected:
  bool are_turns_taken() { return sql("SELECT foliot.are_turns_taken()") == "t"; }
};

/// How often a test does what depends on the speed of the machine.
constexpr int tries = 100;

put keyed(const std::string& key) {
  put made{.tube = "a", .body = "x"};
  made.key = key;
  made.existing = on_existing::replace;
  return made;
}

TEST_F(PostgresqlKeys, ABatchThatHasWaitedInVainBeginsTurns) {
  postgresql_store node(options("a"));
  execute_one(node, keyed("k"));
  EXPECT_FALSE(are_turns_taken());
  postgresql_connection application(database_);
  application.sql("BEGIN");
  application.sql("SELECT id FROM foliot.job FOR UPDATE");
  std::vector<operation> batch{keyed("k"), keyed("free")};
  const execution done = node.execute(batch);
  EXPECT_EQ(sql("SELECT is_called FROM foliot.turns_until"), "t") << "turns began";
  EXPECT_FALSE(are_turns_taken()) << "they were no help";
  EXPECT_TRUE(std::holds_alternative<passed_over_answer>(done.answers.at(0))) << "an application has it";
  EXPECT_TRUE(std::holds_alternative<put_answer>(done.answers.at(1)));
}

// Two batches could each have one of the keys, and wait for the other. On a busy machine the lock may be released too
// late.
TEST_F(PostgresqlKeys, ABatchInItsTurnThatGetsItsLocksIsExecuted) {
  bool is_executed = false;
  for (int i = 0; i < tries && !is_executed; ++i) {
    sql("SELECT foliot.set_turns(0)");
    postgresql_store node(options("a"));
    execute_one(node, keyed("k"));
    std::optional<postgresql_connection> locks(database_);
    locks->sql("BEGIN");
    locks->sql("SELECT id FROM foliot.job FOR UPDATE");
    std::vector<operation> batch{keyed("k")};
    execution done;
    std::thread waits([&] { done = node.execute(batch); });
    while (!are_turns_taken()) {
    }
    locks.reset();
    waits.join();
    const auto* const got = std::get_if<put_answer>(&done.answers.at(0));
    is_executed = got != nullptr && got->what == put_answer::kind::replaced && are_turns_taken();
  }
  EXPECT_TRUE(is_executed);
}

TEST_F(PostgresqlKeys, ABatchWhoseTurnDoesNotComeGoesWithout) {
  postgresql_store node(options("a"));
  sql("SELECT foliot.set_turns(60000)");
  postgresql_connection stopped(database_);
  stopped.sql("BEGIN");
  stopped.sql("SELECT foliot.wait_for_turn()");
  EXPECT_EQ(execute_one(node, keyed("k")).what, put_answer::kind::inserted);
  EXPECT_TRUE(are_turns_taken());
}

TEST_F(PostgresqlKeys, TurnsAreForNodesAndEnd) {
  sql("DROP ROLE IF EXISTS foliot_turns");
  sql("CREATE ROLE foliot_turns LOGIN");
  sql("GRANT USAGE ON SCHEMA foliot TO foliot_turns");
  {
    postgresql_connection limited(database_ + " user=foliot_turns");
    EXPECT_NE(limited.error_of("SELECT foliot.set_turns(60000)").find("permission denied"), std::string::npos);
  }
  sql("SELECT foliot.set_turns(60000)");
  EXPECT_TRUE(are_turns_taken());
  sql("SELECT foliot.set_turns(0)");
  EXPECT_FALSE(are_turns_taken());
  sql("SELECT setval('foliot.turns_until', (extract(epoch FROM now()) * 1000)::bigint + 86400000)");
  EXPECT_FALSE(are_turns_taken()) << "a clock was wrong";
  sql("DROP OWNED BY foliot_turns");
  sql("DROP ROLE foliot_turns");
}

TEST_F(PostgresqlKeys, ABatchWithoutKeysBeginsNone) {
  postgresql_store node(options("a"));
  const job_id id = execute_one(node, put{.tube = "a", .body = "x"}).id;
  postgresql_connection application(database_);
  application.sql("BEGIN");
  application.sql("SELECT id FROM foliot.job FOR UPDATE");
  std::vector<operation> batch{cancel{id}};
  EXPECT_TRUE(std::holds_alternative<passed_over_answer>(node.execute(batch).answers.at(0)));
  EXPECT_FALSE(are_turns_taken());
}

// A batch waits for a while only, which may be over before this looks.
TEST_F(PostgresqlKeys, InTurnsABatchWithKeysWaitsForTheOneBefore) {
  sql("SELECT foliot.set_turns(60000)");
  bool has_waited = false;
  for (int i = 0; i < tries && !has_waited; ++i) {
    postgresql_store node(options("a"));
    postgresql_connection before(database_);
    before.sql("BEGIN");
    before.sql("SELECT foliot.wait_for_turn()");
    execute_one(node, put{.tube = "a", .body = "x"});  // has no key, and does not wait
    std::atomic<bool> is_done = false;
    std::thread waits([&] {
      execute_one(node, keyed("k"));
      is_done = true;
    });
    while (!is_done && !has_waited) {
      has_waited = sql("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted") != "0";
    }
    waits.join();
  }
  EXPECT_TRUE(has_waited);
}

TEST_F(PostgresqlKeys, InTurnsJobsAreLockedInTheOrderOfTheirIds) {
  postgresql_store node(options("a"));
  std::string ids;
  for (const char* const key : {"c", "a", "b"}) {
    ids += (ids.empty() ? "" : ",") + std::to_string(execute_one(node, keyed(key)).id);
  }
  EXPECT_EQ(sql("SELECT foliot.with_keyed('{}', '{a,a,a,a,b}', '{a,b,c,none,a}')"), "{" + ids + "}");
  EXPECT_EQ(sql("SELECT foliot.with_keyed('{" + ids + "}', '{a}', '{c}')"), "{" + ids + "}");
}

// Without turns, nearly each batch of these waits for a lock in vain.
TEST_F(PostgresqlKeys, NodesThatPutTheSameKeysInOppositeOrdersGoOn) {
  constexpr int keys = 6;
  constexpr int batches = 60;
  const auto work = [this](const std::string& name, bool up) {
    postgresql_store node(options(name));
    for (int i = 0; i < batches; ++i) {
      std::vector<operation> batch;
      for (int key = 0; key < keys; ++key) batch.emplace_back(keyed(std::to_string(up ? key : keys - 1 - key)));
      batch.emplace_back(claim{{"a"}});
      execution done = node.execute(batch);
      for (const claimed_job& each : std::get<claim_answer>(done.answers.back()).jobs) {
        execute_one(node, finish{each.token});
      }
    }
  };
  std::thread other([&] { work("b", false); });
  work("a", true);
  other.join();
  postgresql_store judge(options("judge"));
  const check_result found = judge.check();
  EXPECT_TRUE(found) << found.error();
  EXPECT_EQ(execute_one(judge, count_all{}).counts.reserved, 0U);
}

// By SQL: it does not look at every job that has a key.
TEST_F(PostgresqlKeys, AJobIsFoundByTheIndexOfKeys) {
  sql("SELECT foliot.put('mails', 'x', delay => '1 h', key => 'k' || i) FROM generate_series(1, 100) i");
  sql("BEGIN");
  sql("SET LOCAL track_functions = 'all'");
  EXPECT_EQ(sql("SELECT foliot.cancel_by_key('mails', 'k77')"), "t");
  EXPECT_LT(std::stoi(sql("SELECT sum(calls) FROM pg_stat_xact_user_functions "
                          "WHERE funcname IN ('checked_key', 'checked_tube', 'tube_id')")),
            20);
  sql("COMMIT");
}

}  // namespace
}  // namespace foliot::jobs
