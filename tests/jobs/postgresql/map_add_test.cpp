// Databases that are added to the map, and get another connection string: what is refused changes nothing.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <foliot/jobs/calls.hpp>
#include <foliot/jobs/database_map.hpp>
#include <foliot/jobs/postgresql_store.hpp>

#include "connection.hpp"
#include "jobs/kit/jobs.hpp"
#include "two_databases.hpp"

namespace foliot::jobs {
namespace {

using namespace std::chrono_literals;
using foliot_test::put_one;

class PostgresqlMapAdd : public foliot_test::two_databases {
 protected:
  /// The same database under another connection string.
  static std::string alias_of(const std::string& database) { return database + " application_name=alias"; }
  /// All that a database has stored about the map.
  static std::string stored_in(const std::string& database) {
    return ask(
        database,
        "SELECT concat_ws(' ', (SELECT m FROM foliot.map m), (SELECT array_agg(d ORDER BY d) FROM foliot.database d), "
        "(SELECT array_agg(p ORDER BY p) FROM foliot.tube_place p), "
        "(SELECT array_agg(a ORDER BY a) FROM foliot.away a), (SELECT s.increment_by FROM pg_sequences s WHERE "
        "s.schemaname = 'foliot' AND s.sequencename = 'job_id'))");
  }
  [[nodiscard]] std::vector<std::string> stored() const {
    return {stored_in(first_), stored_in(second_), stored_in(third_)};
  }
  /// Expects that something is refused with a sentence that has this part, and changes nothing in any database.
  template <class Function>
  void expect_refused(Function what, const std::string& part) const {
    const std::vector<std::string> before = stored();
    try {
      what();
      ADD_FAILURE() << "it is not refused, with " << part;
    } catch (const std::exception& error) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
    EXPECT_EQ(stored(), before) << part;
  }

  const std::string third_ = new_database();
};

TEST_F(PostgresqlMapAdd, ADatabaseIsAddedUnderOneName) {
  database_map map(first_);
  expect_refused([&] { map.add(alias_of(first_)); }, "is the first database itself");
  map.add(second_);
  const auto node = open("a");
  put_one(*node, "t");
  expect_refused([&] { map.add(alias_of(second_)); }, "is in the map already: it is the database 1, ");
  expect_refused([&] { map.add(alias_of(second_)); }, "use `foliot map … --rename 1 …`");
  EXPECT_EQ(map.databases().size(), 1U);
  put_one(*node, "t");
  EXPECT_EQ(execute_one(*node, count_all{}).counts.ready, 2U);
  EXPECT_EQ(execute_one(*open("b"), count_all{}).counts.ready, 2U);
}

TEST_F(PostgresqlMapAdd, ADatabaseOfAnotherMapIsNotAdded) {
  database_map(second_).add(third_);
  database_map map(first_);
  expect_refused([&] { map.add(third_); }, "is the database 1 of another map");
  expect_refused([&] { map.add(second_); }, "is the database 0 of another map");
  const std::string own = new_database();
  EXPECT_EQ(map.add(own), 1);
  expect_refused([&] { map.add(third_); }, "is the database 1 of another map");
  expect_refused([&] { map.rename(1, third_); }, "is not the database 1 of this map");
}

TEST_F(PostgresqlMapAdd, AnAddThatWasInterruptedGoesOn) {
  const auto node = open("a");
  database_map map(first_);
  const auto plan = [&](const std::string& connection) {
    return ask(first_, "SELECT foliot.plan_database('" + connection + "')");
  };
  const auto become = [&](const std::string& database, const std::string& number) {
    ask(database, "SELECT foliot.become_database(" + number + "::smallint, '" +
                      ask(first_, "SELECT m.id FROM foliot.map m") + "', 0)");
  };
  EXPECT_EQ(plan(second_), "1");
  EXPECT_TRUE(map.databases().empty()) << "nodes must not see it before it has its number";
  EXPECT_EQ(map.add(second_), 1);
  EXPECT_EQ(plan(third_), "2");
  become(third_, "2");
  expect_refused([&] { map.move("t", 2); }, "there is no database with the number 2");
  expect_refused([&] { ask(first_, "SELECT foliot.plan_move('t', 2::smallint)"); }, "no database with the number 2");
  EXPECT_EQ(map.add(alias_of(third_)), 2) << "what is stored in it says which one it is";
  EXPECT_EQ(map.databases().size(), 2U);
  EXPECT_EQ(map.databases().back().connection, alias_of(third_));
  map.move("two", 1);
  map.move("three", 2);
  EXPECT_EQ(put_one(*node, "two") % 64, 1U);
  EXPECT_EQ(put_one(*node, "three") % 64, 2U);
  EXPECT_EQ(execute_one(*node, count_all{}).counts.ready, 2U);
}

// It refuses between the look at it and the step that gives it its number, as with a put, or an add to another map.
TEST_F(PostgresqlMapAdd, ADatabaseThatRefusesItsNumberIsNotSeen) {
  const auto node = open("a");
  put_one(*node, "t");
  ask(second_,
      "CREATE FUNCTION foliot.refuse_it() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'too late' USING DETAIL = "
      "'secret'; END $$; "
      "CREATE TRIGGER refuse_it BEFORE UPDATE ON foliot.map EXECUTE FUNCTION foliot.refuse_it()");
  database_map map(first_);
  try {
    map.add(second_);
    ADD_FAILURE() << "a database was added that refuses its number";
  } catch (const store_failure& error) {
    EXPECT_NE(std::string(error.what()).find("too late"), std::string::npos) << error.what();
    EXPECT_EQ(std::string(error.what()).find("secret"), std::string::npos) << error.what();
  }
  EXPECT_TRUE(map.databases().empty());
  put_one(*node, "t");
  ask(second_, "DROP TRIGGER refuse_it ON foliot.map");
  EXPECT_EQ(map.add(second_), 1);
}

TEST_F(PostgresqlMapAdd, NoTubeMovesToADatabaseThatHasLostItsNumber) {
  database_map map(first_);
  map.add(second_);
  map.add(third_);
  map.move("three", 2);
  const auto node = open("a");
  put_one(*node, "t");
  for (const std::string& lost : {second_, third_}) ask(lost, "UPDATE foliot.map SET number = NULL, id = NULL");
  expect_refused([&] { ask(second_, "SELECT foliot.join('t', 0)"); }, "no tube can move to it");
  expect_refused([&] { map.move("t", 1); }, "is not the database 1 of this map");
  expect_refused([&] { map.add(second_); }, "is not the database 1 of this map");
  put_one(*node, "t");
  EXPECT_EQ(ask(first_, "SELECT count(*) FROM foliot.job"), "2");
  // Nor from it: jobs may have stayed in the database that has the number.
  EXPECT_THROW(map.move("three", 0), store_failure);
  EXPECT_EQ(map.places(), (std::vector<database_map::tube_place>{{"three", 0, 2}}));
}

TEST_F(PostgresqlMapAdd, TheConnectionStringOfADatabaseIsChanged) {
  database_map map(first_);
  map.add(second_);
  map.add(third_);
  map.move("t", 1);
  const auto node = open("a");
  put_one(*node, "t");
  expect_refused([&] { map.rename(1, third_); }, "is not the database 1 of this map");
  expect_refused([&] { map.rename(1, first_); }, "is not the database 1 of this map");
  expect_refused([&] { map.rename(3, second_); }, "there is no database with the number 3");
  expect_refused([&] { map.rename(0, alias_of(first_)); }, "each node gets its own, with --store");
  // Two strings are exchanged by way of a third one.
  ask(first_, "UPDATE foliot.database SET connection = '" + alias_of(second_) + "' WHERE number = 2");
  std::string refused;
  try {
    map.rename(1, alias_of(second_));
  } catch (const store_failure& error) {
    refused = error.what();
  }
  EXPECT_NE(refused.find("has this connection string for the database 2: give that another one first"),
            std::string::npos)
      << refused;
  EXPECT_EQ(refused.find("alias"), std::string::npos) << refused;
  map.rename(2, third_);
  map.rename(1, alias_of(second_));
  ASSERT_EQ(map.databases().size(), 2U);
  EXPECT_EQ(map.databases()[0].connection, alias_of(second_));
  EXPECT_EQ(map.add(alias_of(second_)), 1);
  put_one(*node, "t");
  EXPECT_EQ(execute_one(*open("b"), count_tube{"t"}).counts.ready, 2U);
  map.move("t", 0);
  EXPECT_EQ(execute_one(*node, count_tube{"t"}).counts.ready, 2U);
}

TEST_F(PostgresqlMapAdd, NodesThatAreRunningUseANewStringForTheirNextConnections) {
  database_map map(first_);
  map.add(second_);
  map.move("t", 1);
  const auto node = open("a");
  put_one(*node, "t");
  map.rename(1, alias_of(second_));
  put_one(*node, "of the first database");  // which tells the node that the map has changed
  const auto connections = [&] {
    return ask(server_database_, "SELECT string_agg(application_name, ' ') FROM pg_stat_activity WHERE datname = '" +
                                     name_of(second_) + "' AND application_name IN ('foliot', 'alias')");
  };
  while (connections() != "foliot foliot") {  // that for news may come later
  }
  shut(second_);
  open_again(second_);
  while (connections() != "alias alias") put_one(*node, "t");
  EXPECT_EQ(ask(second_, "SELECT count(*) FROM foliot.node"), "1") << "it is the same session";
}

}  // namespace
}  // namespace foliot::jobs
