// A database without room, as on a full disk: what needs room is refused, each operation by itself, and the rest goes
// on. A trigger gives the error that PostgreSQL gives when it cannot make a table larger.
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <string>
#include <variant>
#include <vector>

#include <foliot/core/virtual_clock.hpp>
#include <foliot/jobs/calls.hpp>
#include <foliot/jobs/database_map.hpp>
#include <foliot/jobs/postgresql_store.hpp>
#include <foliot/jobs/store_clocks.hpp>

#include "clock_node.hpp"
#include "connection.hpp"

namespace foliot::jobs {
namespace {

using namespace std::chrono_literals;
using foliot_test::postgresql_connection;

class PostgresqlRoom : public foliot_test::postgresql_clock_node {
 protected:
  /// From now on this table takes no row, or only if the condition is false.
  void fill(const std::string& table, const std::string& state = "53100", const std::string& when = "true") {
    sql("CREATE OR REPLACE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF " + when +
        " THEN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '" + state +
        "'; END IF; RETURN NEW; END $$");
    sql("CREATE TRIGGER refuse BEFORE INSERT ON foliot." + table + " FOR EACH ROW EXECUTE FUNCTION public.refuse()");
  }
  void make_room(const std::string& table) { sql("DROP TRIGGER refuse ON foliot." + table); }
  /// Two turns of the rotation after a minute: one fills the ballast, the next one finds it filled.
  void fill_ballast() {
    sql("SELECT setval('foliot.ballast_tried', 1)");
    rotate();
    rotate();
  }
  std::string ballast() { return sql("SELECT pg_relation_size('foliot.ballast') / 1048576 || ' MB'"); }
  std::string refuses_puts() { return sql("SELECT value FROM foliot.metrics() WHERE name = 'refuses_puts'"); }
  std::string rows(const std::string& table) { return sql("SELECT count(*) FROM foliot." + table); }

  job_id put_one(milliseconds due = 0ms) {
    return execute_one(*node_, put{.tube = "a", .body = "x", .due = due, .ttr = 1h}).id;
  }
  claimed_job claim_one() { return execute_one(*node_, claim{{"a"}}).jobs.at(0); }
  job_counts counts() { return execute_one(*node_, count_all{}).counts; }
};

class PostgresqlRoomOf : public PostgresqlRoom, public ::testing::WithParamInterface<const char*> {};

TEST_P(PostgresqlRoomOf, PutsAreRefusedAndTheRestOfTheirBatchHappens) {
  for (int i = 0; i < 3; ++i) put_one();
  const reservation held = claim_one().token;
  const reservation released = claim_one().token;
  const job_id waiting = put_one(1h);
  const std::string before = process();
  warnings_.clear();
  fill("job", GetParam());
  for (int round = 0; round < 2; ++round) {  // the second one knows already that there is no room
    SCOPED_TRACE(round);
    std::vector<operation> batch{put{.tube = "a", .body = "x"}, round == 0 ? finish{held} : finish{released},
                                 put{.tube = "new", .key = "k", .body = "x"},
                                 round == 0 ? operation(release{released}) : operation(cancel{waiting}), claim{{"a"}}};
    const execution done = (*node_).execute(batch);
    EXPECT_EQ(std::get<put_answer>(done.answers.at(0)), put_answer{put_answer::kind::no_space});
    EXPECT_EQ(std::get<put_answer>(done.answers.at(2)), put_answer{put_answer::kind::no_space});
    if (round == 0) {
      EXPECT_EQ(std::get<holder_answer>(done.answers.at(1)).what, holder_answer::kind::done);
      EXPECT_EQ(std::get<holder_answer>(done.answers.at(3)).what, holder_answer::kind::done);
    } else {
      EXPECT_EQ(std::get<holder_answer>(done.answers.at(1)).what, holder_answer::kind::not_held) << "it was released";
      EXPECT_EQ(std::get<change_answer>(done.answers.at(3)).what, change_answer::kind::done);
    }
    EXPECT_EQ(std::get<claim_answer>(done.answers.at(4)).jobs.size(), 1U);
  }
  EXPECT_EQ(rows("job"), "2") << "both are reserved";
  EXPECT_EQ(process(), before) << "the connection is as good as before";
  ASSERT_EQ(warnings_.size(), 1U);
  EXPECT_TRUE(warnings_[0].ends_with(": No space left on device")) << warnings_[0];
  make_room("job");
  fill_ballast();
  EXPECT_EQ(execute_one(*node_, put{.tube = "a", .body = "x"}).what, put_answer::kind::inserted);
  EXPECT_EQ(execute_one(*node_, put{.tube = "new", .key = "k", .body = "x"}).what, put_answer::kind::inserted);
  expect_right();
}

INSTANTIATE_TEST_SUITE_P(EachState, PostgresqlRoomOf, ::testing::Values("53000", "53100", "53200", "53400"));

TEST_F(PostgresqlRoom, EachChangeWithoutRoomIsToldSoAndChangesNothing) {
  for (int i = 0; i < 4; ++i) put_one();
  const claimed_job first = claim_one();
  const claimed_job second = claim_one();
  const job_id buried = claim_one().job.id;
  ASSERT_EQ(execute_one(*node_, bury{reservation{buried, second.token.opening, 1}}).what, holder_answer::kind::done);
  const job_id delayed = put_one(1h);
  const job_counts before = counts();
  for (const char* table : {"ready", "delayed", "reserved", "buried", "pause"}) fill(table);
  std::vector<operation> batch{release{first.token},
                               bury{second.token},
                               abandon{second.token},
                               touch{first.token},
                               kick{.tube = "a", .count = 10},
                               kick_job{buried},
                               reschedule{delayed, 1min},
                               fire_now{delayed},
                               claim_job{buried},
                               claim{{"a"}, 10},
                               pause{.tube = "a", .length = 1h},
                               list_tubes{}};
  for (int round = 0; round < 2; ++round) {
    SCOPED_TRACE(round);
    std::vector<operation> again = batch;  // a store may take from the operations
    const std::vector<answer> got = (*node_).execute(again).answers;
    for (const std::size_t each : {0U, 1U, 2U}) {
      EXPECT_EQ(std::get<holder_answer>(got[each]).what, holder_answer::kind::no_space) << each;
    }
    EXPECT_EQ(std::get<holder_answer>(got[3]).what, holder_answer::kind::done) << "a touch changes a row in its place";
    EXPECT_EQ(std::get<bulk_answer>(got[4]), (bulk_answer{0, bulk_answer::kind::no_space}));
    for (const std::size_t each : {5U, 6U, 7U}) {
      EXPECT_EQ(std::get<change_answer>(got[each]).what, change_answer::kind::no_space) << each;
    }
    EXPECT_EQ(std::get<claim_answer>(got[8]).what, claim_answer::kind::no_space);
    EXPECT_TRUE(std::get<claim_answer>(got[8]).jobs.empty());
    EXPECT_TRUE(std::get<claim_answer>(got[9]).jobs.empty());
    EXPECT_TRUE(std::holds_alternative<unavailable_answer>(got[10]));
    EXPECT_EQ(std::get<tubes_answer>(got[11]).tubes, std::vector<std::string>{"a"});
    EXPECT_EQ(counts(), before);
  }
  for (const char* table : {"ready", "delayed", "reserved", "buried", "pause"}) make_room(table);
  EXPECT_EQ(execute_one(*node_, release{first.token}).what, holder_answer::kind::done);
  EXPECT_EQ(execute_one(*node_, kick{.tube = "a", .count = 10}).changed, 1U);
  EXPECT_EQ(execute_one(*node_, claim{{"a"}, 10}).jobs.size(), 3U);
  expect_right();
}

TEST_F(PostgresqlRoom, AnotherVersionIsToldBeforeTheRoomIsAskedFor) {
  const job_id held = execute_one(*node_, put{.tube = "a", .key = "held", .body = "x", .ttr = 1h}).id;
  claim_one();
  const job_id delayed = execute_one(*node_, put{.tube = "a", .key = "delayed", .body = "x", .due = 1h}).id;
  const auto version_of = [this](job_id of) { return execute_one(*node_, peek{of, false}).version; };
  const job_version of_held = version_of(held);
  const job_version of_delayed = version_of(delayed);
  for (const char* table : {"job", "ready", "delayed"}) fill(table);
  sql("SELECT setval('foliot.refusing_puts', 1)");
  using change = change_answer::kind;
  EXPECT_EQ(execute_one(*node_, fire_now{delayed, of_delayed}).what, change::no_space);
  EXPECT_EQ(execute_one(*node_, fire_now{delayed, of_delayed + 1}),
            (change_answer{change::other_version, delayed, of_delayed}));
  EXPECT_EQ(execute_one(*node_, fire_now{held, of_held}), (change_answer{change::reserved, held}));
  EXPECT_EQ(execute_one(*node_, fire_now{held, of_held + 1}), (change_answer{change::other_version, held, of_held}));
  const auto replace = [this](const char* key, job_version expected) {
    return execute_one(
        *node_, put{.tube = "a", .key = key, .body = "y", .existing = on_existing::replace, .expected = expected});
  };
  EXPECT_EQ(replace("delayed", of_delayed).what, put_answer::kind::no_space);
  EXPECT_EQ(replace("delayed", of_delayed + 1), (put_answer{put_answer::kind::other_version, delayed, of_delayed}));
  EXPECT_EQ(replace("held", of_held).what, put_answer::kind::no_space) << "a put asks for room before it is told so";
  EXPECT_EQ(replace("held", of_held + 1), (put_answer{put_answer::kind::other_version, held, of_held}));
  EXPECT_EQ(version_of(delayed), of_delayed);
  for (const char* table : {"job", "ready", "delayed"}) make_room(table);
  expect_right();
}

/// There is room for some rows: a claim brings as many jobs as it can.
TEST_F(PostgresqlRoom, AClaimBringsTheJobsThatThereIsRoomFor) {
  for (int i = 0; i < 40; ++i) put_one();
  sql("CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
      "IF (SELECT count(*) FROM foliot.reserved) > 33 THEN RAISE disk_full; END IF; RETURN NULL; END $$");
  sql("CREATE TRIGGER refuse AFTER INSERT ON foliot.reserved FOR EACH STATEMENT EXECUTE FUNCTION public.refuse()");
  EXPECT_EQ(execute_one(*node_, claim{{"a"}, 40}).jobs.size(), 32U);
  EXPECT_EQ(execute_one(*node_, claim{{"a"}, 40}).jobs.size(), 1U);
  EXPECT_EQ(execute_one(*node_, claim{{"a"}, 40}).jobs.size(), 0U);
  make_room("reserved");
  EXPECT_EQ(execute_one(*node_, claim{{"a"}, 40}).jobs.size(), 7U);
}

TEST_F(PostgresqlRoom, WhatIsDueWaitsForRoom) {
  put_one();
  const reservation over = claim_one().token;
  const job_id due = put_one(1min);
  fill("ready");
  time_.advance(2h);
  EXPECT_EQ(execute_one(*node_, finish{over}).what, holder_answer::kind::not_held) << "its time is over";
  EXPECT_EQ(counts().delayed, 1U);
  EXPECT_EQ(counts().reserved, 1U);
  EXPECT_GT((*node_).next().expiry, time_.now()) << "the next attempt comes later, not at once";
  make_room("ready");
  time_.advance(2s);
  (*node_).execute({});
  const job_counts after = counts();
  EXPECT_EQ(after.ready, 2U);
  EXPECT_EQ(execute_one(*node_, claim_job{due}).jobs.size(), 1U);
  expect_right();
}

/// Not even for the number by which a commit is looked up.
TEST_F(PostgresqlRoom, AJobIsFinishedAlsoIfThereIsRoomForNothing) {
  put_one();
  put_one();
  const reservation first = claim_one().token;
  const reservation second = claim_one().token;
  fill("batch");
  fill("job");
  EXPECT_EQ(execute_one(*node_, finish{first}).what, holder_answer::kind::done);
  EXPECT_EQ(rows("job"), "1");
  const std::string numbers = rows("batch");
  // The answer to the commit is lost, and nobody can tell whether it has happened.
  node_.break_at({3});  // the commit was sent, after the statements
  try {
    execute_one(*node_, finish{second});
    FAIL() << "the answer was lost";
  } catch (const store_unavailable& error) {
    EXPECT_TRUE(error.is_in_doubt()) << error.what();
    EXPECT_NE(std::string(error.what()).find("looked up"), std::string::npos) << error.what();
  }
  EXPECT_EQ(rows("batch"), numbers);
  make_room("batch");
  make_room("job");
  fill_ballast();
  put_one();
  EXPECT_EQ(counts().ready, 1U);
}

/// A job that a batch in doubt has reserved is nobody's, and its TTR ends that.
TEST_F(PostgresqlRoom, AClaimInDoubtWithoutANumberEndsByItsTtr) {
  put_one();
  fill("batch");
  bool is_in_doubt = false;
  // The statements, sent in vain, and rolled back; the ballast, with a commit; those without a number; then the commit.
  node_.break_at({7});
  try {
    claim_one();
  } catch (const store_unavailable& error) {
    is_in_doubt = error.is_in_doubt();
  }
  EXPECT_TRUE(is_in_doubt);
  make_room("batch");
  time_.advance(2h);
  (*node_).execute({});
  EXPECT_EQ(counts().ready, 1U);
  expect_right();
}

TEST_F(PostgresqlRoom, TheLastRoomIsForReservations) {
  fill_ballast();
  ASSERT_EQ(ballast(), "16 MB");
  EXPECT_EQ(refuses_puts(), "0");
  for (int i = 0; i < 40; ++i) put_one();
  const job_id keyed = execute_one(*node_, put{.tube = "b", .key = "k", .body = "x"}).id;
  const std::string is_full = "pg_relation_size('foliot.ballast') > 0";
  for (const char* table : {"job", "reserved"}) fill(table, "53100", is_full);
  const std::vector<claimed_job> got = execute_one(*node_, claim{{"a"}, 40}).jobs;
  EXPECT_EQ(got.size(), 40U);
  EXPECT_EQ(ballast(), "0 MB");
  EXPECT_EQ(refuses_puts(), "1");

  EXPECT_EQ(execute_one(*node_, put{.tube = "a", .body = "x"}).what, put_answer::kind::no_space);
  EXPECT_EQ(execute_one(*node_, put{.tube = "a", .key = "new", .body = "x"}).what, put_answer::kind::no_space);
  put again{.tube = "b", .key = "k", .body = "y", .existing = on_existing::replace};
  EXPECT_EQ(execute_one(*node_, again).what, put_answer::kind::no_space);
  again.existing = on_existing::keep;
  EXPECT_EQ(execute_one(*node_, again), (put_answer{put_answer::kind::kept, keyed}));
  const std::string refusal = other_.error_of("SELECT foliot.put('a', 'x')");
  EXPECT_NE(refusal.find("no room for new jobs"), std::string::npos) << refusal;
  EXPECT_NE(other_.error_of("SELECT foliot.put('b', 'y', key => 'k', existing => 'replace')"), "");
  EXPECT_EQ(sql("SELECT foliot.put('b', 'y', key => 'k')"), std::to_string(keyed));
  for (const claimed_job& each : got) {
    EXPECT_EQ(execute_one(*node_, finish{each.token}).what, holder_answer::kind::done);
  }
  EXPECT_EQ(rows("job"), "1");
  expect_right();

  // There is room again, but the ballast is tried once in a minute.
  for (const char* table : {"job", "reserved"}) make_room(table);
  rotate();
  EXPECT_EQ(ballast(), "0 MB");
  fill_ballast();
  EXPECT_EQ(ballast(), "16 MB");
  EXPECT_EQ(refuses_puts(), "0");
  put_one();
}

TEST_F(PostgresqlRoom, TheBallastTakesAllItsRoomOrNone) {
  sql("CREATE FUNCTION public.refuse_most() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
      "IF pg_relation_size('foliot.ballast') > 1048576 THEN RAISE disk_full; END IF; RETURN NEW; END $$");
  sql("CREATE TRIGGER refuse BEFORE INSERT ON foliot.ballast FOR EACH ROW EXECUTE FUNCTION public.refuse_most()");
  fill("ready");
  EXPECT_EQ(execute_one(*node_, put{.tube = "a", .body = "x"}).what, put_answer::kind::no_space);
  fill_ballast();
  EXPECT_EQ(ballast(), "0 MB");
  EXPECT_EQ(refuses_puts(), "1");
  make_room("ready");
  EXPECT_EQ(execute_one(*node_, put{.tube = "a", .body = "x"}).what, put_answer::kind::no_space);
  make_room("ballast");
  fill_ballast();
  EXPECT_EQ(ballast(), "16 MB");
  put_one();
}

/// What another database has room for goes there, and nothing moves into one without room.
TEST_F(PostgresqlRoom, OneOfTwoDatabasesRefusesPuts) {
  const std::string second = foliot_test::new_database();
  postgresql_connection at_second(second);
  put_one();
  database_map map(database_);
  map.add(second);
  postgresql_store node(foliot_test::options_of(database_, "b"));
  ASSERT_EQ(execute_one(node, put{.tube = "there", .body = "x"}).what, put_answer::kind::inserted);
  map.move("there", 1);  // the node does not know it yet
  sql("SELECT setval('foliot.refusing_puts', 1)");
  std::vector<operation> batch{put{.tube = "a", .body = "x"}, put{.tube = "there", .body = "x"},
                               put{.tube = "there", .key = "k", .body = "x"}};
  const std::vector<answer> got = node.execute(batch).answers;
  EXPECT_EQ(std::get<put_answer>(got.at(0)).what, put_answer::kind::no_space);
  EXPECT_EQ(std::get<put_answer>(got.at(1)).what, put_answer::kind::inserted);
  EXPECT_EQ(std::get<put_answer>(got.at(2)).what, put_answer::kind::inserted);
  EXPECT_EQ(at_second.sql("SELECT count(*) FROM foliot.job"), "3");

  at_second.sql("SELECT setval('foliot.refusing_puts', 1)");
  try {
    map.move("a", 1);
    ADD_FAILURE() << "jobs have moved into a database without room";
  } catch (const store_failure& error) {
    EXPECT_NE(std::string(error.what()).find("no room for new jobs"), std::string::npos) << error.what();
  }
  at_second.sql("SELECT setval('foliot.refusing_puts', 0)");
  map.move("a", 1);
  EXPECT_EQ(rows("job"), "0");
  EXPECT_EQ(at_second.sql("SELECT count(*) FROM foliot.job"), "4");
  std::size_t claimed = 0;
  for (int i = 0; i < 2; ++i)
    claimed += execute_one(node, claim{{"a", "there"}, 10}).jobs.size();  // it reads the map anew
  EXPECT_EQ(claimed, 4U);
}

TEST_F(PostgresqlRoom, ARefusedPutAllIsRememberedAsWell) {
  put_one();
  fill("job");
  put_all both;
  both.puts = {put{.tube = "a", .body = "x"}, put{.tube = "b", .body = "x"}};
  EXPECT_EQ(execute_one(*node_, both).what, put_all_answer::kind::refused);
  EXPECT_FALSE((*node_).execute({}).has_room);
}

TEST_F(PostgresqlRoom, ARefusedPutIsRememberedUntilOneHasRoom) {
  put_one();
  EXPECT_TRUE((*node_).execute({}).has_room);
  fill("job");
  EXPECT_EQ(execute_one(*node_, put{.tube = "a", .body = "x"}).what, put_answer::kind::no_space);
  EXPECT_FALSE((*node_).execute({}).has_room);
  make_room("job");
  EXPECT_FALSE((*node_).execute({}).has_room) << "the database tells it by its refusals alone";
  fill_ballast();  // before, the database refuses puts itself
  put_one();
  EXPECT_TRUE((*node_).execute({}).has_room);
}

class PostgresqlRoomAtTheEnd : public foliot_test::postgresql_clock_node {
 protected:
  PostgresqlRoomAtTheEnd() : postgresql_clock_node(500ms) {}
};

/// A node that has no room to give back its jobs tries again with the pauses of every other attempt.
TEST_F(PostgresqlRoomAtTheEnd, AttemptsToCloseHavePauses) {
  static_cast<void>(execute_one(*node_, put{.tube = "a", .body = "x"}));
  sql("CREATE SEQUENCE public.attempts");  // counts also what is rolled back
  sql("GRANT ALL ON SEQUENCE public.attempts TO public");
  sql("CREATE OR REPLACE FUNCTION foliot.close_session(ended bigint) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN "
      "PERFORM nextval('public.attempts'); RAISE disk_full; END $$");
  EXPECT_THROW((*node_).close(), store_failure);
  const int attempts = std::stoi(sql("SELECT last_value FROM public.attempts"));
  EXPECT_GE(attempts, 2);
  EXPECT_LE(attempts, 12) << "5, 10, 20, 40, 80 ms, and then 100 ms each";
}

}  // namespace
}  // namespace foliot::jobs
