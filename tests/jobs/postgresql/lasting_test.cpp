// Reservations that last (claim::lasting): the registration of their node ends, and they end with their TTR, or by a
// word with their token at any node.
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <foliot/core/virtual_clock.hpp>
#include <foliot/jobs/calls.hpp>
#include <foliot/jobs/database_map.hpp>
#include <foliot/jobs/postgresql_store.hpp>
#include <foliot/jobs/store_clocks.hpp>

#include "connection.hpp"
#include "database.hpp"
#include "jobs/kit/jobs.hpp"
#include "once_keys.hpp"
#include "one_node.hpp"
#include "two_databases.hpp"

namespace foliot::jobs {
namespace {

using namespace std::chrono_literals;
using holder = holder_answer::kind;
using foliot_test::put_one;

/// How the registration of a node ends.
enum class end_of_node : std::uint8_t { is_closed, is_silent, is_opened_again };

class PostgresqlLasting : public foliot_test::postgresql_database {
 protected:
  static constexpr std::int64_t second = 1'000'000'000;
  static constexpr std::int64_t minute = 60 * second;

  /// The clock of the database shows this much more than the system's.
  void set(const std::string& offset) {
    const std::string now = "extract(epoch FROM now() + interval '" + offset + "')";
    sql("CREATE OR REPLACE FUNCTION foliot.time_of(given bigint[]) RETURNS bigint[] LANGUAGE sql STABLE AS $$ SELECT "
        "coalesce(given, ARRAY[floor(" +
        now + " * 1000), ceil(" + now + " * 1000), " + now + " * 1000000000]::bigint[]) $$");
  }
  /// What foliot.beat() answers to a heartbeat of the node "b", at this time or by the clock of the database.
  std::string beat(std::optional<std::int64_t> at = {}) {
    return sql("SELECT foliot.beat((SELECT session FROM foliot.node WHERE name = 'b'), 0, 0, " +
               (at ? "ARRAY[0, 0, " + std::to_string(*at) + "]" : "NULL") + ")");
  }
  /// How many heartbeats end something or look for it, until one does not: one more if a minute begins meanwhile, and a
  /// registration is left.
  int heartbeats() {
    constexpr int most = 100;
    int count = 0;
    while (count < most && beat() == "t") ++count;
    return count;
  }
  /// The next whole minute of the database's clock, in ns.
  std::int64_t next_minute() { return (std::stoll(sql("SELECT (foliot.time_of(NULL))[3]")) / minute + 1) * minute; }
  /// The reservations end at this time, each so much later than the one of the job before; a pass is due.
  void end_at(std::int64_t begin, std::int64_t step) {
    sql("UPDATE foliot.reserved r SET expires = " + std::to_string(begin) + " + " + std::to_string(step) +
        " * (SELECT count(*) FROM foliot.reserved s WHERE s.id < r.id)");
    sql("UPDATE foliot.node SET looks_at = 0 WHERE name IS NULL");
  }
  /// The row of the registration that has ended, as it is.
  std::string ended_row() { return sql("SELECT format('%s %s', ctid, xmin) FROM foliot.node WHERE name IS NULL"); }
  /// The node "a" ends.
  void end_node(end_of_node how) {
    switch (how) {
      case end_of_node::is_closed: a_->close(); break;
      case end_of_node::is_opened_again:
        a_ = open("a");
        a_->close();
        break;
      case end_of_node::is_silent:
        sql("UPDATE foliot.heard h SET seen = 1 FROM foliot.node n WHERE n.session = h.session AND n.name = 'a'");
        sql("UPDATE foliot.heard h SET since = 0 FROM foliot.node n WHERE n.session = h.session AND n.name = 'b'");
        break;
    }
    heartbeats();
  }
  std::vector<claimed_job> claim_lasting(std::uint32_t count = 1) {
    return execute_one(*a_, claim{.tubes = {"t"}, .count = count, .lasting = true}).jobs;
  }
  claimed_job put_and_claim_lasting(milliseconds ttr = 1h) {
    put_one(*a_, "t", "x", ttr);
    return claim_lasting().at(0);
  }
  std::string count(const std::string& of) { return sql("SELECT count(*) FROM foliot." + of); }
  void expect_right() {
    const check_result right = b_->check();
    EXPECT_TRUE(right) << right.error();
  }
  /// Whether a reservation goes on when its node has ended.
  bool outlives(end_of_node how) {
    const reservation mine = put_and_claim_lasting().token;
    end_node(how);
    return execute_one(*b_, touch{mine}).what == holder::done;
  }

  std::unique_ptr<postgresql_store> a_ = open("a");
  const std::unique_ptr<postgresql_store> b_ = open("b");
};

class PostgresqlLastingByEnd : public PostgresqlLasting, public ::testing::WithParamInterface<end_of_node> {};

TEST_P(PostgresqlLastingByEnd, AnyNodeEndsTheReservationsOfANodeThatHasEnded) {
  for (int i = 0; i < 5; ++i) put_one(*a_, "t");
  const std::vector<claimed_job> mine = claim_lasting(5);
  put_one(*a_, "t");
  const reservation other = execute_one(*a_, claim{.tubes = {"t"}}).jobs.at(0).token;
  end_node(GetParam());
  EXPECT_EQ(sql("SELECT string_agg(coalesce(convert_from(name, 'UTF8'), '-'), ' ' ORDER BY session) FROM foliot.node"),
            "- b");
  EXPECT_EQ(count("reserved"), "5") << "the others have ended with the registration";
  expect_right();

  EXPECT_EQ(execute_one(*b_, finish{other}).what, holder::not_held);
  EXPECT_EQ(execute_one(*b_, finish{mine[0].token}).what, holder::done);
  EXPECT_EQ(execute_one(*b_, touch{mine[1].token}).what, holder::done);
  EXPECT_EQ(execute_one(*b_, release{mine[2].token}).what, holder::done);
  EXPECT_EQ(execute_one(*b_, bury{mine[3].token}).what, holder::done);
  EXPECT_EQ(execute_one(*b_, abandon{mine[4].token}).what, holder::not_held)
      << "only for the node whose client has gone";
  EXPECT_EQ(execute_one(*b_, release{mine[4].token}).what, holder::done);
  EXPECT_EQ(count("ready"), "3");
  EXPECT_EQ(count("buried"), "1");
  EXPECT_EQ(count("reserved"), "1");
  for (const claimed_job& each : mine) {
    if (each.token == mine[1].token) continue;
    EXPECT_EQ(execute_one(*b_, finish{each.token}).what, holder::not_held);
  }
  expect_right();
}

TEST_P(PostgresqlLastingByEnd, TheEndOfTheTtrEndsThem) {
  const reservation mine = put_and_claim_lasting().token;
  end_node(GetParam());
  set("59 min");
  heartbeats();
  EXPECT_TRUE(execute_one(*b_, claim{.tubes = {"t"}}).jobs.empty());
  set("61 min");
  EXPECT_EQ(execute_one(*b_, finish{mine}).what, holder::not_held);
  EXPECT_EQ(beat(), "t");
  EXPECT_EQ(beat(), "f");
  EXPECT_EQ(count("node"), "1") << "nothing is left of it";
  const claimed_job next = foliot_test::claim_one(*b_, "t");
  EXPECT_EQ(next.job.counters.timeouts, 1U);
  EXPECT_EQ(next.token.attempt, 2U);
  EXPECT_EQ(execute_one(*b_, finish{mine}).what, holder::not_held);
  expect_right();
}

/// Without is_lasting() they end with the registration, as others do, and the tests here would fail.
TEST_P(PostgresqlLastingByEnd, Canary) {
  EXPECT_TRUE(outlives(GetParam()));
  a_ = open("a");
  sql("CREATE OR REPLACE FUNCTION foliot.is_lasting(opening bigint) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL "
      "SAFE "
      "RETURN false");
  EXPECT_FALSE(outlives(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Ends, PostgresqlLastingByEnd,
                         ::testing::Values(end_of_node::is_closed, end_of_node::is_silent,
                                           end_of_node::is_opened_again));

/// Each heartbeat of each node would go through all reservations, and the next one would follow at once.
TEST_F(PostgresqlLasting, HeartbeatsLeaveARegistrationAloneWhileNothingOfItIsOver) {
  for (int i = 0; i < 2; ++i) put_and_claim_lasting();
  a_->close();
  const std::int64_t begin = next_minute();
  end_at(begin + 10 * second, 10 * second);
  EXPECT_EQ(beat(begin), "t") << "it looks when the next one ends";
  const std::string looked_at = ended_row();
  for (const int later : {0, 9, 10}) EXPECT_EQ(beat(begin + later * second), "f") << later;
  EXPECT_EQ(ended_row(), looked_at);
  EXPECT_EQ(beat(begin + 11 * second), "t");
  EXPECT_EQ(count("ready"), "1");
  EXPECT_NE(ended_row(), looked_at);
  for (const int later : {11, 20}) EXPECT_EQ(beat(begin + later * second), "f") << later;
  EXPECT_EQ(beat(begin + 21 * second), "t") << "the pass begins at the first job again";
  EXPECT_EQ(count("ready"), "2");
  EXPECT_EQ(count("node"), "1");
}

/// Those of all registrations together.
TEST_F(PostgresqlLasting, HeartbeatsLookOnceInAMinuteHoweverLateTheyEnd) {
  for (const char* const name : {"a", "c"}) {
    a_ = open(name);
    put_and_claim_lasting();
    a_->close();
  }
  const std::int64_t begin = next_minute();
  end_at(begin + 1000 * second, 0);
  sql("UPDATE foliot.node n SET looks_at = " + std::to_string(begin + 20 * second) + " + " + std::to_string(second) +
      " * (n.session = (SELECT max(m.session) FROM foliot.node m WHERE m.name IS NULL))::integer WHERE n.name IS NULL");
  for (const int later : {20, 21}) {
    EXPECT_EQ(beat(begin + later * second), "t") << later;
    EXPECT_EQ(beat(begin + later * second), "f") << later;
  }
  for (const int minutes : {1, 2, 3}) {
    EXPECT_EQ(beat(begin + minutes * minute - 1), "f") << minutes;
    EXPECT_EQ(beat(begin + minutes * minute), "t") << minutes;
    EXPECT_EQ(beat(begin + minutes * minute), "f") << minutes;
  }
  EXPECT_EQ(count("ready"), "0");
}

/// A touch brings the end forward if the clock was set back, and nobody tells the registration.
TEST_F(PostgresqlLasting, AStepBackOfTheClockHoldsUpNoEnd) {
  for (const bool looks_between : {false, true}) {
    SCOPED_TRACE(looks_between);
    a_ = open("a");
    set("10 h");
    const reservation mine = put_and_claim_lasting().token;
    a_->close();
    heartbeats();
    set("0");
    if (looks_between) {
      EXPECT_GE(heartbeats(), 1) << "the time of the next look lies too far ahead";
    }
    ASSERT_EQ(execute_one(*b_, touch{mine}).what, holder::done);
    set("61 min");
    EXPECT_EQ(heartbeats(), 1);
    EXPECT_EQ(count("reserved"), "0");
    EXPECT_EQ(count("node"), "1");
  }
}

/// A pass goes through all reservations, however soon after each other they end, and of however many registrations.
TEST_F(PostgresqlLasting, ThereIsOnePassInASecond) {
  for (const char* const name : {"a", "c", "d"}) {
    a_ = open(name);
    for (int i = 0; i < 2; ++i) put_and_claim_lasting();
    a_->close();
  }
  const std::int64_t begin = next_minute();
  constexpr std::int64_t millisecond = 1'000'000;
  end_at(begin + millisecond, 100 * millisecond);
  EXPECT_EQ(beat(begin), "t");
  for (int ms = 0; ms < 1000; ms += 50) EXPECT_EQ(beat(begin + ms * millisecond), "f") << ms;
  EXPECT_EQ(count("ready"), "0");
  EXPECT_EQ(beat(begin + second), "t");
  EXPECT_EQ(count("ready"), "6");
  EXPECT_EQ(count("node"), "1");
  EXPECT_EQ(beat(begin + second), "f");
}

/// By the plans of a node a join would read all reservations for each of the registrations.
TEST_F(PostgresqlLasting, APassReadsTheReservationsTwiceHoweverManyRegistrationsThereAre) {
  sql(foliot_test::plans_of_nodes);
  constexpr int reservations = 20'000;
  const auto end_registrations = [this](int registrations) {
    const std::string all = "generate_series(1, " + std::to_string(reservations) + ") i";
    sql("TRUNCATE foliot.reserved, foliot.job");
    sql("DELETE FROM foliot.node WHERE name IS NULL");
    sql("INSERT INTO foliot.node SELECT 1000 + i, NULL, 0, 0, 0, 0 FROM generate_series(1, " +
        std::to_string(registrations) + ") i");
    sql("INSERT INTO foliot.job SELECT i, 1, NULL, 0, 3600000, 'x' FROM " + all);
    sql("INSERT INTO foliot.reserved SELECT i, 1, 0, 0, 0, 1, 0, 0, 0, 0, 1001 + i % " + std::to_string(registrations) +
        ", 255, " + std::to_string(next_minute() + 3600 * second) + " FROM " + all);
    sql("VACUUM ANALYZE foliot.reserved, foliot.job, foliot.node");
  };
  const auto pages_of_a_pass = [this] {
    int pages = 0;
    for (int i = 0; i < 2; ++i) {  // the first one reads the catalog
      sql("UPDATE foliot.node SET looks_at = 0 WHERE name IS NULL");
      pages = pages_of("SELECT foliot.end_lasting((foliot.time_of(NULL))[3])");
      EXPECT_EQ(count("node WHERE looks_at = 0"), "0");
    }
    return pages;
  };
  end_registrations(1);
  const int of_one = pages_of_a_pass();
  const int stored = std::stoi(sql("SELECT pg_relation_size('foliot.reserved_9') / 8192"));
  EXPECT_GT(of_one, 2 * stored);
  EXPECT_LT(of_one, 3 * stored);
  constexpr int registrations = 50;
  end_registrations(registrations);
  EXPECT_LT(pages_of_a_pass(), of_one + 20 * registrations) << "and some pages for the row of each";
  EXPECT_EQ(count("reserved"), std::to_string(reservations));
}

TEST_F(PostgresqlLasting, APassLeavesOutWhatAnotherHeartbeatHasInHand) {
  put_and_claim_lasting();
  a_->close();
  foliot_test::postgresql_connection another(database_);
  another.sql("BEGIN");
  EXPECT_EQ(another.sql("SELECT foliot.end_lasting((foliot.time_of(NULL))[3])"), "t");
  sql("SET lock_timeout = '1s'");
  EXPECT_EQ(beat(), "f") << "it does not wait for the other one";
  another.sql("ROLLBACK");
  EXPECT_EQ(beat(), "t");
}

/// The others must not wait until somebody has repaired it.
TEST_F(PostgresqlLasting, ADamagedRowHoldsUpItsRegistrationAlone) {
  for (const char* const name : {"a", "c", "d"}) {
    a_ = open(name);
    put_and_claim_lasting();
    a_->close();
  }
  sql("CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE data_exception; END $$");
  const std::string first = sql("SELECT min(id) FROM foliot.reserved");
  sql("CREATE TRIGGER refuse BEFORE INSERT ON foliot.ready FOR EACH ROW WHEN (NEW.id = " + first +
      ") EXECUTE FUNCTION public.refuse()");
  end_at(1, 0);
  EXPECT_EQ(heartbeats(), 2);
  EXPECT_EQ(count("ready"), "2");
  EXPECT_EQ(sql("SELECT id FROM foliot.reserved"), first);
  sql("DROP TRIGGER refuse ON foliot.ready");
  EXPECT_EQ(heartbeats(), 1);
  EXPECT_EQ(count("ready"), "3");
  EXPECT_EQ(count("node"), "1");
  expect_right();
}

/// It has been silent, and finds out when it is closed.
TEST_F(PostgresqlLasting, ANodeChangesNothingIfItIsClosedAfterTheEndOfItsRegistration) {
  const reservation mine = put_and_claim_lasting().token;
  end_node(end_of_node::is_silent);
  const std::string row = ended_row();
  a_->close();
  EXPECT_EQ(ended_row(), row);
  EXPECT_EQ(execute_one(*b_, finish{mine}).what, holder::done);
}

/// Nobody tells the registration that a touch has moved the end.
TEST_F(PostgresqlLasting, ATouchAtAnotherNodeCounts) {
  const reservation mine = put_and_claim_lasting().token;
  a_->close();
  set("30 min");
  ASSERT_EQ(execute_one(*b_, touch{mine}).what, holder::done);
  for (const char* const before : {"61 min", "89 min"}) {
    set(before);
    EXPECT_GE(heartbeats(), 1) << "it looks, and is told when to look again";
    EXPECT_EQ(count("ready"), "0");
  }
  set("91 min");
  EXPECT_EQ(heartbeats(), 1);
  EXPECT_EQ(count("ready"), "1");
  EXPECT_EQ(count("node"), "1");
}

/// Pieces of reservations that end pass over those that last, and those that last end in pieces, too.
TEST_F(PostgresqlLasting, ManyEndInPieces) {
  constexpr std::uint32_t many = 3000;
  for (int round = 0; round < 2; ++round) {
    std::vector<operation> puts(many, put{.tube = "t", .body = "x", .ttr = 1h});
    a_->execute(puts);
    claim some{.tubes = {"t"}, .count = many / 2, .lasting = true};
    ASSERT_EQ(execute_one(*a_, some).jobs.size(), many / 2);
    some.lasting = false;
    ASSERT_EQ(execute_one(*a_, some).jobs.size(), many / 2);
  }
  sql("UPDATE foliot.heard h SET seen = 1 FROM foliot.node n WHERE n.session = h.session AND n.name = 'a'");
  sql("UPDATE foliot.heard h SET since = 0 FROM foliot.node n WHERE n.session = h.session AND n.name = 'b'");
  EXPECT_GE(heartbeats(), 3) << "two pieces, and a look at those that last";
  EXPECT_EQ(count("ready"), std::to_string(many));
  EXPECT_EQ(count("reserved"), std::to_string(many));
  expect_right();
  set("61 min");
  sql("UPDATE foliot.heard SET seen = (foliot.time_of(NULL))[3]");
  EXPECT_EQ(beat(), "t");
  EXPECT_EQ(count("reserved"), std::to_string(many - 2048));
  EXPECT_EQ(heartbeats(), 1);
  EXPECT_EQ(count("ready"), std::to_string(2 * many));
  EXPECT_EQ(sql("SELECT sum(timeouts) FROM foliot.ready"), std::to_string(many));
  EXPECT_EQ(count("node"), "1");
  expect_right();
}

/// The first pieces of one that is closed; the rest is left to the others.
TEST_F(PostgresqlLasting, ThoseOfANodeWithoutOthersStayWhenItIsClosed) {
  b_->close();
  const reservation mine = put_and_claim_lasting().token;
  a_->close();
  EXPECT_EQ(count("node"), "1");
  const auto later = open("later");
  EXPECT_EQ(execute_one(*later, finish{mine}).what, holder::done);
  const check_result right = later->check();
  EXPECT_TRUE(right) << right.error();
}

TEST_F(PostgresqlLasting, AClaimThatHappensOnceIsRepeatedAfterItsNodeHasEnded) {
  for (int i = 0; i < 2; ++i) put_one(*a_, "t");
  const claim wanted{.tubes = {"t"}, .count = 2, .once = foliot_test::once_of(1), .lasting = true};
  const std::vector<claimed_job> mine = execute_one(*a_, wanted).jobs;
  ASSERT_EQ(mine.size(), 2U);
  a_->close();
  const claim_answer again = execute_one(*b_, wanted);
  EXPECT_TRUE(again.is_replayed);
  ASSERT_EQ(again.jobs.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(again.jobs[i].token, mine[i].token);
    EXPECT_EQ(execute_one(*b_, finish{mine[i].token}).what, holder::done);
  }
}

/// Also if that node has died since: its client may go on.
TEST_F(PostgresqlLasting, ANodeDoesNotGiveBackWhatAnotherOneHadRepeatedThatHasEnded) {
  put_one(*b_, "t");
  const claim wanted{.tubes = {"t"}, .once = foliot_test::once_of(1), .lasting = true};
  const reservation mine = execute_one(*b_, wanted).jobs.at(0).token;
  EXPECT_EQ(execute_one(*a_, wanted).jobs.at(0).token, mine);
  a_->close();
  heartbeats();
  EXPECT_EQ(execute_one(*b_, abandon{mine}).what, holder::not_held);
  EXPECT_EQ(execute_one(*b_, finish{mine}).what, holder::done);
  heartbeats();
  expect_right();
}

/// Lists and metrics name the node of a reservation where it has a name.
TEST_F(PostgresqlLasting, ListsShowThemWithoutANode) {
  const reservation mine = put_and_claim_lasting().token;
  a_->close();
  const jobs_answer listed = execute_one(*b_, list_jobs{.which = job_state::reserved});
  ASSERT_EQ(listed.jobs.size(), 1U);
  EXPECT_EQ(listed.jobs[0].job.id, mine.id);
  EXPECT_EQ(listed.jobs[0].node, "");
  EXPECT_EQ(sql("SELECT value FROM foliot.metrics() WHERE name = 'nodes'"), "1");
}

TEST_F(PostgresqlLasting, AfterARestoreTheyLastUntilTheirTtr) {
  const reservation mine = put_and_claim_lasting().token;
  put_one(*a_, "t");
  const reservation other = execute_one(*a_, claim{.tubes = {"t"}}).jobs.at(0).token;
  sql("SELECT foliot.restored()");
  heartbeats();
  EXPECT_EQ(execute_one(*a_, finish{other}).what, holder::not_held);
  EXPECT_EQ(execute_one(*a_, finish{mine}).what, holder::done);
}

/// The numbers of batches would keep a partition from being truncated.
TEST_F(PostgresqlLasting, TheNumbersOfTheBatchesOfTheirRegistrationAreForgotten) {
  put_and_claim_lasting();
  end_node(end_of_node::is_silent);
  ASSERT_EQ(count("node WHERE name IS NULL"), "1");
  const std::string numbers = "batch b WHERE b.session = (SELECT session FROM foliot.node WHERE name IS NULL)";
  sql("UPDATE foliot.batch SET made = 1, part = (foliot.current_part('batch') + 1) % 3");
  ASSERT_NE(count(numbers), "0");
  sql("SELECT foliot.forget_old_batches()");
  EXPECT_EQ(count(numbers), "0");
}

/// A node of version 5 is closed while a migration runs: the end of its registration waits, and goes on with the text
/// of version 5, which calls a function that version 6 has replaced.
TEST_F(PostgresqlLasting, TheEndOfARegistrationThatHasWaitedForTheMigrationGoesOn) {
  sql("ALTER TABLE foliot.node DROP COLUMN looks_at");
  sql("CREATE OR REPLACE FUNCTION foliot.end_locked_session(ended bigint) RETURNS boolean LANGUAGE sql AS 'SELECT "
      "true'");
  sql("CREATE OR REPLACE FUNCTION foliot.end_session(ended bigint) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN "
      "PERFORM pg_advisory_xact_lock(foliot.lock_of(ended)); RETURN foliot.end_locked_session(ended); END $$");
  sql("CREATE OR REPLACE FUNCTION foliot.schema_version() RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT 5'");
  foliot_test::postgresql_connection batch(database_);
  batch.sql("BEGIN");
  batch.sql("SELECT pg_advisory_xact_lock(foliot.lock_of(999999))");  // the migration waits for no such registration
  foliot_test::postgresql_connection closing(database_);
  closing.send("SELECT foliot.end_session(999999)");
  foliot_test::until_a_lock_is_awaited(other_);
  EXPECT_EQ(postgresql_store::migrate(database_).to, 7);
  batch.sql("COMMIT");
  EXPECT_EQ(closing.finish(), "f");

  const std::string registered = sql("SELECT session FROM foliot.node WHERE name = 'a'");
  EXPECT_EQ(sql("SELECT foliot.end_locked_session(" + registered + ")"), "f");
  EXPECT_EQ(count("node WHERE session = " + registered), "0");
}

/// A node that lives on, on virtual time.
class PostgresqlLastingNode : public foliot_test::postgresql_database {
 protected:
  void lose_registration() { sql("UPDATE foliot.node SET name = NULL"); }

  virtual_clock time_;
  const virtual_wall_clock wall_{time_};
  const std::unique_ptr<postgresql_store> node_ = [this] {
    postgresql_options made = options("a");
    made.clocks = store_clocks{&wall_, &time_};
    return std::make_unique<postgresql_store>(made);
  }();
};

TEST_F(PostgresqlLastingNode, GoesOnToEndThemAfterItsRegistrationWasLost) {
  for (int i = 0; i < 3; ++i) put_one(*node_, "t", "x", 60s);
  const std::vector<claimed_job> mine = execute_one(*node_, claim{.tubes = {"t"}, .count = 2, .lasting = true}).jobs;
  ASSERT_EQ(mine.size(), 2U);
  const reservation other = execute_one(*node_, claim{.tubes = {"t"}}).jobs.at(0).token;
  lose_registration();
  EXPECT_EQ(node_->execute({}).expired, (std::vector<reservation>{other}));
  EXPECT_EQ(execute_one(*node_, finish{mine[0].token}).what, holder::done);
  time_.advance(60s);
  EXPECT_TRUE(node_->execute({}).expired.empty()) << "the last instant is the holder's";
  EXPECT_LE(node_->next().expiry, time_.now() + duration::nanoseconds(1));
  time_.advance(1ns);
  EXPECT_EQ(node_->execute({}).expired, (std::vector<reservation>{mine[1].token}));
  EXPECT_EQ(sql("SELECT string_agg(timeouts::text, ' ' ORDER BY timeouts) FROM foliot.ready"), "1");
  EXPECT_EQ(execute_one(*node_, finish{mine[1].token}).what, holder::not_held);
}

/// It is the same node.
TEST_F(PostgresqlLastingNode, GivesThemBackAfterItsRegistrationWasLost) {
  put_one(*node_, "t", "x", 60s);
  const claim wanted{.tubes = {"t"}, .once = foliot_test::once_of(1), .lasting = true};
  const reservation mine = execute_one(*node_, wanted).jobs.at(0).token;
  lose_registration();
  EXPECT_TRUE(node_->execute({}).expired.empty());
  EXPECT_EQ(execute_one(*node_, abandon{mine}).what, holder::done);
  EXPECT_EQ(sql("SELECT count(*) FROM foliot.ready"), "1");
}

/// As the memory of a broker needs it: a token says how its reservation was claimed, and no other one is the same.
TEST_F(PostgresqlLastingNode, TokensOfBothKindsDiffer) {
  std::set<std::uint64_t> openings;
  for (int i = 0; i < 4; ++i) {
    put_one(*node_, "t");
    openings.insert(execute_one(*node_, claim{.tubes = {"t"}, .lasting = i % 2 == 0}).jobs.at(0).token.opening);
  }
  ASSERT_EQ(openings.size(), 2U);
  EXPECT_EQ(*openings.begin() & 255U, 0U);
  EXPECT_EQ(*openings.begin() + 255U, *openings.rbegin());
}

using PostgresqlLastingMap = foliot_test::two_databases;

TEST_F(PostgresqlLastingMap, TheyLastInEachDatabaseFromWhichAClaimHasTaken) {
  database_map map(first_);
  map.add(second_);
  map.move("two", 1);
  auto a = open("a");
  const auto b = open("b");
  for (const char* const tube : {"one", "two"}) put_one(*a, tube);
  const std::vector<claimed_job> mine =
      execute_one(*a, claim{.tubes = {"one", "two"}, .count = 2, .lasting = true}).jobs;
  ASSERT_EQ(mine.size(), 2U);
  a->close();
  for (const claimed_job& each : mine) EXPECT_EQ(execute_one(*b, finish{each.token}).what, holder::done);
}

/// As that of a living node.
TEST_F(PostgresqlLastingMap, TheMoveOfATubeEndsWithTheLastOfThem) {
  database_map map(first_);
  map.add(second_);
  auto a = open("a");
  const auto b = open("b");
  put_one(*a, "t");
  const reservation mine = execute_one(*a, claim{.tubes = {"t"}, .lasting = true}).jobs.at(0).token;
  put_one(*a, "t");
  a->close();
  const auto moved = [this] { return ask(second_, "SELECT count(*) FROM foliot.ready"); };
  map.move("t", 1, [&](const database_map::progress&) { return moved() != "1"; });
  EXPECT_EQ(moved(), "1");
  EXPECT_EQ(execute_one(*b, touch{mine}).what, holder::done);
  EXPECT_EQ(execute_one(*b, release{mine}).what, holder::done);
  map.move("t", 1);
  EXPECT_EQ(moved(), "2");
  EXPECT_EQ(ask(first_, "SELECT count(*) FROM foliot.job"), "0");
  const check_result right = b->check();
  EXPECT_TRUE(right) << right.error();
}

}  // namespace
}  // namespace foliot::jobs
