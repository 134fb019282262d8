// Tubes spread over several databases, and moved from one to another while nodes use them.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
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
using foliot_test::postgresql_connection;
using foliot_test::put_one;

class PostgresqlMap : public foliot_test::two_databases {
 protected:
  [[nodiscard]] std::unique_ptr<postgresql_store> open(const std::string& node) const {
    return two_databases::open(node, 2s);
  }
  static std::optional<claimed_job> claim_one(job_store& from, const std::vector<std::string>& tubes) {
    auto got = execute_one(from, claim{.tubes = tubes}).jobs;
    return got.empty() ? std::nullopt : std::optional(std::move(got.front()));
  }
  /// The bodies of all jobs that can be claimed, in order.
  static std::vector<std::string> drain(job_store& from, const std::string& tube) {
    std::vector<std::string> bodies;
    while (auto got = claim_one(from, {tube})) {
      bodies.push_back(got->job.body);
      EXPECT_EQ(execute_one(from, finish{got->token}).what, holder_answer::kind::done);
    }
    return bodies;
  }
  /// As a move does it with a piece of two jobs.
  static void take_first_piece(const std::string& from, const std::string& to) {
    const std::string numbers = ask(from,
                                    "SELECT array_agg(n.n ORDER BY s.o, n.o) FROM foliot.sent_piece() "
                                    "WITH ORDINALITY s (tube, key, body, numbers, o), "
                                    "unnest(s.numbers) WITH ORDINALITY n (n, o)");
    const std::string bodies = ask(from, "SELECT array_agg(s.body) FROM foliot.sent_piece() s");
    ask(to, "SELECT foliot.take_piece(0, 1, 't', ARRAY['', '']::bytea[], '" + bodies + "'::bytea[], '" + numbers +
                "'::bigint[])");
  }
  static std::string jobs_in(const std::string& database) { return ask(database, "SELECT count(*) FROM foliot.job"); }
};

TEST_F(PostgresqlMap, ATubeIsWhereItsMapSays) {
  const auto node = open("a");
  const job_id before = put_one(*node, "one", "before");
  database_map map(first_);
  EXPECT_EQ(map.add(second_), 1);
  EXPECT_EQ(map.add(second_), 1);
  ASSERT_EQ(map.databases().size(), 1U);
  EXPECT_EQ(map.databases()[0].connection, second_);
  map.move("two", 1);
  EXPECT_EQ(map.places(), (std::vector<database_map::tube_place>{{"two", 1}}));
  const job_id one = put_one(*node, "one", "1");
  const job_id two = put_one(*node, "two", "2");
  EXPECT_GT(one, before);
  EXPECT_EQ(one % 64, 0U);
  EXPECT_EQ(two % 64, 1U);
  EXPECT_EQ(jobs_in(first_), "2");
  EXPECT_EQ(jobs_in(second_), "1");
  const auto other = open("b");  // it reads the map when it is opened
  EXPECT_EQ(execute_one(*other, count_all{}).counts.ready, 3U);
  EXPECT_EQ(execute_one(*other, list_tubes{}).tubes, (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(execute_one(*other, peek{two}).job->body, "2");
  const auto got = claim_one(*other, {"one", "two"});
  const auto next = claim_one(*other, {"one", "two"});
  const auto last = claim_one(*other, {"one", "two"});
  ASSERT_TRUE(got && next && last);
  for (const auto& each : {got, next, last}) {
    EXPECT_EQ(execute_one(*node, finish{each->token}).what, holder_answer::kind::done) << each->job.body;
  }
  EXPECT_EQ(execute_one(*node, finish{last->token}).what, holder_answer::kind::not_held);
  EXPECT_EQ(execute_one(*node, count_all{}).counts.all(), 0U);
}

TEST_F(PostgresqlMap, WhatIsDueNextIsListedOverAllDatabases) {
  const auto node = open("a");
  database_map map(first_);
  map.add(second_);
  map.move("two", 1);
  std::vector<job_id> expected;
  const utc_time due(2'000'000'000'000ms);
  for (int i = 0; i < 5; ++i) {
    const std::string tube = i % 2 == 0 ? "one" : "two";
    expected.push_back(execute_one(*node, put{.tube = tube, .body = "", .due = due + milliseconds(i)}).id);
  }
  std::vector<job_id> listed;
  list_due next{.count = 2};
  for (;;) {
    const due_answer page = execute_one(*node, next);
    for (const due_job& each : page.jobs) listed.push_back(each.id);
    if (page.jobs.size() < next.count) break;
    next.from = page.jobs.back().due;
    next.after = page.jobs.back().id;
  }
  EXPECT_EQ(listed, expected);
  EXPECT_EQ(execute_one(*node, list_due{.prefix = "two"}).jobs.size(), 2U);
}

TEST_F(PostgresqlMap, TubesAndJobsAreListedOverAllDatabases) {
  const auto node = open("a");
  database_map map(first_);
  map.add(second_);
  for (const char* const tube : {"b", "d"}) map.move(tube, 1);
  std::vector<job_id> in_first;
  std::vector<job_id> in_second;
  for (const char* const tube : {"a", "b", "c", "d", "a", "b"}) {
    const job_id id = put_one(*node, tube, "x");
    (id % 64 == 0 ? in_first : in_second).push_back(id);
  }
  ASSERT_EQ(in_second.size(), 3U);
  std::vector<std::string> tubes;
  std::vector<std::uint64_t> counts;
  for (list_tubes next{.count = 1, .with_counts = true};;) {
    const tubes_answer page = execute_one(*node, next);
    for (std::size_t i = 0; i < page.tubes.size(); ++i) {
      tubes.push_back(page.tubes[i]);
      counts.push_back(page.counts.at(i).counts.ready);
    }
    if (page.next.empty()) break;
    next.after = page.next;
  }
  EXPECT_EQ(tubes, (std::vector<std::string>{"a", "b", "c", "d"}));
  EXPECT_EQ(counts, (std::vector<std::uint64_t>{2, 2, 1, 1}));
  std::vector<job_id> expected = in_first;
  expected.insert(expected.end(), in_second.begin(), in_second.end());
  std::ranges::sort(expected);
  std::vector<job_id> listed;
  for (list_jobs next{.count = 2};;) {
    const jobs_answer page = execute_one(*node, next);
    for (const listed_job& each : page.jobs) listed.push_back(each.job.id);
    if (!page.next) break;
    next.after = *page.next;
  }
  EXPECT_EQ(listed, expected);
  const auto claimed = claim_one(*node, {"d"});
  const jobs_answer reserved = execute_one(*node, list_jobs{.which = job_state::reserved});
  ASSERT_EQ(reserved.jobs.size(), 1U);
  EXPECT_EQ(reserved.jobs[0].job.id, claimed->job.id);
  EXPECT_EQ(reserved.jobs[0].node, "a");
  EXPECT_EQ(execute_one(*node, list_jobs{.tube = "b", .which = job_state::ready}).jobs.size(), 2U);
}

TEST_F(PostgresqlMap, AJobMovesAsItIs) {
  const auto node = open("a");
  execute_one(*node, put{.tube = "t", .body = "buried", .priority = 7});
  const auto buried = claim_one(*node, {"t"});
  execute_one(*node, bury{buried->token});
  const job_id delayed =
      execute_one(*node, put{.tube = "t", .key = "k", .body = "delayed", .priority = 1, .due = 1h, .ttr = 5s}).id;
  const job_id ready = execute_one(*node, put{.tube = "t", .body = "ready", .priority = 3}).id;
  const auto shown = [&](job_store& by) {
    std::map<job_id, job> all;
    for (const job_id each : {buried->job.id, delayed, ready}) all[each] = *execute_one(by, peek{each}).job;
    return all;
  };
  const auto before = shown(*node);
  database_map map(first_);
  map.add(second_);
  map.move("t", 1);
  EXPECT_EQ(jobs_in(first_), "0");
  EXPECT_EQ(jobs_in(second_), "3");
  EXPECT_EQ(shown(*node), before);
  EXPECT_EQ(execute_one(*node, put{.tube = "t", .key = "k", .body = "x"}).id, delayed);
  EXPECT_EQ(execute_one(*node, fire_now{job_key{"t", "k"}}).id, delayed);
  EXPECT_EQ(execute_one(*node, kick{.tube = "t"}).changed, 1U);
  const job_id newer = execute_one(*node, put{.tube = "t", .body = "newer", .priority = 3}).id;
  EXPECT_GT(newer, ready) << "of one priority the older job comes first";
  EXPECT_EQ(drain(*node, "t"), (std::vector<std::string>{"delayed", "ready", "newer", "buried"}));
  map.move("t", 0);
  EXPECT_EQ(map.places(), std::vector<database_map::tube_place>());
  put_one(*node, "t", "back");
  EXPECT_EQ(jobs_in(first_), "1");
}

TEST_F(PostgresqlMap, AReservedJobMovesWhenItIsGivenBack) {
  const auto node = open("a");
  put_one(*node, "t", "finished");
  put_one(*node, "t", "released");
  const auto finished = claim_one(*node, {"t"});
  const auto released = claim_one(*node, {"t"});
  database_map map(first_);
  map.add(second_);
  map.move("t", 1, [](const database_map::progress& so_far) { return !so_far.waits; });
  EXPECT_EQ(map.places(), (std::vector<database_map::tube_place>{{"t", 1, 0}}));
  put_one(*node, "t", "new");
  EXPECT_EQ(execute_one(*node, count_tube{"t"}).counts.all(), 3U);
  EXPECT_EQ(execute_one(*node, touch{released->token}).what, holder_answer::kind::done);
  EXPECT_EQ(execute_one(*node, finish{finished->token}).what, holder_answer::kind::done);
  EXPECT_EQ(execute_one(*node, release{released->token}).what, holder_answer::kind::done);
  map.move("t", 1);
  EXPECT_EQ(jobs_in(first_), "0");
  const auto again = claim_one(*node, {"t"});
  ASSERT_TRUE(again);
  EXPECT_EQ(again->job.id, released->job.id);
  EXPECT_GT(again->token.attempt, released->token.attempt);
  EXPECT_EQ(execute_one(*node, finish{released->token}).what, holder_answer::kind::not_held);
}

// The node has not seen the map since before there was one: whatever it does first is right.
TEST_F(PostgresqlMap, ANodeWithAnOldMapFindsWhatHasMoved) {
  const std::vector<operation> firsts{
      put{.tube = "t", .key = "k", .body = "x"},
      put{.tube = "t", .body = "x"},
      cancel{job_key{"t", "k"}},
      peek{job_key{"t", "k"}},
      claim{.tubes = {"t"}},
      kick{.tube = "t"},
      clear_tube{.tube = "t"},
      peek_first{.tube = "t", .state = job_state::buried},
      count_tube{.tube = "t"},
      list_tubes{},
  };
  const auto owner = open("owner");
  std::vector<std::unique_ptr<postgresql_store>> nodes;
  for (std::size_t i = 0; i < firsts.size(); ++i) nodes.push_back(open(std::to_string(i)));
  const job_id id = execute_one(*owner, put{.tube = "t", .key = "k", .body = "first"}).id;
  execute_one(*owner, put{.tube = "t", .body = "buried", .priority = 9});
  database_map map(first_);
  map.add(second_);
  map.move("t", 1);
  const auto first_of = [&](std::size_t i) {
    operation one = firsts[i];
    return nodes[i]->execute(std::span(&one, 1)).answers.front();
  };
  EXPECT_EQ(std::get<put_answer>(first_of(0)), (put_answer{put_answer::kind::kept, id}));
  EXPECT_EQ(std::get<put_answer>(first_of(1)).id % 64, 1U);
  EXPECT_EQ(std::get<peek_answer>(first_of(3)).job->id, id);
  EXPECT_EQ(std::get<count_answer>(first_of(8)).counts.ready, 3U);
  EXPECT_EQ(std::get<tubes_answer>(first_of(9)).tubes, std::vector<std::string>{"t"});
  EXPECT_EQ(std::get<change_answer>(first_of(2)), (change_answer{change_answer::kind::done, id}));
  const auto got = std::get<claim_answer>(first_of(4));
  ASSERT_EQ(got.jobs.size(), 1U);
  EXPECT_EQ(execute_one(*nodes[4], bury{got.jobs[0].token}).what, holder_answer::kind::done);
  EXPECT_EQ(std::get<peek_answer>(first_of(7)).job->id, got.jobs[0].job.id);
  EXPECT_EQ(std::get<bulk_answer>(first_of(5)).changed, 1U);
  EXPECT_EQ(std::get<bulk_answer>(first_of(6)).changed, 2U);
}

/// Why something is refused; empty: it is not.
template <class Function>
std::string refusal(Function what) {
  try {
    what();
    return "";
  } catch (const std::exception& error) {
    return error.what();
  }
}

::testing::AssertionResult says(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << '"' << text << "\" does not say \"" << part << '"';
}

TEST_F(PostgresqlMap, RefusesWhatWouldLoseJobs) {
  database_map map(first_);
  EXPECT_TRUE(says(refusal([&] { map.move("t", 1); }), "there is no database with the number 1"));
  EXPECT_TRUE(says(refusal([&] { map.move("", 0); }), "must not be empty"));
  EXPECT_TRUE(says(refusal([&] { map.move(std::string(201, 't'), 0); }), "must have at most 200 bytes"));
  EXPECT_TRUE(says(refusal([&] { map.add(first_); }), "is the first database itself"));
  EXPECT_TRUE(says(refusal([&] { map.add(server_.new_database()); }), "foliot serve --migrate"));
  EXPECT_EQ(map.add(second_), 1);
  EXPECT_TRUE(says(refusal([&] { const database_map wrong(second_); }), "is the database 1 of several"));
  const std::string third = new_database();
  put_one(*std::make_unique<postgresql_store>(foliot_test::options_of(third, "a", 5s)), "t", "x");
  EXPECT_TRUE(says(refusal([&] { map.add(third); }), "has jobs"));
  const auto node = open("a");
  put_one(*node, "t", "x");
  const auto held = claim_one(*node, {"t"});
  map.move("t", 1, [](const database_map::progress&) { return false; });
  EXPECT_TRUE(says(refusal([&] { map.move("t", 0); }), "moves to the database 1 at present"));
  // An application that puts jobs into a tube which is elsewhere, or with a snapshot that may be older than the move.
  EXPECT_TRUE(says(refusal([&] { ask(first_, "SELECT foliot.put('t', 'x')"); }), "in another database"));
  EXPECT_TRUE(says(refusal([&] { ask(first_, "SELECT foliot.cancel_by_key('t', 'x')"); }), "in another database"));
  const std::string begin = "BEGIN ISOLATION LEVEL REPEATABLE READ; ";
  EXPECT_TRUE(says(refusal([&] { ask(second_, begin + "SELECT foliot.put('t', 'x')"); }), "READ COMMITTED"));
  EXPECT_NE(ask(second_, "SELECT foliot.put('t', 'x')"), "NULL");
}

// The tubes of the first database do not wait for the second one.
TEST_F(PostgresqlMap, ADatabaseThatIsDownTakesOnlyItsTubesAlong) {
  database_map map(first_);
  map.add(second_);
  map.move("two", 1);
  const auto node = open("a");
  put_one(*node, "two", "before");
  put_one(*node, "two", "given back");
  const auto held = claim_one(*node, {"two"});
  const auto given_back = claim_one(*node, {"two"});
  shut(second_);
  EXPECT_THROW(put_one(*node, "two", "lost"), store_unavailable);
  std::vector<operation> both{put{.tube = "one", .body = "x"}, put{.tube = "two", .body = "x"}, finish{held->token},
                              claim{.tubes = {"one", "two"}}, count_all{}};
  const auto got = node->execute(both).answers;
  EXPECT_EQ(std::get<put_answer>(got[0]).what, put_answer::kind::inserted);
  EXPECT_TRUE(std::holds_alternative<unavailable_answer>(got[1]));
  EXPECT_TRUE(std::holds_alternative<unavailable_answer>(got[2]));
  EXPECT_EQ(std::get<claim_answer>(got[3]).jobs.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<unavailable_answer>(got[4]));
  EXPECT_TRUE(claim_one(*node, {"one"}) == std::nullopt);
  EXPECT_EQ(execute_one(*node, abandon{given_back->token}).what, holder_answer::kind::done);
  const auto late = open("late");  // opens, though it cannot reach the second database
  put_one(*late, "one", "y");
  EXPECT_THROW(put_one(*late, "two", "y"), store_unavailable);
  open_again(second_);
  foliot_test::until_available([&] { put_one(*node, "two", "after"); });
  foliot_test::until_available([&] { put_one(*late, "two", "after"); });
  EXPECT_EQ(execute_one(*node, finish{held->token}).what, holder_answer::kind::done);
  while (execute_one(*node, count_tube{"two"}).counts.reserved != 0) {  // it is given back with some later batch
  }
  EXPECT_EQ(drain(*node, "two"), (std::vector<std::string>{"given back", "after", "after"}));
}

// The first one has the map, but the nodes have read it.
TEST_F(PostgresqlMap, TheFirstDatabaseTakesOnlyItsTubesAlong) {
  database_map map(first_);
  map.add(second_);
  map.move("two", 1);
  const auto node = open("a");
  put_one(*node, "one", "before");
  put_one(*node, "one", "given back");
  const auto held = claim_one(*node, {"one"});
  const auto given_back = claim_one(*node, {"one"});
  shut(first_);
  std::vector<operation> lost{put{.tube = "one", .body = "lost"}};
  EXPECT_TRUE(std::holds_alternative<unavailable_answer>(node->execute(lost).answers[0])) << "it is refused alone";
  std::vector<operation> both{put{.tube = "one", .body = "x"}, put{.tube = "two", .body = "x"}, finish{held->token},
                              claim{.tubes = {"one", "two"}}, count_all{}};
  const auto got = node->execute(both).answers;
  EXPECT_TRUE(std::holds_alternative<unavailable_answer>(got[0]));
  EXPECT_EQ(std::get<put_answer>(got[1]).what, put_answer::kind::inserted);
  EXPECT_TRUE(std::holds_alternative<unavailable_answer>(got[2]));
  EXPECT_EQ(std::get<claim_answer>(got[3]).jobs.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<unavailable_answer>(got[4]));
  EXPECT_EQ(execute_one(*node, abandon{given_back->token}).what, holder_answer::kind::done);
  EXPECT_NO_THROW(node->execute({}));
  ask(second_, "UPDATE foliot.map SET version = version + 1");  // as if another tube moved: the node cannot read it now
  put_one(*node, "two", "y");
  shut(second_);
  EXPECT_THROW(put_one(*node, "two", "lost"), store_unavailable);
  EXPECT_THROW(node->execute({}), store_unavailable) << "no database is left";
  open_again(second_);
  foliot_test::until_available([&] { put_one(*node, "two", "z"); });
  open_again(first_);
  foliot_test::until_available([&] { put_one(*node, "one", "after"); });
  EXPECT_EQ(execute_one(*node, finish{held->token}).what, holder_answer::kind::done);
  while (execute_one(*node, count_tube{"one"}).counts.reserved != 0) {  // it is given back with some later batch
  }
  EXPECT_EQ(drain(*node, "one"), (std::vector<std::string>{"given back", "after"}));
  EXPECT_EQ(drain(*node, "two"), (std::vector<std::string>{"y", "z"}));
}

TEST_F(PostgresqlMap, ACheckIsOfAllDatabases) {
  database_map map(first_);
  map.add(second_);
  map.move("two", 1);
  const auto node = open("a");
  const job_id id = put_one(*node, "two", "x");
  ask(second_, "DELETE FROM foliot.ready");
  const check_result damage = node->check();
  ASSERT_FALSE(damage);
  const std::string name = name_of(second_);
  EXPECT_TRUE(says(damage.error(), "in the database 1 of the map, "));
  EXPECT_TRUE(says(damage.error(), name + ": job " + std::to_string(id) + " has no state"));
  ask(second_, "DELETE FROM foliot.job");

  shut(second_);
  const auto late = open("late");
  for (const auto* each : {&node, &late, &late}) {
    const std::string text = refusal([&] { static_cast<void>((*each)->check()); });
    EXPECT_TRUE(says(text, "the database 1 of the map was not checked: the database "));
    EXPECT_TRUE(says(text, name));
  }
  open_again(second_);
  for (const auto* each : {&node, &late}) {
    const check_result right = (*each)->check();
    EXPECT_TRUE(right) << right.error();
    put_one(**each, "two", "y");
  }
  EXPECT_EQ(jobs_in(second_), "2");
}

/// A move begins when no transaction is open that has put a job. It asks again and again, over one connection.
TEST_F(PostgresqlMap, AMoveWaitsForOpenTransactions) {
  const auto node = open("a");
  put_one(*node, "t", "x");
  database_map map(first_);
  map.add(second_);
  postgresql_connection application(first_);
  application.sql("BEGIN");
  application.sql("SELECT foliot.put('t', 'y')");
  auto moving = std::async(std::launch::async, [&] { map.move("t", 1); });
  postgresql_connection watching(first_);
  std::string process;
  std::string asked = "NULL";
  for (int seen = 0; seen < 3 && moving.wait_for(0s) == std::future_status::timeout;) {
    const std::string now = watching.sql(
        "SELECT xact_start || '|' || pid FROM pg_stat_activity "
        "WHERE wait_event_type = 'Lock' AND query LIKE '%foliot.leave(%' AND pid <> pg_backend_pid()");
    if (now == "NULL" || now == asked) continue;
    asked = now;
    const std::string asking = now.substr(now.find('|'));
    EXPECT_TRUE(process.empty() || process == asking);
    process = asking;
    ++seen;
  }
  application.sql("COMMIT");
  moving.get();
  EXPECT_EQ(jobs_in(first_), "0");
  EXPECT_EQ(drain(*node, "t"), (std::vector<std::string>{"x", "y"}));
}

/// A move that was broken off at each of its steps, and asked for again.
TEST_F(PostgresqlMap, AMoveThatWasBrokenOffGoesOn) {
  const std::vector<std::pair<bool, std::string>> steps{
      {true, "SELECT foliot.plan_move('t', 1::smallint)"},
      {true, "SELECT foliot.leave('t')"},
      {false, "SELECT foliot.join('t', 0)"},
      {true, "SELECT foliot.send_piece('t', 2, 1000)"},
      {true, "the piece is taken"},
      {true, "SELECT foliot.forget_piece(1)"},
  };
  for (std::size_t broken = 1; broken <= steps.size(); ++broken) {
    SCOPED_TRACE(broken);
    const std::string first = new_database();
    const std::string second = new_database();
    const auto node = std::make_unique<postgresql_store>(foliot_test::options_of(first, "a", 5s));
    for (int i = 0; i < 5; ++i) put_one(*node, "t", std::to_string(i));
    database_map map(first);
    map.add(second);
    for (std::size_t i = 0; i < broken; ++i) {
      if (i == 4) {
        take_first_piece(first, second);
      } else {
        ask(steps[i].first ? first : second, steps[i].second);
      }
    }
    put_one(*node, "t", "5");
    map.move("t", 1);
    EXPECT_EQ(jobs_in(first), "0");
    EXPECT_EQ(jobs_in(second), "6");
    EXPECT_EQ(drain(*node, "t"), (std::vector<std::string>{"0", "1", "2", "3", "4", "5"}));
  }
}

// A newer program migrates one of the databases between two transactions of a move.
class PostgresqlMapMigrated : public PostgresqlMap {
 protected:
  /// The schema admits programs of this version and of later ones.
  static std::string oldest_program(int version) {
    return "CREATE OR REPLACE FUNCTION foliot.oldest_program() RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT " +
           std::to_string(version) + "'";
  }
  /// Moves the tube to the second database. Before the first piece leaves, `migrated` is for newer programs only.
  /// Returns what the move says.
  std::string move_while_migrating(database_map& map, const std::string& migrated) {
    try {
      map.move("t", 1, [&](const database_map::progress&) {
        ask(migrated, oldest_program(newer_));
        return true;
      });
    } catch (const store_failure& error) {
      return error.what();
    }
    return "it has moved";
  }
  /// The databases are as the present program needs them, and the move is repeated.
  void expect_that_all_jobs_arrive(database_map& map, const std::string& migrated) {
    ask(migrated, oldest_program(1));
    map.move("t", 1);
    EXPECT_EQ(jobs_in(first_), "0");
    EXPECT_EQ(jobs_in(second_), "2");
  }

  static constexpr int newer_ = 99;
  const std::string sentence_ = ", which is for programs of version 99 or later, and this one has version ";
};

TEST_F(PostgresqlMapMigrated, AMoveSendsNoJobFromADatabaseThatANewerProgramHasMigrated) {
  for (int i = 0; i < 2; ++i) ask(first_, "SELECT foliot.put('t', 'x')");
  database_map map(first_);
  map.add(second_);
  EXPECT_NE(move_while_migrating(map, first_).find(sentence_), std::string::npos);
  EXPECT_EQ(jobs_in(first_), "2");
  EXPECT_EQ(ask(first_, "SELECT count(*) FROM foliot.leaving"), "0");
  expect_that_all_jobs_arrive(map, first_);
}

TEST_F(PostgresqlMapMigrated, ADatabaseThatANewerProgramHasMigratedTakesNoJobFromAMove) {
  for (int i = 0; i < 2; ++i) ask(first_, "SELECT foliot.put('t', 'x')");
  database_map map(first_);
  map.add(second_);
  const std::string said = move_while_migrating(map, second_);
  EXPECT_NE(said.find(sentence_), std::string::npos) << said;
  EXPECT_NE(said.find("use a newer program"), std::string::npos) << said;
  EXPECT_EQ(jobs_in(second_), "0");
  expect_that_all_jobs_arrive(map, second_);
}

TEST_F(PostgresqlMapMigrated, ATransactionThatHasWaitedForTheMigrationIsRefused) {
  postgresql_connection mover(first_);
  mover.sql("PREPARE admit AS SELECT foliot.admit(2)");
  for (int i = 0; i < 8; ++i) mover.sql("EXECUTE admit");  // after some calls the connection keeps the plan
  postgresql_connection migration(first_);
  migration.sql("BEGIN");
  migration.sql("SELECT pg_advisory_xact_lock(foliot.lock_of_migration())");
  migration.sql(oldest_program(newer_));
  mover.send("EXECUTE admit");
  postgresql_connection observer(first_);
  foliot_test::until_a_lock_is_awaited(observer);
  migration.sql("COMMIT");
  EXPECT_NE(mover.finish().find("the schema is for newer programs"), std::string::npos);
}

}  // namespace
}  // namespace foliot::jobs
