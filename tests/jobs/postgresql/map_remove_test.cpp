// Databases that leave the map: one with a tube or a job is refused, running nodes leave it, and it may be added again.
#include <gtest/gtest.h>

#include <chrono>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <foliot/jobs/calls.hpp>
#include <foliot/jobs/database_map.hpp>
#include <foliot/jobs/postgresql_store.hpp>

#include "two_databases.hpp"

namespace foliot::jobs {
namespace {

using namespace std::chrono_literals;

/// Two databases, a node, and a tube that is in the second one.
class PostgresqlMapRemove : public foliot_test::two_databases {
 protected:
  PostgresqlMapRemove() {
    map_.add(second_);
    map_.move("t", 1);
  }
  job_id put_one(const std::string& tube = "t") { return execute_one(node_, put{.tube = tube, .body = "x"}).id; }
  std::uint64_t jobs() { return execute_one(node_, count_all{}).counts.all(); }
  template <class Refusal>
  void expect_refused(int number, const std::string& part) {
    const auto before = map_.databases();
    try {
      map_.remove(number);
      ADD_FAILURE() << "it is not refused, with " << part;
    } catch (const Refusal& error) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
    EXPECT_EQ(map_.databases(), before) << part;
  }
  static std::string sessions_in(const std::string& database) {
    return ask(database, "SELECT count(*) FROM foliot.node");
  }

  database_map map_{first_};
  std::vector<std::string> warnings_;
  postgresql_store node_{[this] {
    postgresql_options made = options("a");
    made.warn = [this](std::string_view sentence) { warnings_.emplace_back(sentence); };
    return made;
  }()};
};

TEST_F(PostgresqlMapRemove, OneThatHasATubeOrAJobIsKept) {
  expect_refused<std::invalid_argument>(0, "the database 0 has the map");
  expect_refused<std::invalid_argument>(2, "there is no database with the number 2");
  expect_refused<store_failure>(1, "the database 1 has tubes, such as t");
  put_one();
  expect_refused<store_failure>(1, "has jobs: move its tubes to another one first");
  const claimed_job held = execute_one(node_, claim{{"t"}}).jobs.at(0);
  map_.move("t", 0, [](const database_map::progress&) { return false; });
  expect_refused<store_failure>(1, "has jobs");
  execute_one(node_, finish{held.token});
  expect_refused<store_failure>(1, "the database 1 has tubes, such as t");  // the move has not ended
  map_.move("t", 0);
  map_.remove(1);
  expect_refused<std::invalid_argument>(1, "there is no database with the number 1");
}

TEST_F(PostgresqlMapRemove, NodesThatAreRunningLeaveIt) {
  put_one();
  map_.move("t", 0);
  EXPECT_EQ(jobs(), 1U);
  EXPECT_EQ(sessions_in(second_), "1");
  map_.remove(1);
  EXPECT_EQ(jobs(), 1U);
  EXPECT_EQ(sessions_in(second_), "0");
  EXPECT_EQ(node_.places().size(), 1U);
  shut(second_);
  put_one();
  EXPECT_EQ(jobs(), 2U);
  EXPECT_EQ(execute_one(node_, list_tubes{}).tubes, std::vector<std::string>{"t"});
  EXPECT_TRUE(node_.check());
  for (const std::string& each : warnings_) EXPECT_EQ(each.find("does not answer"), std::string::npos) << each;
}

TEST_F(PostgresqlMapRemove, OneThatIsDownForEverIsLeft) {
  map_.move("t", 0);
  shut(second_);
  map_.remove(1, true);
  put_one();  // by which the node learns of it
  EXPECT_EQ(jobs(), 1U) << "of the databases that there are";
  EXPECT_EQ(node_.places().size(), 1U);
}

TEST_F(PostgresqlMapRemove, ARenameAtTheSameTimeDoesNotBringItBack) {
  map_.move("t", 0);
  foliot_test::postgresql_connection removing(first_);
  removing.sql("BEGIN");
  removing.sql("SELECT foliot.remove_database(1::smallint)");
  std::string refusal;
  std::thread renaming([&] {
    try {
      database_map(first_).rename(1, second_ + " connect_timeout=3");
    } catch (const store_failure& error) {
      refusal = error.what();
    }
  });
  while (ask(first_, "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'foliot.map'::regclass") == "0") {
  }
  removing.sql("COMMIT");
  renaming.join();
  EXPECT_NE(refusal.find("the map has no database with the number 1"), std::string::npos) << refusal;
  EXPECT_TRUE(map_.databases().empty());
}

TEST_F(PostgresqlMapRemove, ItMayBeAddedAgain) {
  put_one();
  map_.move("t", 0);
  map_.remove(1);
  EXPECT_EQ(jobs(), 1U);
  EXPECT_EQ(map_.add(second_), 1);
  map_.move("t", 1);
  EXPECT_EQ(put_one() % 64, 1U);
  EXPECT_EQ(jobs(), 2U);
  EXPECT_EQ(execute_one(node_, claim{.tubes = {"t"}, .count = 9}).jobs.size(), 2U);
  EXPECT_EQ(sessions_in(second_), "1");
}

// The first one takes the pieces of both, and knows by their numbers which have come before.
TEST_F(PostgresqlMapRemove, ANewOneInItsPlaceIsAnotherOne) {
  for (int i = 0; i < 3; ++i) {
    put_one();
    map_.move("t", 0);
    map_.move("t", 1);
  }
  map_.move("t", 0);
  map_.remove(1);
  EXPECT_EQ(jobs(), 3U);
  const std::string name = name_of(second_);
  ask(server_database_, "DROP DATABASE " + name + " WITH (FORCE)");
  ask(server_database_, "CREATE DATABASE " + name);
  postgresql_store::migrate(second_);
  EXPECT_EQ(map_.add(second_), 2);
  map_.move("t", 2);
  EXPECT_EQ(put_one() % 64, 2U);
  map_.move("t", 0);
  EXPECT_EQ(jobs(), 4U);
  EXPECT_EQ(ask(first_, "SELECT count(*) FROM foliot.job"), "4");
}

}  // namespace
}  // namespace foliot::jobs
