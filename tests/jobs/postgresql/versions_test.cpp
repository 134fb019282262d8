// Versions of jobs in the database: how they are computed, what happens beside an operation that expects one, and moves
// between databases.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <foliot/jobs/calls.hpp>
#include <foliot/jobs/database_map.hpp>
#include <foliot/jobs/postgresql_store.hpp>

#include "clock_node.hpp"
#include "connection.hpp"
#include "database.hpp"
#include "one_node.hpp"
#include "two_databases.hpp"

namespace foliot::jobs {
namespace {

using namespace std::chrono_literals;
using foliot_test::postgresql_connection;
using change = change_answer::kind;

class PostgresqlVersions : public foliot_test::postgresql_one_node {
 protected:
  [[nodiscard]] job_version version_of(const job_name& name) { return execute_one(*node_, peek{name, false}).version; }
  [[nodiscard]] answer run(operation what) { return node_->execute(std::span(&what, 1)).answers.at(0); }
  [[nodiscard]] static put replacing(job_version expected) {
    return {.tube = "t", .key = "k", .body = "new", .existing = on_existing::replace, .expected = expected};
  }
};

/// Clients have versions of jobs while the program is replaced by a later one.
TEST_F(PostgresqlVersions, AreTheSameInEachProgram) {
  const auto version = [this](const std::string& state, const std::string& expires) {
    return sql("SELECT foliot.version_of('(1,7,3,4,5,6,7,8,9,10)'::foliot.place, " + state + ", " + expires + ")");
  };
  EXPECT_EQ(version("0", "NULL"), "5123628147075325027");
  EXPECT_EQ(version("1", "NULL"), "5123628147075325027") << "whether the due time has come";
  EXPECT_EQ(version("2", "11"), "8450547356923709449");
  EXPECT_EQ(version("3", "NULL"), "3502103190466888442");
}

/// A claim goes without the lock of the job, so the row that it would move is locked until the change has been made.
TEST_F(PostgresqlVersions, NoClaimComesBetweenTheComparisonAndTheChange) {
  const job_id id = execute_one(*node_, put{.tube = "t", .body = "x", .ttr = 1h}).id;
  postgresql_connection changing(database_);
  changing.sql("BEGIN");
  EXPECT_EQ(changing.sql("SELECT foliot.lock_version(" + std::to_string(id) + ", 0)"), std::to_string(version_of(id)));
  EXPECT_TRUE(execute_one(*node_, claim{{"t"}}).jobs.empty());
  changing.sql("COMMIT");
  EXPECT_EQ(execute_one(*node_, claim{{"t"}}).jobs.size(), 1U);
}

TEST_F(PostgresqlVersions, AnOperationWhoseJobIsLockedIsPassedOver) {
  const job_id id = execute_one(*node_, put{.tube = "t", .key = "k", .body = "x"}).id;
  const job_version version = version_of(id);
  postgresql_connection shop(database_);
  shop.sql("BEGIN");
  shop.sql("SELECT FROM foliot.job WHERE id = " + std::to_string(id) + " FOR UPDATE");
  std::vector<operation> batch{cancel{id, version}, fire_now{job_key{"t", "k"}, version}, replacing(version),
                               replacing(version + 1)};
  for (const answer& each : node_->execute(batch).answers)
    EXPECT_TRUE(std::holds_alternative<passed_over_answer>(each));
  shop.sql("COMMIT");
  EXPECT_EQ(version_of(id), version);
  EXPECT_EQ(execute_one(*node_, cancel{id, version}).what, change::done);
  expect_right();
}

/// The functions for a batch that does not fail as a whole answer as the others do.
TEST_F(PostgresqlVersions, BothFormsOfAFunctionAnswerAlike) {
  const std::string id = std::to_string(execute_one(*node_, put{.tube = "t", .key = "k", .body = "x", .due = 1h}).id);
  for (const char* function : {"change_waiting_if", "change_waiting_if_or_pass"}) {
    const std::string version = std::to_string(version_of(job_key{"t", "k"}));
    const auto reschedule = [&](const std::string& job, const std::string& expected) {
      return sql(std::string("SELECT foliot.") + function + "(NULL, '{1}', '{" + job +
                 "}', '{\"\"}', '{\"\"}', '{1}', " + "(SELECT ARRAY[d.due] FROM foliot.delayed d), '{" + expected +
                 "}')");
    };
    EXPECT_EQ(reschedule(id, "5"), "{5," + id + "," + version + "}") << function;
    EXPECT_EQ(reschedule("1000000", "5"), "{3,0,0}") << function;
    EXPECT_EQ(reschedule(id, "0"), "{0," + id + ",0}") << function;
  }
  const std::string rest = "'{1}', '{0}', '{0}', '{60000}', '{1}', '{\"\"}', '{\"\"}', ";
  for (const char* function : {"put_keyed_if", "put_if_or_pass"}) {
    const std::string key = function;
    const auto put_if = [&](const std::string& expected) {
      return sql("SELECT foliot." + key + "(NULL, '{u}', '{" + key + "}', '{y}', " + rest + "'{" + expected + "}')");
    };
    EXPECT_EQ(put_if("5"), "{6,0,0}");
    EXPECT_EQ(put_if("0").substr(0, 3), "{0,");
    const std::string present = std::to_string(version_of(job_key{"u", key}));
    const std::string refused = put_if("5");
    EXPECT_EQ(refused.substr(0, 3), "{6,");
    EXPECT_EQ(refused.substr(refused.rfind(',') + 1), present + "}");
    EXPECT_EQ(put_if(present).substr(0, 3), "{2,");
  }
  expect_right();
}

/// A change by key meets a job that is replaced, or cancelled, while it waits for the lock. Its own connection does not
/// time out, so it waits as long as the other one takes.
TEST_F(PostgresqlVersions, AChangeByKeyComparesTheJobThatIsThereNow) {
  const std::string rest = "'{1}', '{0}', '{0}', '{60000}', '{1}', '{\"\"}', '{\"\"}', ";
  const std::vector<std::pair<std::string, std::string>> changes{
      {"SELECT foliot.change_waiting_if(NULL, '{0}', '{0}', '{t}', '{k}', '{0}', '{0}', ", "5"},
      {"SELECT foliot.put_keyed_if(NULL, '{t}', '{k}', '{y}', " + rest, "6"}};
  postgresql_connection shop(database_);
  postgresql_connection changing(database_);
  for (const auto& [change_if, other_version] : changes) {
    SCOPED_TRACE(change_if);
    const job_id first = execute_one(*node_, put{.tube = "t", .key = "k", .body = "x"}).id;
    const std::string change = change_if + "'{" + std::to_string(version_of(first)) + "}')";
    shop.sql("BEGIN");
    const std::string second = shop.sql("SELECT foliot.put('t', 'y', key => 'k', existing => 'replace')");
    changing.send(change);
    foliot_test::until_a_lock_is_awaited(other_, "query LIKE '%_if(%'");
    shop.sql("COMMIT");
    const std::string present = std::to_string(version_of(job_key{"t", "k"}));
    EXPECT_EQ(changing.finish(), "{" + other_version + "," + second + "," + present + "}");
    shop.sql("BEGIN");
    EXPECT_EQ(shop.sql("SELECT foliot.cancel_by_key('t', 'k')"), "t");
    changing.send(change);
    foliot_test::until_a_lock_is_awaited(other_, "query LIKE '%_if(%'");
    shop.sql("COMMIT");
    EXPECT_EQ(changing.finish(), other_version == "5" ? "{3,0,0}" : "{6,0,0}") << "the key has no job";
  }
  expect_right();
}

/// What an application, or a node of version 1 of the schema, does to a job changes its version, too.
TEST_F(PostgresqlVersions, ChangesOfOthersCount) {
  const job_id id = execute_one(*node_, put{.tube = "t", .body = "x", .due = 1h, .ttr = 1h}).id;
  const job_version version = version_of(id);
  sql("SELECT foliot.reschedule(" + std::to_string(id) + ", interval '0')");
  EXPECT_EQ(execute_one(*node_, cancel{id, version}).what, change::other_version);
  const job_version ready = version_of(id);
  EXPECT_EQ(sql("SELECT count(*) FROM foliot.claim((SELECT n.session FROM foliot.node n), 1, NULL, '{t}', 1, NULL)"),
            "1");
  EXPECT_EQ(execute_one(*node_, cancel{id, ready}).what, change::other_version);
  EXPECT_EQ(execute_one(*node_, cancel{id, version_of(id)}).what, change::reserved);
}

/// A finish has taken the row of the reservation, and waits for the row of the job, which the change has: the change
/// must not wait for it in turn.
TEST_F(PostgresqlVersions, AChangeDoesNotWaitForAFinish) {
  const job_id id = execute_one(*node_, put{.tube = "t", .body = "x", .ttr = 1h}).id;
  EXPECT_EQ(execute_one(*node_, claim{{"t"}}).jobs.size(), 1U);
  const job_version version = version_of(id);
  postgresql_connection finishing(database_);
  finishing.sql("BEGIN");
  finishing.sql("DELETE FROM foliot.reserved WHERE id = " + std::to_string(id));  // as finish() begins
  EXPECT_EQ(run(cancel{id, version}), answer(change_answer{change::reserved, id}));
  EXPECT_EQ(run(cancel{id, version + 1}), answer(change_answer{change::other_version, id, version}));
  finishing.sql("DELETE FROM foliot.job WHERE id = " + std::to_string(id));
  finishing.sql("COMMIT");
  EXPECT_EQ(execute_one(*node_, cancel{id, version}).what, change::gone);
}

class PostgresqlVersionsOfTwoNodes : public foliot_test::postgresql_clock_node {};

/// Only the node that has given a reservation ends it for all: until then others see the job as reserved, and may
/// change it.
TEST_F(PostgresqlVersionsOfTwoNodes, ALookShowsTheVersionThatAChangeAccepts) {
  postgresql_options with = foliot_test::options_of(for_nodes_, "b");
  with.clocks = store_clocks{&wall_, &time_};
  postgresql_store other(with);
  for (const bool by_key : {false, true}) {
    SCOPED_TRACE(by_key);
    const job_id id = execute_one(*node_, put{.tube = "t", .key = "k", .body = "x", .ttr = 1min}).id;
    const job_name name = by_key ? job_name(job_key{"t", "k"}) : job_name(id);
    const std::vector<claimed_job> got = execute_one(*node_, claim{{"t"}}).jobs;
    ASSERT_EQ(got.size(), 1U);
    const job_version held = execute_one(other, peek{name, false}).version;
    EXPECT_EQ(execute_one(other, cancel{name, held}), (change_answer{change::reserved, id}));
    time_.advance(2min);
    const peek_answer seen = execute_one(other, peek{name, false});
    ASSERT_TRUE(seen.job);
    EXPECT_EQ(seen.job->state, job_state::reserved) << "its node has not ended it yet";
    EXPECT_NE(seen.version, held);
    EXPECT_EQ(execute_one(other, cancel{name, held}), (change_answer{change::other_version, id, seen.version}));
    EXPECT_EQ(execute_one(other, cancel{name, seen.version}), (change_answer{change::done, id}));
    EXPECT_EQ(execute_one(*node_, finish{got[0].token}).what, holder_answer::kind::not_held);
  }
  expect_right();
}

class PostgresqlVersionsMoved : public foliot_test::two_databases {};

TEST_F(PostgresqlVersionsMoved, AMoveKeepsThem) {
  database_map(first_).add(second_);
  const auto node = open("n");
  std::vector<job_id> ids{execute_one(*node, put{.tube = "t", .key = "k", .body = "x"}).id,
                          execute_one(*node, put{.tube = "t", .body = "x", .due = 1h}).id,
                          execute_one(*node, put{.tube = "t", .body = "x"}).id};
  execute_one(*node, bury{execute_one(*node, claim_job{ids[2]}).jobs.at(0).token, 5U});
  std::vector<job_version> versions;
  for (const job_id id : ids) versions.push_back(execute_one(*node, peek{id}).version);
  database_map(first_).move("t", 1);
  EXPECT_EQ(ask(second_, "SELECT count(*) FROM foliot.job"), "3");
  for (std::size_t i = 0; i < ids.size(); ++i) {
    EXPECT_EQ(execute_one(*node, peek{ids[i]}).version, versions[i]) << i;
    EXPECT_EQ(execute_one(*node, cancel{ids[i], versions[i] + 1}),
              (change_answer{change::other_version, ids[i], versions[i]}));
  }
  put replacing{.tube = "t", .key = "k", .body = "new", .existing = on_existing::replace, .expected = versions[0] + 1};
  EXPECT_EQ(execute_one(*node, replacing), (put_answer{put_answer::kind::other_version, ids[0], versions[0]}));
  replacing.expected = versions[0];
  EXPECT_EQ(execute_one(*node, replacing).what, put_answer::kind::replaced);
  EXPECT_EQ(execute_one(*node, fire_now{ids[1], versions[1]}).what, change::done);
  EXPECT_EQ(execute_one(*node, kick_job{ids[2], versions[2]}).what, change::done);
  EXPECT_EQ(execute_one(*node, cancel{ids[2], versions[2]}).what, change::other_version);
  replacing.key = "none";
  EXPECT_EQ(execute_one(*node, replacing), (put_answer{put_answer::kind::other_version, 0, 0}));
}

}  // namespace
}  // namespace foliot::jobs
