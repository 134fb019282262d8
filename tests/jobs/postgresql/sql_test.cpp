// The SQL functions for applications, which put, cancel and reschedule jobs in transactions of their own, and what
// becomes of the nodes meanwhile.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <foliot/core/clock.hpp>
#include <foliot/jobs/calls.hpp>
#include <foliot/jobs/postgresql_store.hpp>

#include "connection.hpp"
#include "documented_sql.hpp"
#include "one_node.hpp"

namespace foliot::jobs {
namespace {

using namespace std::chrono_literals;
using application = foliot_test::postgresql_connection;
using foliot_test::documented_grants;

class PostgresqlSql : public foliot_test::postgresql_one_node {
 protected:
  static job_id put(application& by, const std::string& arguments) {
    return std::stoull(by.sql("SELECT foliot.put(" + arguments + ")"));
  }
  job_id put(const std::string& arguments) { return put(shop_, arguments); }
  claim_answer claim_all(const std::string& tube) { return execute_one(*node_, claim{.tubes = {tube}, .count = 10}); }
  std::optional<job> peek_at(job_id id) { return execute_one(*node_, peek{id}).job; }
  /// Executes these operations as one batch.
  std::vector<answer> execute(std::vector<operation> batch) { return node_->execute(batch).answers; }

  application& shop_ = other_;
};

TEST_F(PostgresqlSql, AJobIsThereIfTheTransactionIs) {
  shop_.sql("CREATE TABLE orders (id int)");
  shop_.sql("BEGIN");
  shop_.sql("INSERT INTO orders VALUES (1)");
  const job_id lost = put("'mails', 'lost'");
  EXPECT_FALSE(peek_at(lost));
  shop_.sql("ROLLBACK");
  EXPECT_TRUE(claim_all("mails").jobs.empty());

  shop_.sql("BEGIN");
  shop_.sql("INSERT INTO orders VALUES (2)");
  const job_id kept = put("'mails', 'hello, wörld'");
  EXPECT_TRUE(claim_all("mails").jobs.empty());
  shop_.sql("COMMIT");
  const claim_answer got = claim_all("mails");
  ASSERT_EQ(got.jobs.size(), 1U);
  EXPECT_EQ(got.jobs[0].job.id, kept);
  EXPECT_EQ(got.jobs[0].job.body, "hello, w\xc3\xb6rld");
  EXPECT_EQ(got.jobs[0].job.priority, 1024U);
  EXPECT_EQ(got.jobs[0].job.ttr, 60s);
  EXPECT_EQ(execute_one(*node_, finish{got.jobs[0].token}).what, holder_answer::kind::done);
  EXPECT_EQ(shop_.sql("SELECT string_agg(id::text, ' ') FROM orders"), "2");
  const check_result right = node_->check();
  EXPECT_TRUE(right) << right.error();
}

TEST_F(PostgresqlSql, AJobHasWhatItWasPutWith) {
  const job_id id = put(R"('mails', '\x00ff'::bytea, priority => 7, ttr => '1.5 s', delay => '1 h', key => 'order-7')");
  const std::optional<job> late = peek_at(id);
  ASSERT_TRUE(late);
  EXPECT_EQ(late->body, std::string("\0\xff", 2));
  EXPECT_EQ(late->priority, 7U);
  EXPECT_EQ(late->ttr, 1500ms);
  EXPECT_EQ(late->delay, 1h);
  EXPECT_EQ(late->state, job_state::delayed);
  EXPECT_EQ(late->key, "order-7");
  const std::optional<job> timed = peek_at(put("'mails', 'x', at => '2100-01-01 00:00:00.0001Z'"));
  ASSERT_TRUE(timed);
  EXPECT_EQ(timed->due, utc_time(4102444800001ms));  // rounded up: never early
  const std::optional<job> past = peek_at(put("'mails', 'x', at => '2000-01-01Z'"));
  ASSERT_TRUE(past);
  EXPECT_EQ(past->state, job_state::ready);
}

// A transaction may be old when it puts: its own time is not that of the call.
TEST_F(PostgresqlSql, ADelayBeginsWithTheCall) {
  shop_.sql("BEGIN");
  shop_.sql("SELECT pg_sleep(0.05)");
  const job_id id = put("'mails', 'x', delay => '1 h'");
  const std::string begin = shop_.sql("SELECT ceil(extract(epoch FROM now()) * 1000)::bigint");
  shop_.sql("COMMIT");
  const std::optional<job> made = peek_at(id);
  ASSERT_TRUE(made);
  EXPECT_GE(made->due.time_since_epoch(), milliseconds(std::stoll(begin)) + 1h + 50ms);
}

TEST_F(PostgresqlSql, OneJobHasAKey) {
  const job_id first = put("'mails', 'first', key => 'k', delay => '1 h'");
  EXPECT_EQ(put("'mails', 'second', key => 'k'"), first);
  EXPECT_EQ(shop_.ask("SELECT foliot.put('mails', 'second', key => 'k', existing => 'refuse')"), std::nullopt);
  EXPECT_EQ(peek_at(first)->body, "first");
  EXPECT_NE(put("'others', 'another tube', key => 'k'"), first);
  const job_id third = put("'mails', 'third', key => 'k', existing => 'replace'");
  EXPECT_FALSE(peek_at(first));
  ASSERT_EQ(claim_all("mails").jobs.size(), 1U);
  EXPECT_EQ(shop_.ask("SELECT foliot.put('mails', 'fourth', key => 'k', existing => 'replace')"), std::nullopt);
  EXPECT_EQ(put("'mails', 'fourth', key => 'k'"), third);  // a worker has it, and it is kept
}

TEST_F(PostgresqlSql, WaitingJobsAreCancelledAndRescheduled) {
  const job_id ready = put("'mails', 'a'");
  const job_id late = put("'mails', 'b', delay => '1 h', key => 'late'");
  const std::string number = std::to_string(ready);
  EXPECT_EQ(shop_.sql("SELECT foliot.reschedule(" + number + ", '2 h')"), "t");
  EXPECT_EQ(peek_at(ready)->state, job_state::delayed);
  EXPECT_EQ(shop_.sql("SELECT foliot.reschedule(" + number + ", at => '2000-01-01Z')"), "t");
  EXPECT_EQ(peek_at(ready)->state, job_state::ready);
  EXPECT_EQ(shop_.sql("SELECT foliot.reschedule_by_key('mails', 'late')"), "t");
  EXPECT_EQ(peek_at(late)->state, job_state::ready);
  EXPECT_EQ(shop_.sql("SELECT foliot.cancel(" + number + ")"), "t");
  EXPECT_EQ(shop_.sql("SELECT foliot.cancel(" + number + ")"), "f");
  EXPECT_EQ(shop_.sql("SELECT foliot.cancel_by_key('mails', 'late')"), "t");
  EXPECT_EQ(shop_.sql("SELECT foliot.cancel_by_key('mails', 'late')"), "f");
  EXPECT_EQ(shop_.sql("SELECT foliot.cancel_by_key('nowhere', 'late')"), "f");
  EXPECT_EQ(execute_one(*node_, count_all{}).counts, job_counts{});
  const check_result right = node_->check();
  EXPECT_TRUE(right) << right.error();
}

// The answer comes at once, and leaves no lock: the worker finishes its job though the transaction stays open.
TEST_F(PostgresqlSql, AJobThatAWorkerHasIsLeftAlone) {
  const job_id id = put("'mails', 'a', key => 'k'");
  const claim_answer got = claim_all("mails");
  ASSERT_EQ(got.jobs.size(), 1U);
  shop_.sql("BEGIN");
  EXPECT_EQ(shop_.sql("SELECT foliot.cancel(" + std::to_string(id) + ")"), "f");
  EXPECT_EQ(shop_.sql("SELECT foliot.reschedule_by_key('mails', 'k', '1 h')"), "f");
  EXPECT_EQ(put("'mails', 'b', key => 'k'"), id);
  EXPECT_EQ(shop_.ask("SELECT foliot.put('mails', 'b', key => 'k', existing => 'replace')"), std::nullopt);
  EXPECT_EQ(execute_one(*node_, touch{got.jobs[0].token}).what, holder_answer::kind::done);
  EXPECT_EQ(execute_one(*node_, finish{got.jobs[0].token}).what, holder_answer::kind::done);
  shop_.sql("COMMIT");
}

// A worker gets the job while the application already waits for it: the application leaves no lock then either.
TEST_F(PostgresqlSql, AWorkerMayBeQuickerThanACancel) {
  const std::string id = std::to_string(put("'mails', 'a'"));
  application worker(database_);
  worker.sql("BEGIN");
  ASSERT_EQ(worker.sql("DELETE FROM foliot.ready WHERE id = " + id + " RETURNING 1"), "1");
  worker.sql(
      "INSERT INTO foliot.reserved SELECT j.id, j.tube, 1024, j.made, 0, 1, 0, 0, 0, 0, n.session, 7, "
      "9000000000000000000 FROM foliot.job j, foliot.node n WHERE j.id = " +
      id);
  shop_.sql("BEGIN");
  shop_.send("SELECT foliot.cancel(" + id + ")");
  while (worker.sql("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = "
                    "current_database()") != "1") {
  }
  worker.sql("COMMIT");
  EXPECT_EQ(shop_.finish(), "f");
  EXPECT_EQ(worker.error_of("SELECT 1 FROM foliot.job WHERE id = " + id + " FOR UPDATE NOWAIT"), "");
  shop_.sql("COMMIT");
}

// The key has a job all the time: one is replaced by another, for which the change waits.
TEST_F(PostgresqlSql, AChangeByKeyFindsTheJobThatHasReplacedAnother) {
  const std::string waiting =
      "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()";
  const std::vector<std::pair<const char*, const char*>> changes{
      {"SELECT foliot.cancel_by_key('mails', 'k')", "t"},
      {"SELECT foliot.reschedule_by_key('mails', 'k', '1 h')", "t"},
      {"SELECT (foliot.change_waiting(NULL, '{0}', '{0}', '{mails}', '{k}', '{0}', '{0}'))[1]", "0"}};
  application other(database_);
  for (const auto& [change, answer] : changes) {
    SCOPED_TRACE(change);
    put("'mails', 'a', key => 'k'");
    shop_.sql("BEGIN");
    put("'mails', 'b', key => 'k', existing => 'replace'");
    other.send(change);
    while (shop_.sql(waiting) != "1") {
    }
    shop_.sql("COMMIT");
    EXPECT_EQ(other.finish(), answer);
    shop_.sql("SELECT foliot.cancel_by_key('mails', 'k')");
  }
}

// A worker's TTR is over, and its node has not ended the reservation yet: that is the node's to do.
TEST_F(PostgresqlSql, AReservationEndsOnlyByItsNode) {
  const job_id id = put("'mails', 'a', ttr => '1 ms'");
  ASSERT_EQ(claim_all("mails").jobs.size(), 1U);
  shop_.sql("SELECT pg_sleep(0.01)");
  EXPECT_EQ(shop_.sql("SELECT foliot.cancel(" + std::to_string(id) + ")"), "f");
  EXPECT_EQ(claim_all("mails").jobs.size(), 1U);
}

// What a transaction holds concerns the operations that need it, and no other: not those of the same batch either.
TEST_F(PostgresqlSql, AnOpenTransactionHoldsUpOnlyWhatNeedsItsJobs) {
  const std::uint64_t cancelled = put("'mails', 'cancelled'");
  const std::uint64_t moved = put("'mails', 'moved', delay => '1 h'");
  const std::uint64_t other = put("'mails', 'other'");
  shop_.sql("BEGIN");
  EXPECT_EQ(shop_.sql("SELECT foliot.cancel(" + std::to_string(cancelled) + ")"), "t");
  EXPECT_EQ(shop_.sql("SELECT foliot.reschedule(" + std::to_string(moved) + ")"), "t");
  put("'mails', 'of the shop', key => 'k'");
  put("'new', 'of the shop'");
  const std::vector<operation> batch{
      jobs::put{.tube = "mails", .key = "k", .body = "held up"},
      jobs::put{.tube = "mails", .body = "plain"},
      kick_job{cancelled},
      claim_job{moved},
      jobs::put{.tube = "new", .body = "held up, too"},
      jobs::put{.tube = "mails", .key = "another", .body = "keyed"},
      pause{.tube = "new", .length = 1h},
      cancel{moved},
      claim{.tubes = {"mails", "new"}, .count = 10},
      kick{.tube = "mails", .count = 10, .only = job_state::delayed},
  };
  for (int round = 0; round < 2; ++round) {  // the second one knows already that locks are held
    SCOPED_TRACE(round);
    const std::vector<answer> got = execute(batch);
    for (const std::size_t each : {0U, 2U, 3U, 4U, 6U, 7U}) {
      EXPECT_TRUE(std::holds_alternative<passed_over_answer>(got[each])) << each;
    }
    EXPECT_EQ(std::get<put_answer>(got[1]).what, put_answer::kind::inserted);
    EXPECT_EQ(std::get<put_answer>(got[5]).what, round == 0 ? put_answer::kind::inserted : put_answer::kind::kept);
    const claim_answer& claimed = std::get<claim_answer>(got[8]);
    EXPECT_EQ(claimed.jobs.size(), round == 0 ? 3U : 1U);
    if (round == 0) {
      EXPECT_EQ(claimed.jobs.back().job.id, other);
    }
    EXPECT_EQ(std::get<bulk_answer>(got[9]), bulk_answer{});
  }
  EXPECT_THROW(execute_one(*node_, cancel{moved}), store_unavailable);
  shop_.sql("COMMIT");
  EXPECT_EQ(execute_one(*node_, cancel{cancelled}).what, change_answer::kind::gone);
  EXPECT_EQ(execute_one(*node_, jobs::put{.tube = "mails", .key = "k", .body = "x"}).what, put_answer::kind::kept);
  EXPECT_EQ(execute_one(*node_, claim_job{moved}).jobs.size(), 1U);
  EXPECT_EQ(claim_all("new").jobs.size(), 1U);
  const check_result right = node_->check();
  EXPECT_TRUE(right) << right.error();
}

// Whatever the application does with the ready job, the delayed and the buried ones are not its.
TEST_F(PostgresqlSql, AClearPassesOverLockedJobsOfEachState) {
  execute_one(*node_, jobs::put{.tube = "mails", .body = "buried"});
  execute_one(*node_, bury{claim_all("mails").jobs.at(0).token});
  const job_id locked = put("'mails', 'ready'");
  put("'mails', 'delayed', delay => '1 h'");
  shop_.sql("BEGIN");
  shop_.sql("SELECT FROM foliot.job WHERE id = " + std::to_string(locked) + " FOR UPDATE");
  EXPECT_EQ(execute_one(*node_, clear_tube{.tube = "mails"}).changed, 2U);
  shop_.sql("COMMIT");
  EXPECT_EQ(execute_one(*node_, clear_tube{.tube = "mails"}).changed, 1U);
}

// The job is due, and cannot become ready: a node that looked again at once would do nothing else.
TEST_F(PostgresqlSql, ADueJobThatIsHeldIsLookedForNowAndThen) {
  const job_id held = put("'mails', 'a', delay => '20 ms'");
  const job_id other = put("'mails', 'b', delay => '1 h'");
  shop_.sql("BEGIN");
  EXPECT_EQ(shop_.sql("SELECT foliot.cancel(" + std::to_string(held) + ")"), "t");
  shop_.sql("SELECT pg_sleep(0.03)");
  const auto before = std::chrono::floor<milliseconds>(wall_clock::to_sys(wall_clock::instance().now()));
  execute({});
  EXPECT_GE(node_->next().due, before + 100ms);
  EXPECT_LT(node_->next().due, peek_at(other)->due);
  shop_.sql("ROLLBACK");
  while (!claim_all("mails").jobs.empty() || peek_at(held)->state == job_state::delayed) {
  }
  EXPECT_EQ(peek_at(held)->state, job_state::reserved);
  EXPECT_GT(node_->next().due, before + 30min);
}

// A claim passes over a job that an application is just cancelling, and finds it again if that is rolled back.
TEST_F(PostgresqlSql, ACancelThatIsRolledBackHasNotHappened) {
  const job_id id = put("'mails', 'a'");
  shop_.sql("BEGIN");
  EXPECT_EQ(shop_.sql("SELECT foliot.cancel(" + std::to_string(id) + ")"), "t");
  EXPECT_TRUE(claim_all("mails").jobs.empty());
  shop_.sql("ROLLBACK");
  EXPECT_EQ(claim_all("mails").jobs.size(), 1U);
}

// Under repeatable read a function cannot see what has changed since the transaction began.
TEST_F(PostgresqlSql, ASnapshotThatIsTooOldIsASerializationFailure) {
  const job_id id = put("'mails', 'a'");
  shop_.sql("BEGIN ISOLATION LEVEL REPEATABLE READ");
  shop_.sql("SELECT 1 FROM foliot.tube");
  ASSERT_EQ(claim_all("mails").jobs.size(), 1U);
  const std::string error = shop_.error_of("SELECT foliot.cancel(" + std::to_string(id) + ")");
  EXPECT_NE(error.find("could not serialize"), std::string::npos) << error;
  shop_.sql("ROLLBACK");
}

TEST_F(PostgresqlSql, AKeyOfAJobThatHasEndedSinceTheSnapshotIsASerializationFailure) {
  put("'mails', 'a', key => 'k'");
  for (const char* const existing : {"keep", "refuse"}) {
    shop_.sql("BEGIN ISOLATION LEVEL REPEATABLE READ");
    // It is there, and stays without a lock.
    EXPECT_NE(shop_.sql("SELECT foliot.put('mails', 'b', key => 'k')"), "NULL");
    for (const claimed_job& mine : claim_all("mails").jobs) execute_one(*node_, finish{mine.token});
    const std::string how = std::string("existing => '") + existing + "')";
    const std::string error = shop_.error_of("SELECT foliot.put('mails', 'b', key => 'k', " + how);
    EXPECT_NE(error.find("could not serialize"), std::string::npos) << error;
    shop_.sql("ROLLBACK");
    put("'mails', 'a', key => 'k'");
  }
}

TEST_F(PostgresqlSql, AScheduleIsAJobOfTheServer) {
  const std::string tube = "-foliot.schedules";
  const auto put_schedule = [this](const std::string& plan) {
    return shop_.sql("SELECT foliot.put_schedule('mails', 'nightly', '" + plan + "')");
  };
  shop_.sql("BEGIN");
  EXPECT_EQ(put_schedule(R"({"rules": ["@daily"]})"), "made");
  shop_.sql("ROLLBACK");
  EXPECT_TRUE(claim_all(tube).jobs.empty());
  EXPECT_EQ(put_schedule(R"({"rules": ["@daily"]})"), "made");
  claim_answer got = claim_all(tube);
  ASSERT_EQ(got.jobs.size(), 1U) << "it is due at once";
  const job record = got.jobs[0].job;
  EXPECT_EQ(record.key, "mails:nightly");
  EXPECT_EQ(record.body, R"({"rules": ["@daily"]})");
  EXPECT_EQ(record.ttr, 30s);
  EXPECT_EQ(record.priority, 0U);
  EXPECT_EQ(put_schedule(R"({"rules": ["@hourly"]})"), "NULL") << "a turn has it";
  // A change keeps the history, and makes it due at once, wherever it waits.
  job_fields history;
  static_cast<void>(history.set(0x01f1, "state"));
  execute_one(*node_, release{got.jobs[0].token, std::nullopt, milliseconds(1h), history});
  EXPECT_TRUE(claim_all(tube).jobs.empty());
  EXPECT_EQ(put_schedule(R"({"rules": ["@hourly"]})"), "changed");
  got = claim_all(tube);
  ASSERT_EQ(got.jobs.size(), 1U);
  EXPECT_EQ(got.jobs[0].job.id, record.id);
  EXPECT_EQ(got.jobs[0].job.body, R"({"rules": ["@hourly"]})");
  EXPECT_EQ(got.jobs[0].job.history, history);
  execute_one(*node_, bury{got.jobs[0].token});
  EXPECT_EQ(put_schedule(R"({"rules": ["@weekly"]})"), "changed");
  EXPECT_EQ(claim_all(tube).jobs.size(), 1U);
  const check_result right = node_->check();
  EXPECT_TRUE(right) << right.error();
}

TEST_F(PostgresqlSql, APolicyIsAJobOfTheServer) {
  const auto put_policy = [this](const std::string& policy) {
    return shop_.sql("SELECT foliot.put_policy('mails', '" + policy + "')");
  };
  const auto record = [this] { return execute_one(*node_, peek{job_key{"-foliot.policies", "mails"}, true}); };
  shop_.sql("BEGIN");
  EXPECT_EQ(put_policy(R"({"tries": 5})"), "made");
  shop_.sql("ROLLBACK");
  EXPECT_FALSE(record().job);
  EXPECT_EQ(put_policy(R"({"tries": 5})"), "made");
  const peek_answer first = record();
  ASSERT_TRUE(first.job);
  EXPECT_EQ(first.job->body, R"({"tries": 5})");
  EXPECT_EQ(first.job->state, job_state::delayed);
  EXPECT_EQ(first.job->due, latest_due()) << "nobody claims it";
  EXPECT_EQ(put_policy(R"({"tries": 6, "delay": ["1s", "1m"]})"), "changed");
  const peek_answer second = record();
  ASSERT_TRUE(second.job);
  EXPECT_EQ(second.job->body, R"({"delay": ["1s", "1m"], "tries": 6})");
  EXPECT_EQ(second.job->due, latest_due());
  for (const char* const right :
       {R"({"tries": null, "delay": null})", "{}", R"({"expires": "1.5h30m", "delay": "0s"})",
        R"({"delay": {"listed": [1, "2m"], "jitter": 0.25}})",
        R"({"delay": {"first": "1d", "factor": 1.5, "most": null}})",
        R"({"tries": 1, "dead_letters": "b", "expires": 300, "most_per_second": 5, "burst": 2})",
        R"({"dead_letters": "", "counts_timeouts": false, "delay": 31536000})"})
    EXPECT_EQ(put_policy(right), "changed") << right;
  EXPECT_TRUE(second.version != first.version || second.job->id != first.job->id) << "nodes see it by that";
  const check_result right = node_->check();
  EXPECT_TRUE(right) << right.error();
}

TEST_F(PostgresqlSql, SoManyPoliciesAndNoMore) {
  EXPECT_EQ(shop_.sql("SELECT count(foliot.put_policy('t' || n, '{\"tries\": 1}')) FROM generate_series(1, 10000) n"),
            "10000");
  EXPECT_THROW(shop_.sql("SELECT foliot.put_policy('more', '{}')"), std::runtime_error);
  EXPECT_EQ(shop_.sql("SELECT foliot.put_policy('t7', '{}')"), "changed");
  EXPECT_EQ(execute_one(*node_, cancel{job_key{"-foliot.policies", "t8"}}).what, change_answer::kind::done);
  EXPECT_EQ(shop_.sql("SELECT foliot.put_policy('more', '{}')"), "made");
}

TEST_F(PostgresqlSql, WhatIsWrongIsNamed) {
  const std::vector<std::pair<const char*, const char*>> wrong{
      {"put('', 'x')", "the name of a tube must have 1 to 200 letters"},
      {"put(NULL, 'x')", "the name of a tube must have 1 to 200 letters"},
      {"put('two words', 'x')", "got 'two words'"},
      {"put('-a', 'x')", "not begin with a -"},
      {"put(repeat('a', 100000), 'x')", "aaa... (100002 characters)"},
      {"put('a', NULL::text)", "a body must have at most 16777216 bytes; got NULL"},
      {"put('a', repeat('x', 16777217))", "got 16777217"},
      {"put('a', 'x', priority => 4294967296)", "a priority must be from 0 to 4294967295; got 4294967296"},
      {"put('a', 'x', priority => -1)", "a priority must be from 0 to 4294967295; got -1"},
      {"put('a', 'x', ttr => '0')", "ttr must be from 1 ms"},
      {"put('a', 'x', delay => '-1 ms')", "delay must be from 0 ms"},
      {"put('a', 'x', delay => '200 years')", "delay must be from 0 ms"},
      {"put('a', 'x', delay => NULL)", "delay must be from 0 ms to 4294967295 s; got NULL"},
      {"put('a', 'x', delay => '1 s', at => now())", "a delay or a time, not both"},
      {"put('a', 'x', at => 'infinity')", "from 1970 to 2261; got infinity"},
      {"put('a', 'x', at => '1969-12-31Z')", "from 1970 to 2261"},
      {"put('a', 'x', key => repeat('k', 129))", "kkk... (131 characters)"},
      {"put('a', 'x', key => '-')", "not be - alone; got 1 of them: \"-\""},
      {"put('a', 'x', key => E'a\\r\\nDELETED\\r\\nx')", R"(got 13 of them: "a\r\nDELETED\r\nx")"},
      {"cancel_by_key('a', 'a b')", "got 3 of them: \"a b\""},
      {"put('a', 'x', existing => repeat('e', 100000))", "existing must be keep, replace or refuse; got eee"},
      {"reschedule(1, '-1 s')", "delay must be from 0 ms"},
      {"tell('')", "the name of a tube must have 1 to 200 letters"},
      {"put_policy('-foliot.actions', '{}')", "the name of a tube must have 1 to 200 letters"},
      {"put_policy('a', NULL)", "a policy must be an object, such as {\"tries\": 5, \"delay\": \"10s\"}; got NULL"},
      {"put_policy('a', '[1]')", "a policy must be an object"},
      {"put_policy('a', '{\"tires\": 5}')", "most_per_second, burst; got tires"},
      {"put_policy('a', jsonb_build_object('dead_letters', repeat('x', 16384)))", "at most 16384 bytes; got 16404"},
      {"put_policy('a', '{\"tries\": \"many\"}')", "tries must be a whole number from 0 to 1000000; got \"many\""},
      {"put_policy('a', '{\"tries\": 1.5}')", "tries must be a whole number from 0 to 1000000; got 1.5"},
      {"put_policy('a', '{\"tries\": 1000001}')", "tries must be a whole number"},
      {"put_policy('a', '{\"most_reserved\": -1}')", "most_reserved must be a whole number"},
      {"put_policy('a', '{\"burst\": 5}')", "burst needs most_per_second"},
      {"put_policy('a', '{\"burst\": 0, \"most_per_second\": 1}')", "burst must be a whole number from 1 to"},
      {"put_policy('a', '{\"counts_releases\": 1}')", "counts_releases must be true or false; got 1"},
      {"put_policy('a', '{\"expires\": \"5 m\"}')", "expires must be a length of time such as \"1h30m\""},
      {"put_policy('a', '{\"expires\": 4294967296}')", "at most 4294967295 s; got 4294967296"},
      {"put_policy('a', '{\"expires\": \"0m\"}')", "expires must be a length of time"},
      {"put_policy('a', '{\"delay\": []}')", "listed delays must be an array of 1 to 100 lengths of time"},
      {"put_policy('a', '{\"delay\": true}')", "listed delays must be an array"},
      {"put_policy('a', '{\"delay\": [\"1s\", null]}')", "delay must be a length of time"},
      {"put_policy('a', '{\"delay\": {\"factor\": 0.5}}')", "factor of delay must be a number from 1 to 100; got 0.5"},
      {"put_policy('a', '{\"delay\": {\"first\": \"1h\", \"most\": \"1s\"}}')",
       "most of delay must not be shorter than first"},
      {"put_policy('a', '{\"delay\": {\"listed\": [1], \"first\": 1}}')", "listed of delay excludes first"},
      {"put_policy('a', '{\"delay\": {\"frist\": 1}}')", "first, factor, most, jitter; got frist"},
      {"put_policy('a', '{\"delay\": \"366d\"}')", "and at most 31536000 s; got \"366d\""},
      {"put_policy('a', '{\"dead_letters\": \"b\"}')", "dead_letters needs tries from 1 on"},
      {"put_policy('a', '{\"tries\": 1, \"dead_letters\": \"a\"}')", "dead_letters must be another tube than its own"},
      {"put_policy('a', '{\"tries\": 1, \"dead_letters\": \"a b\"}')", "the name of a tube must have 1 to 200 letters"},
      {"put_policy('a', '{\"tries\": 1, \"dead_letters\": 7}')", "dead_letters must be the name of a tube; got 7"},
      {"put_schedule('-a', 'x', '{\"rules\": []}')", "the name of a tube must have 1 to 200 letters"},
      {"put_schedule('a', 'b c', '{\"rules\": []}')", "the name of a schedule must have 1 to 100 letters"},
      {"put_schedule('a', NULL, '{\"rules\": []}')", "and not begin with a -; got NULL"},
      {"put_schedule('a', repeat('x', 101), '{\"rules\": []}')", "the name of a schedule must have 1 to 100 letters"},
      {"put_schedule(repeat('a', 150), repeat('x', 50), '{\"rules\": []}')",
       "at most 199 characters together; got 200"},
      {"put_schedule('a', 'x', NULL)", "a plan must be an object with rules"},
      {"put_schedule('a', 'x', '[\"rules\"]')", "a plan must be an object with rules"},
      {"put_schedule('a', 'x', '{\"rule\": []}')", "such as {\"rules\": [\"0 9 * * MON-FRI\"]}; got {\"rule\": []}"},
      {"put_schedule('a', 'x', jsonb_build_object('rules', repeat('x', 1048576)))", "at most 1048576 bytes; got 10485"},
  };
  for (const auto& [call, text] : wrong) {
    const std::string error = shop_.error_of(std::string("SELECT foliot.") + call);
    EXPECT_TRUE(error.contains(text) && error.size() < 2000) << call << " says: " << error;
  }
  EXPECT_EQ(execute_one(*node_, count_all{}).counts, job_counts{});
}

/// Roles belong to the whole server: this one goes with its test.
class PostgresqlSqlRole : public PostgresqlSql {
 protected:
  PostgresqlSqlRole() { shop_.sql("CREATE ROLE " + role_ + " LOGIN"); }
  ~PostgresqlSqlRole() override {
    shop_.sql("DROP OWNED BY " + role_);
    shop_.sql("DROP ROLE " + role_);
  }
  [[nodiscard]] std::string as_role() const {
    std::string made = database_;
    made.replace(made.find("user=postgres"), 13, "user=" + role_);
    return made;
  }
  static void expect_refused(application& by, const std::string& statement) {
    const std::string error = by.error_of(statement);
    EXPECT_NE(error.find("permission denied"), std::string::npos) << statement << " says: " << error;
  }

  const std::string role_ = "shop_" + database_.substr(database_.rfind('=') + 1);
};

TEST_F(PostgresqlSqlRole, CanDoNothingElse) {
  shop_.sql(documented_grants("serve/sql.md", "shop", role_));
  const job_id id = put("'mails', 'of another'");
  application least(as_role());
  const std::string own = std::to_string(put(least, "'mails', 'x', key => 'k', delay => '1 h'"));
  EXPECT_EQ(least.sql("SELECT foliot.reschedule(" + own + ", '2 h')"), "t");
  EXPECT_EQ(least.sql("SELECT foliot.reschedule_by_key('mails', 'k', '3 h')"), "t");
  EXPECT_EQ(least.sql("SELECT foliot.cancel_by_key('mails', 'k')"), "t");
  EXPECT_EQ(least.sql("SELECT foliot.cancel(" + own + ")"), "f");
  least.sql("SELECT foliot.tell('mails')");
  EXPECT_EQ(least.sql(R"(SELECT foliot.put_policy('mails', '{"tries": 5}'))"), "made");
  EXPECT_EQ(least.sql(R"(SELECT foliot.put_schedule('mails', 's', '{"rules": ["@daily"]}'))"), "made");
  for (const char* table : {"job", "ready", "delayed", "reserved", "buried", "tube", "pause", "node", "batch", "map",
                            "database", "tube_place", "away", "leaving", "arrived", "origin"}) {
    expect_refused(least, std::string("SELECT * FROM foliot.") + table);
    expect_refused(least, std::string("DELETE FROM foliot.") + table);
  }
  expect_refused(least, "SELECT foliot.change_for_application(" + std::to_string(id) + ", NULL, true)");
  // Functions of the caller's own, or operators, are not called with the owner's rights.
  least.sql("CREATE TEMP TABLE tube (id int, name bytea)");
  EXPECT_NO_THROW(put(least, "'mails', 'x'"));
}

TEST_F(PostgresqlSqlRole, CanCallWhatItWasGranted) {
  const std::string puts = shop_.sql(
      "SELECT string_agg(p.oid::regprocedure::text, ', ') FROM pg_proc p "
      "WHERE p.pronamespace = 'foliot'::regnamespace AND p.proname = 'put'");
  shop_.sql("GRANT USAGE ON SCHEMA foliot TO " + role_);
  const std::vector<std::string> others{
      "cancel(1)",
      "cancel_by_key('mails', 'k')",
      "reschedule(1, '1 h')",
      "reschedule_by_key('mails', 'k', '1 h')",
      "tell('mails')",
      "put_schedule('mails', 'x', '{}')",
      "put_policy('mails', '[]')",
  };
  application least(as_role());
  for (const char* body : {"'x'", "'x'::bytea"}) {
    expect_refused(least, std::string("SELECT foliot.put('mails', ") + body + ")");
  }
  shop_.sql("GRANT EXECUTE ON FUNCTION " + puts + " TO " + role_);
  for (int i = 0; i < 2; ++i) {
    put(least, "'mails', 'x'");
    put(least, "'mails', 'x'::bytea");
    for (const std::string& each : others) expect_refused(least, "SELECT foliot." + each);
    postgresql_store::migrate(database_);  // keeps what was granted, and refuses the rest again
  }
  EXPECT_EQ(execute_one(*node_, count_all{}).counts.ready, 4U);
}

TEST_F(PostgresqlSql, TellWakesANodeAndIsForAfterTheCommit) {
  postgresql_options quiet = options("listens");
  quiet.scan_every = 1h;
  postgresql_store listening(quiet);
  ASSERT_NE(listening.others(), nullptr);
  shop_.sql("BEGIN");
  put("'mails', 'x'");
  EXPECT_NE(shop_.error_of("SELECT foliot.tell('mails')").find("after the commit"), std::string::npos);
  shop_.sql("ROLLBACK");
  bool was_heard = false;
  // A message that is sent before the node listens is lost.
  for (int i = 0; i < 100 && !was_heard; ++i) {
    shop_.sql("SELECT foliot.tell('mails')");
    for (int wait = 0; wait < 100 && !was_heard; ++wait) {
      for (const std::string& each : listening.others()->take_news().tubes) was_heard = was_heard || each == "mails";
      shop_.sql("SELECT pg_sleep(0.005)");
    }
  }
  EXPECT_TRUE(was_heard);
}

}  // namespace
}  // namespace foliot::jobs
