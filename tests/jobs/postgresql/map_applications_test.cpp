// Applications that put jobs in transactions of their own, where there are several databases or one is just added.
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>

#include <foliot/jobs/calls.hpp>
#include <foliot/jobs/database_map.hpp>
#include <foliot/jobs/postgresql_store.hpp>

#include "connection.hpp"
#include "jobs/postgresql/retrying_connection.hpp"
#include "jobs/postgresql/statements.hpp"
#include "two_databases.hpp"

namespace foliot::jobs {
namespace {

using namespace std::chrono_literals;
using application = foliot_test::postgresql_connection;

class PostgresqlMapApplications : public foliot_test::two_databases {
 protected:
  static std::string error_of(const std::string& database, const std::string& statement) {
    return application(database).error_of(statement);
  }
  static ::testing::AssertionResult says(const std::string& text, const std::string& part) {
    if (text.find(part) != std::string::npos) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << '"' << text << "\" does not say \"" << part << '"';
  }
  /// Puts a job, and leaves the transaction open. The tube is known before, for others would wait for who makes it.
  static void begin_with_put(application& by, const std::string& tube) {
    by.sql("SELECT foliot.put('" + tube + "', 'x')");
    by.sql("BEGIN");
    by.sql("SELECT foliot.put('" + tube + "', 'x')");
  }
  /// Waits until another connection to this database waits for a lock in a statement with this text.
  static void until_it_waits(const std::string& database, const std::string& text) {
    application over(database);
    foliot_test::until_a_lock_is_awaited(over, "query LIKE '%" + text + "%' AND pid <> pg_backend_pid()");
  }
  /// What a put by another application says, which waits for a second at most; empty: nothing.
  static std::string refusal_of_put(const std::string& database, const std::string& tube) {
    application over(database);
    over.sql("SET lock_timeout = '1s'");
    return over.error_of("SELECT foliot.put('" + tube + "', 'x')");
  }
};

TEST_F(PostgresqlMapApplications, AnAddThatWaitsForATransactionHoldsUpNoPut) {
  database_map map(first_);
  application shop(first_);
  begin_with_put(shop, "t");
  auto adding = std::async(std::launch::async, [&] { return map.add(second_); });
  for (int i = 0; i < 3; ++i) {
    until_it_waits(first_, "foliot.plan_database(");
    EXPECT_EQ(refusal_of_put(first_, "t"), "");
  }
  EXPECT_EQ(adding.wait_for(0s), std::future_status::timeout);
  shop.sql("COMMIT");
  EXPECT_EQ(adding.get(), 1);
  EXPECT_EQ(ask(first_, "SELECT foliot.put('t', 'x')::bigint % 64"), "0");
}

// The database to which the tube moves has given lower ids, and an application has just put a job there.
TEST_F(PostgresqlMapApplications, AMoveDoesNotWaitForTransactionsAtItsTarget) {
  database_map map(first_);
  map.add(second_);
  map.move("there", 1);
  const std::string highest = ask(first_, "SELECT max(foliot.put('t', 'x')) FROM generate_series(1, 100)");
  application shop(second_);
  begin_with_put(shop, "there");
  auto moving = std::async(std::launch::async, [&] { map.move("t", 1); });
  EXPECT_EQ(moving.wait_for(20s), std::future_status::ready);
  shop.sql("COMMIT");
  moving.get();
  application other(second_);
  EXPECT_EQ(other.sql("SELECT min(foliot.put(t, 'x')) > " + highest + " FROM unnest('{t,there}'::text[]) t"), "t");
  EXPECT_EQ(other.sql("SELECT foliot.put('t', 'x') % 64"), "1");
}

// Of those that are nowhere else, all are in the first database, also new ones.
TEST_F(PostgresqlMapApplications, APutIntoATubeOfTheFirstDatabaseIsRefusedElsewhere) {
  const auto node = open("n", 5s);
  database_map map(first_);
  map.add(second_);
  map.move("moved", 1);
  const std::string elsewhere = "is in another database: this one has only the tubes that were moved to it";
  for (const std::string& call : {std::string("put('t', 'x')"), std::string("put('t', 'x', key => 'k')"),
                                  std::string("cancel_by_key('t', 'k')")}) {
    EXPECT_TRUE(says(error_of(second_, "SELECT foliot." + call), "the tube t " + elsewhere)) << call;
    EXPECT_EQ(error_of(first_, "SELECT foliot." + call), "") << call;
  }
  EXPECT_EQ(error_of(second_, "SELECT foliot.put('moved', 'x', key => 'k')"), "");
  EXPECT_TRUE(says(error_of(first_, "SELECT foliot.put('moved', 'x')"), "another database, the one with the number 1"));
  map.move("t", 1);
  EXPECT_EQ(error_of(second_, "SELECT foliot.put('t', 'x', key => 'k')"), "");
  map.move("moved", 0);
  EXPECT_TRUE(says(error_of(second_, "SELECT foliot.put('moved', 'x')"), elsewhere));
  EXPECT_EQ(error_of(first_, "SELECT foliot.put('moved', 'x')"), "");
  EXPECT_EQ(execute_one(*node, count_tube{"t"}).counts.ready, 2U);
  EXPECT_EQ(execute_one(*node, count_tube{"moved"}).counts.ready, 2U);
}

// The first database has given all ids up to 100. A node puts a job where the tube moves, before it has come there.
TEST_F(PostgresqlMapApplications, ANewDatabaseGivesNoIdThatTheFirstOneHasGiven) {
  ask(first_, "SELECT count(foliot.put('t', 'x')) FROM generate_series(1, 100)");
  database_map map(first_);
  map.add(second_);
  ask(first_, "SELECT foliot.plan_move('t', 1::smallint)");
  const job_id made = execute_one(*open("n", 5s), put{.tube = "t", .body = "y"}).id;
  EXPECT_EQ(made % 64, 1U);
  EXPECT_GT(made, 100U);
  map.move("t", 1);
  EXPECT_EQ(ask(second_, "SELECT count(*) FROM foliot.job"), "101");
}

TEST_F(PostgresqlMapApplications, ADatabaseIsNotAddedWithTheJobOfAnOpenTransaction) {
  ask(second_, "ALTER FUNCTION foliot.become_database SET lock_timeout = '1min'");
  for (int i = 0; i < 2; ++i) {  // with its first job, and the tube, and the next one
    application shop(second_);
    shop.sql("BEGIN");
    shop.sql("SELECT foliot.put('t', 'x')");
    application operators(second_);
    operators.send("SELECT foliot.become_database(1::smallint, gen_random_uuid(), 0)");
    until_it_waits(second_, "foliot.become_database(");
    shop.sql("COMMIT");
    EXPECT_TRUE(says(operators.finish(), "this database has jobs"));
    EXPECT_EQ(ask(second_, "SELECT m.number FROM foliot.map m"), "NULL");
    ask(second_, "TRUNCATE foliot.job, foliot.ready");
  }
}

TEST_F(PostgresqlMapApplications, APutThatWaitsForTheAddOfItsDatabaseIsRefused) {
  for (const std::string& level : {std::string("READ COMMITTED"), std::string("REPEATABLE READ")}) {
    const std::string added = new_database();
    application operators(added);
    operators.sql("BEGIN");
    operators.sql("SELECT foliot.become_database(1::smallint, gen_random_uuid(), 0)");
    application shop(added);
    shop.sql("BEGIN ISOLATION LEVEL " + level);
    shop.sql("SELECT count(*) FROM pg_class");
    shop.send("SELECT foliot.put('t', 'x')");
    until_it_waits(added, "foliot.put(");
    operators.sql("COMMIT");
    const bool is_refused_for_the_tube = level == "READ COMMITTED";
    EXPECT_TRUE(says(shop.finish(), is_refused_for_the_tube ? "in another database" : "must be READ COMMITTED"));
    shop.sql("COMMIT");
    EXPECT_EQ(ask(added, "SELECT count(*) FROM foliot.job"), "0");
  }
}

TEST_F(PostgresqlMapApplications, AJobThatMayBeElsewhereIsNotSaidToBeGone) {
  const auto change = [&](const std::string& in, const std::string& id) {
    const std::string error = error_of(in, "SELECT foliot.cancel(" + id + ")");
    const std::string other = error_of(in, "SELECT foliot.reschedule(" + id + ", '1 h')");
    EXPECT_EQ(error.empty(), other.empty());
    return error.empty() ? ask(in, "SELECT foliot.cancel(" + id + ")") : error;
  };
  const std::string may_be = "and may be in another one";
  EXPECT_EQ(change(first_, "17"), "f") << "it is the only database";
  database_map map(first_);
  map.add(second_);
  const std::string staying = ask(first_, "SELECT foliot.put('stays', 'x')");
  EXPECT_EQ(ask(first_, "SELECT foliot.cancel(" + staying + ")"), "t");
  EXPECT_EQ(change(first_, staying), "f") << "no job has left this database";
  EXPECT_TRUE(says(change(first_, "65"), may_be));
  const std::string moved = ask(first_, "SELECT foliot.put('t', 'x', key => 'k')");
  map.move("t", 1);
  EXPECT_TRUE(says(change(first_, moved), may_be));
  EXPECT_TRUE(says(error_of(first_, "SELECT foliot.cancel_by_key('t', 'k')"), "the one with the number 1"));
  EXPECT_EQ(ask(second_, "SELECT foliot.reschedule(" + moved + ", '1 h')"), "t");
  EXPECT_EQ(ask(second_, "SELECT foliot.cancel(" + moved + ")"), "t");
  EXPECT_EQ(ask(second_, "SELECT foliot.cancel_by_key('t', 'k')"), "f");
}

// The first database gave ids with any remainder by 64 while it was the only one.
TEST_F(PostgresqlMapApplications, AJobFromTheTimeOfOneDatabaseIsNotSaidToBeGone) {
  const std::string id = ask(first_, "SELECT foliot.put('t', 'x')");
  ASSERT_EQ(id, "1");
  database_map(first_).add(second_);
  for (const char* const call : {"SELECT foliot.cancel(1)", "SELECT foliot.reschedule(1)"}) {
    EXPECT_TRUE(says(error_of(second_, call), "the job 1 is not in this database, and may be in another one")) << call;
  }
  EXPECT_EQ(ask(second_, "SELECT foliot.cancel(foliot.job_id.last_value) FROM foliot.job_id"), "f");
  EXPECT_EQ(ask(first_, "SELECT foliot.cancel(1)"), "t");
  EXPECT_EQ(ask(first_, "SELECT foliot.cancel(0)"), "f");
}

TEST_F(PostgresqlMapApplications, AStepThatHasWaitedLongSaysWhatFor) {
  application shop(first_);
  begin_with_put(shop, "t");
  detail::retrying_connection impatient(first_, 200ms);
  try {
    impatient.run(detail::call(detail::statements::plan_database).add(std::string_view(second_)));
    ADD_FAILURE() << "it does not wait";
  } catch (const store_failure& error) {
    EXPECT_TRUE(says(error.what(), "an application that has put jobs: the step has changed nothing"));
  }
  EXPECT_EQ(ask(first_, "SELECT count(*) FROM foliot.database"), "0");
}

TEST_F(PostgresqlMapApplications, AStepGivesUpADatabaseSoonThatItNeverReached) {
  shut(second_);
  detail::retrying_connection step(second_, 1h, 100ms);
  EXPECT_THROW(step.run(detail::call(detail::statements::identity)), store_failure);
  open_again(second_);
  EXPECT_EQ(step.run(detail::call(detail::statements::identity)).rows(), 1);
}

}  // namespace
}  // namespace foliot::jobs
