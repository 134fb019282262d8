// Several databases of which one is in trouble: what the others, and the reservations in them, notice of it.
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <future>
#include <set>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include <foliot/core/virtual_clock.hpp>
#include <foliot/jobs/calls.hpp>
#include <foliot/jobs/database_map.hpp>
#include <foliot/jobs/postgresql_store.hpp>
#include <foliot/jobs/store_clocks.hpp>

#include "broken_node.hpp"
#include "connection.hpp"
#include "jobs/kit/jobs.hpp"
#include "once_keys.hpp"
#include "two_databases.hpp"

namespace foliot::jobs {
namespace {

using namespace std::chrono_literals;
using foliot_test::postgresql_connection;

/// Two databases, of which the second one has the tube "two".
class PostgresqlMapOutage : public foliot_test::two_databases {
 protected:
  PostgresqlMapOutage() {
    database_map map(first_);
    map.add(second_);
    map.move("two", 1);
  }
  [[nodiscard]] postgresql_options options() const { return two_databases::options("a", 2s); }
  [[nodiscard]] postgresql_options with_frequent_heartbeats() const {
    postgresql_options made = options();
    made.node_timeout = 1s;
    made.give_up_after = 1h;
    return made;
  }
  /// public.pass(), and the trigger function public.wait(), go on in this database when public.hold is empty.
  static void hold(const std::string& database) {
    ask(database, "CREATE TABLE public.hold AS SELECT 1 AS one");
    ask(database,
        "CREATE FUNCTION public.pass() RETURNS void LANGUAGE plpgsql AS $$ BEGIN "
        "WHILE EXISTS (SELECT FROM public.hold) LOOP PERFORM pg_sleep(0.01); END LOOP; END $$");
    ask(database,
        "CREATE FUNCTION public.wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM public.pass(); "
        "RETURN NEW; END $$");
  }
  [[nodiscard]] std::string add_third() const {
    const std::string third = new_database();
    database_map(first_).add(third);
    return third;
  }
  /// In SQL: how many connections a node has there.
  static std::string connections_to(const std::string& database) {
    return "(SELECT count(*) FROM pg_stat_activity WHERE datname = '" + name_of(database) +
           "' AND application_name = 'foliot')";
  }
  /// A session's begin (INSERT) or end (DELETE) in the second database waits until this is so, for a minute.
  void wait_in_second(const std::string& event, const std::string& until) const {
    ask(second_, "CREATE TABLE public.waited_in_vain (how_often integer)");
    ask(second_,
        "CREATE FUNCTION public.wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "FOR i IN 1 .. 6000 LOOP PERFORM pg_stat_clear_snapshot(); IF " +
            until +
            " THEN RETURN coalesce(NEW, OLD); END IF; PERFORM pg_sleep(0.01); END LOOP; "
            "INSERT INTO public.waited_in_vain VALUES (1); RETURN coalesce(NEW, OLD); END $$");
    ask(second_, "CREATE TRIGGER wait BEFORE " + event + " ON foliot.node FOR EACH ROW EXECUTE FUNCTION public.wait()");
  }
  /// Expects that a node is heard of some more times.
  static void expect_heartbeats_in(const std::string& database) {
    postgresql_connection watching(database);
    std::set<std::string> heard_of;
    const auto until = std::chrono::steady_clock::now() + 1min;
    while (heard_of.size() < 4 && std::chrono::steady_clock::now() < until) {
      heard_of.insert(watching.sql("SELECT seen FROM foliot.heard, pg_sleep(0.01)"));
    }
    EXPECT_EQ(heard_of.size(), 4U);
  }
};

TEST_F(PostgresqlMapOutage, WhatWasLeftOverIsGivenBackInPieces) {
  constexpr std::size_t jobs = 1'100;
  constexpr std::size_t most = 512;
  postgresql_store node(options());
  std::vector<operation> puts;
  for (std::size_t i = 0; i < jobs; ++i) puts.emplace_back(put{.tube = "two", .body = "x"});
  node.execute(puts);
  const auto claimed = execute_one(node, claim{.tubes = {"two"}, .count = jobs}).jobs;
  ASSERT_EQ(claimed.size(), jobs);
  shut(second_);
  std::vector<operation> given_back;
  for (const claimed_job& each : claimed) given_back.emplace_back(abandon{each.token});
  for (const answer& each : node.execute(given_back).answers) EXPECT_TRUE(std::holds_alternative<holder_answer>(each));
  open_again(second_);
  for (std::size_t left = jobs; left > 0;) {
    node.execute({});
    const std::size_t now = std::stoul(ask(second_, "SELECT count(*) FROM foliot.reserved"));
    EXPECT_LE(left - now, most);
    left = now;
  }
}

/// The release of its first claim is left over, and its second claim comes first.
TEST_F(PostgresqlMapOutage, WhatAClientHasClaimedAgainIsNotGivenBack) {
  virtual_clock time;
  const virtual_wall_clock wall{time};
  postgresql_options made = options();
  made.clocks = store_clocks{&wall, &time};
  postgresql_store node(made);
  execute_one(node, put{.tube = "two", .body = "x", .ttr = 1h});
  const claim wanted{.tubes = {"two"}, .once = foliot_test::once_of(1)};
  const reservation token = execute_one(node, wanted).jobs.at(0).token;
  shut(second_);
  EXPECT_EQ(execute_one(node, abandon{token}).what, holder_answer::kind::done);
  open_again(second_);
  time.advance(250ms);
  std::vector<answer> got;
  do {
    std::vector<operation> batch{wanted};
    got = node.execute(batch).answers;
    time.advance(1ms);
  } while (std::holds_alternative<unavailable_answer>(got.at(0)));
  const auto& again = std::get<claim_answer>(got.at(0));
  EXPECT_TRUE(again.is_replayed);
  ASSERT_EQ(again.jobs.size(), 1U);
  time.advance(1s);
  node.execute({});
  EXPECT_EQ(ask(second_, "SELECT count(*) FROM foliot.reserved"), "1");
  EXPECT_EQ(execute_one(node, finish{token}).what, holder_answer::kind::done);
}

/// The second database executes a put until the test lets it go on.
TEST_F(PostgresqlMapOutage, ASlowDatabaseDoesNotKeepTheNodeFromBeingHeardOfInTheOthers) {
  hold(second_);
  ask(second_, "CREATE TRIGGER wait BEFORE INSERT ON foliot.job FOR EACH ROW EXECUTE FUNCTION public.wait()");
  postgresql_store node(with_frequent_heartbeats());
  auto putting = std::async(std::launch::async, [&] { return execute_one(node, put{.tube = "two", .body = "x"}).id; });
  expect_heartbeats_in(first_);
  EXPECT_EQ(putting.wait_for(0s), std::future_status::timeout);
  ask(second_, "DELETE FROM public.hold");
  EXPECT_GT(putting.get(), 0U);
}

/// The first one is asked for the map until the test lets it answer.
TEST_F(PostgresqlMapOutage, AMapThatIsReadSlowlyDoesNotKeepTheNodeFromBeingHeardOfInTheOtherDatabases) {
  postgresql_store node(with_frequent_heartbeats());
  execute_one(node, put{.tube = "one", .body = "x"});
  hold(first_);
  ask(first_,
      "CREATE OR REPLACE FUNCTION foliot.read_places(OUT tubes bytea[], OUT databases bigint[], OUT befores bigint[]) "
      "LANGUAGE plpgsql AS $$ BEGIN PERFORM public.pass(); SELECT array_agg(p.tube), array_agg(p.database::bigint), "
      "array_agg(-1::bigint) INTO tubes, databases, befores FROM foliot.tube_place p; END $$");
  ask(first_, "SELECT foliot.note_change_of_map()");
  auto putting = std::async(std::launch::async, [&] { return execute_one(node, put{.tube = "one", .body = "x"}).id; });
  expect_heartbeats_in(second_);
  EXPECT_EQ(putting.wait_for(0s), std::future_status::timeout);
  ask(first_, "DELETE FROM public.hold");
  EXPECT_GT(putting.get(), 0U);
}

/// The second database lets the node in when that has come to the third one.
TEST_F(PostgresqlMapOutage, ASlowDatabaseDoesNotKeepTheNodeFromOpeningTheOthers) {
  const std::string third = add_third();
  wait_in_second("INSERT", connections_to(third) + " > 0");
  postgresql_options how = options();
  how.give_up_after = 1h;
  const postgresql_store node(how);
  EXPECT_EQ(ask(second_, "SELECT count(*) FROM public.waited_in_vain"), "0");
}

/// The second database lets the node go when that has left the third one, where the connection for news stays.
TEST_F(PostgresqlMapOutage, ASlowDatabaseDoesNotKeepTheNodeFromLeavingTheOthers) {
  const std::string third = add_third();
  postgresql_options how = options();
  how.give_up_after = 1h;
  postgresql_store node(how);
  while (ask(third, "SELECT " + connections_to(third)) != "2") {
  }
  wait_in_second("DELETE", connections_to(third) + " < 2");
  node.close();
  EXPECT_EQ(ask(second_, "SELECT count(*) FROM public.waited_in_vain"), "0");
}

TEST_F(PostgresqlMapOutage, ADatabaseWhoseSchemaIsAwayTakesOnlyItsOwnTubesAlong) {
  postgresql_store node(options());
  const auto put_one = [&](const std::string& tube) { return execute_one(node, put{.tube = tube, .body = "x"}).id; };
  for (const auto& [away, its, other] : {std::tuple(second_, "two", "one"), std::tuple(first_, "one", "two")}) {
    SCOPED_TRACE(its);
    ask(away, "ALTER SCHEMA foliot RENAME TO away");
    EXPECT_THROW(put_one(its), store_unavailable);
    EXPECT_GT(put_one(other), 0U);
    ask(away, "ALTER SCHEMA away RENAME TO foliot");
    foliot_test::until_available([&] { put_one(its); });
  }
}

TEST_F(PostgresqlMapOutage, WhileNoDatabaseAnswersEachBatchTriesToReachAll) {
  postgresql_store node(options());
  const auto put_one = [&](const std::string& tube) { return execute_one(node, put{.tube = tube, .body = "x"}).id; };
  shut(first_);
  shut(second_);
  for (int i = 0; i < 2; ++i) {
    EXPECT_THROW(put_one("one"), store_unavailable);
    EXPECT_THROW(put_one("two"), store_unavailable);
  }
  open_again(second_);
  foliot_test::until_available([&] { put_one("two"); });
  open_again(first_);
  foliot_test::until_available([&] { put_one("one"); });
}

TEST_F(PostgresqlMapOutage, IfAllDatabasesHaveFailedTheStoreHas) {
  postgresql_store node(options());
  for (const auto& each : {first_, second_}) ask(each, "ALTER SCHEMA foliot RENAME TO away");
  std::string why;
  const auto until = std::chrono::steady_clock::now() + 1min;
  while (why.empty() && std::chrono::steady_clock::now() < until) {
    std::vector<operation> puts{put{.tube = "one", .body = "x"}, put{.tube = "two", .body = "x"}};
    try {
      node.execute(puts);
    } catch (const store_unavailable&) {
    } catch (const store_failure& error) {
      why = error.what();
    }
  }
  EXPECT_NE(why.find("has no schema of foliot"), std::string::npos) << why;
  for (const auto& each : {first_, second_}) ask(each, "ALTER SCHEMA away RENAME TO foliot");
}

// Its jobs are in the first database by now, and only that could say so.
TEST_F(PostgresqlMapOutage, WhatHasMovedUnseenIsNotSaidToBeNowhere) {
  postgresql_store node(options());
  execute_one(node, put{.tube = "two", .key = "k", .body = "x"});
  database_map(first_).move("two", 0);
  shut(first_);
  std::vector<operation> asked{cancel{job_key{"two", "k"}}, peek_first{.tube = "two", .state = job_state::ready},
                               kick{.tube = "two"}, claim{{"two"}}, count_tube{"two"}};
  for (const answer& each : node.execute(asked).answers) {
    ASSERT_TRUE(std::holds_alternative<unavailable_answer>(each)) << each.index();
    EXPECT_FALSE(std::get<unavailable_answer>(each).is_in_doubt);
  }
  open_again(first_);
  foliot_test::until_available(
      [&] { EXPECT_EQ(execute_one(node, cancel{job_key{"two", "k"}}).what, change_answer::kind::done); });
}

TEST_F(PostgresqlMapOutage, NoJobIsSentToADatabaseThatTakesNone) {
  postgresql_store node(options());
  for (int i = 0; i < 300; ++i) execute_one(node, put{.tube = "one", .body = "x"});
  const auto ready = [&] { return execute_one(node, count_tube{"one"}).counts.ready; };
  const auto refuse_puts = [&](bool refuses) {
    ask(second_, std::string("SELECT setval('foliot.refusing_puts', ") + (refuses ? "1)" : "0)"));
  };
  database_map map(first_);
  refuse_puts(true);
  EXPECT_THROW(map.move("one", 1), store_failure);
  EXPECT_EQ(map.places().size(), 1U) << "the tube stays, and takes jobs";
  execute_one(node, put{.tube = "one", .body = "x"});
  EXPECT_EQ(ready(), 301U);
  refuse_puts(false);
  const auto fill_soon = [&](const database_map::progress&) {
    refuse_puts(true);
    return true;
  };
  EXPECT_THROW(map.move("one", 1, fill_soon), store_failure);
  EXPECT_EQ(ready(), 301U);
  EXPECT_EQ(execute_one(node, clear_tube{.tube = "one"}).changed, 301U);
  map.move("one", 1);
  EXPECT_EQ(map.places().size(), 2U) << "it ends where no job is left";
}

TEST_F(PostgresqlMapOutage, AMoveThatFailsSaysHowManyJobsAreOnTheirWay) {
  postgresql_store node(options());
  for (int i = 0; i < 3; ++i) execute_one(node, put{.tube = "one", .body = "x"});
  ask(second_,
      "CREATE FUNCTION public.fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'it fails'; END $$; "
      "CREATE TRIGGER fail BEFORE INSERT ON foliot.job FOR EACH ROW EXECUTE FUNCTION public.fail()");
  try {
    database_map(first_).move("one", 1);
    ADD_FAILURE() << "the trigger does not fail";
  } catch (const store_failure& error) {
    EXPECT_NE(std::string(error.what()).find("it fails. 3 jobs of the tube 'one' are on their way"), std::string::npos)
        << error.what();
  }
  ask(second_, "DROP TRIGGER fail ON foliot.job");
  database_map(first_).move("one", 1);
  EXPECT_EQ(execute_one(node, count_tube{"one"}).counts.ready, 3U);
}

TEST_F(PostgresqlMapOutage, ANodeWhoseNameWasTakenFails) {
  postgresql_store node(options());
  const postgresql_store same(options());
  EXPECT_THROW(node.execute({}), store_failure);
}

}  // namespace
}  // namespace foliot::jobs
