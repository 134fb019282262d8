// Batches in doubt: the connection of a node breaks while it commits.
//
// The exchanges of a batch are: its statements were sent, their replies are here, its commit was sent.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <foliot/core/clock.hpp>
#include <foliot/core/virtual_clock.hpp>
#include <foliot/jobs/calls.hpp>
#include <foliot/jobs/postgresql_store.hpp>
#include <foliot/jobs/store_clocks.hpp>

#include "broken_node.hpp"
#include "connection.hpp"
#include "database.hpp"
#include "jobs/kit/jobs.hpp"

namespace foliot::jobs {
namespace {

using namespace std::chrono_literals;
using foliot_test::broken_node;
using foliot_test::claim_one;
using foliot_test::postgresql_connection;
using foliot_test::put_one;
using foliot_test::until_available;

class PostgresqlInDoubt : public foliot_test::postgresql_database {
 protected:
  /// Of a node that gives up at once.
  [[nodiscard]] postgresql_options impatient(const std::string& node) const {
    return foliot_test::options_of(for_nodes_, node, 20ms);
  }
};

TEST_F(PostgresqlInDoubt, OnlyABatchWhoseCommitWasBegunIsInDoubt) {
  for (const int breaks_at : {1, 2, 3}) {
    broken_node a(impatient("a" + std::to_string(breaks_at)));
    const std::string body = "body " + std::to_string(breaks_at);
    a.break_from(breaks_at);
    try {
      put_one(*a, "a", body);
      ADD_FAILURE() << "a put succeeds over a broken connection";
    } catch (const store_unavailable& error) {
      EXPECT_EQ(error.is_in_doubt(), breaks_at != 1) << error.what();
    }
    a.heal();
    until_available([&] { (*a).execute({}); });  // it has found out what became of its own registration
    const std::string count = "SELECT count(*) FROM foliot.job WHERE body = '" + body + "'::bytea";
    if (breaks_at == 3) {
      while (sql(count) != "1") {  // the server may not have come to it yet
      }
    } else {
      EXPECT_EQ(sql(count), "0");
    }
    until_available([&] { put_one(*a, "a", "the node goes on"); });
  }
}

/// The commit of a batch, and the commits of the questions whether it has happened, break at each place.
TEST_F(PostgresqlInDoubt, NoBatchIsLostOrHappensTwiceWhereverItsConnectionsBreak) {
  broken_node a(options("a"));
  // A batch takes the exchanges 1 to 3; a question a connection and the same: 4 to 7, and 8 to 11.
  int put = 0;
  for (int first = 1; first <= 4; ++first) {
    for (int second = first; second <= 8; ++second) {
      for (int third = second; third <= 12; ++third) {
        SCOPED_TRACE(std::to_string(first) + ", " + std::to_string(second) + ", " + std::to_string(third));
        a.break_at({first, second, third});
        const job_id id = put_one(*a, "a", "body");
        a.heal();
        ++put;
        ASSERT_TRUE(execute_one(*a, peek{id}).job);
        ASSERT_EQ(execute_one(*a, count_all{}).counts.ready, static_cast<std::uint64_t>(put));
      }
    }
  }
}

TEST_F(PostgresqlInDoubt, ABatchInDoubtHappensOnceAlsoIfItsSessionEndsMeanwhile) {
  broken_node a(options("a"));
  const std::string session = sql("SELECT session FROM foliot.node");
  a.break_at({3});  // its commit was sent
  a.at_exchange = [&](int number) {
    // The node has connected again, and is about to ask.
    if (number == 4) sql("SELECT foliot.end_session(" + session + ")");
  };
  put_one(*a, "a", "once");
  a.heal();
  a.at_exchange = {};
  EXPECT_EQ(execute_one(*a, count_all{}).counts.ready, 1U);
  EXPECT_NE(sql("SELECT session FROM foliot.node"), session);
}

// Only the node that made a claim can give back its jobs, if the claim was committed after all.
TEST_F(PostgresqlInDoubt, AJobOfAClaimInDoubtIsThereAgainWhenTheDatabaseIs) {
  for (const int breaks_at : {2, 3}) {  // the commit is not sent; its answer is lost
    SCOPED_TRACE(breaks_at);
    broken_node a(impatient("a"));
    put_one(*a, "a", "body");
    a.break_from(breaks_at);
    EXPECT_THROW(claim_one(*a), store_unavailable);
    EXPECT_LE((*a).next().expiry, monotonic_clock::instance().now() + 250ms);
    if (breaks_at == 3) {
      while (sql("SELECT count(*) FROM foliot.reserved") != "1") {  // the server may not have come to it yet
      }
      // Whatever its clock says: nobody else ends this reservation.
      sql("UPDATE foliot.reserved SET expires = 0");
    }
    a.heal();
    std::vector<claimed_job> got;
    while (got.empty()) {
      until_available([&] { got = execute_one(*a, claim{{"a"}}).jobs; });
    }
    EXPECT_EQ(got[0].job.counters.timeouts, 0U);
    EXPECT_EQ(got[0].job.counters.reserves, breaks_at == 3 ? 2U : 1U);
    EXPECT_EQ(execute_one(*a, finish{got[0].token}).what, holder_answer::kind::done);
  }
}

/// The end of its registration gives back the others.
TEST_F(PostgresqlInDoubt, AClaimThatLastsWaitsForItsTtrIfItsNodeIsClosedBeforeItHasAsked) {
  broken_node a(impatient("a"));
  const auto b = open("b");
  for (int i = 0; i < 2; ++i) put_one(*a, "a", "body");
  a.break_from(3);
  std::vector<operation> both{claim{.tubes = {"a"}, .lasting = true}, claim{.tubes = {"a"}}};
  EXPECT_THROW((*a).execute(both), store_unavailable);
  while (sql("SELECT count(*) FROM foliot.reserved") != "2") {  // the server may not have come to it yet
  }
  a.heal();
  (*a).close();
  EXPECT_EQ(sql("SELECT count(*) FROM foliot.ready"), "1");
  EXPECT_EQ(sql("SELECT count(*) FROM foliot.reserved"), "1");
  sql("UPDATE foliot.reserved SET expires = 0");
  sql("SELECT foliot.end_lasting((foliot.time_of(NULL))[3])");
  EXPECT_EQ(sql("SELECT sum(timeouts) FROM foliot.ready"), "1");
  EXPECT_EQ(execute_one(*b, claim{.tubes = {"a"}, .count = 2}).jobs.size(), 2U);
}

/// Whatever the server has done by then: to end a registration twice is harmless.
TEST_F(PostgresqlInDoubt, AConnectionThatBreaksWhileItsNodeIsClosedIsMadeAgain) {
  for (const int breaks_at : {1, 2, 3}) {
    SCOPED_TRACE(breaks_at);
    broken_node a(foliot_test::options_of(for_nodes_, "a", 60s));
    put_one(*a, "a", "body");
    static_cast<void>(claim_one(*a));
    a.break_at({breaks_at});
    (*a).close();
    EXPECT_EQ(sql("SELECT count(*) FROM foliot.node"), "0");
    EXPECT_EQ(sql("SELECT count(*) FROM foliot.ready"), std::to_string(breaks_at));
  }
}

// The question what has become of the claim meets a lock. Until it is settled, heartbeats must keep the number of its
// batch.
TEST_F(PostgresqlInDoubt, AClaimIsAskedForAgainWhileTheNodeGoesOn) {
  postgresql_options made = impatient("a");
  made.node_timeout = 1s;  // four heartbeats in that time
  broken_node a(made);
  put_one(*a, "a", "body");
  a.break_from(3);
  EXPECT_THROW(claim_one(*a), store_unavailable);
  while (sql("SELECT count(*) FROM foliot.reserved") != "1") {  // the server may not have come to it yet
  }
  postgresql_connection locking(database_);
  locking.sql("BEGIN");
  locking.sql("SELECT number FROM foliot.batch WHERE number = (SELECT max(number) FROM foliot.batch) FOR UPDATE");
  a.heal();
  for (int heartbeats = 0; heartbeats < 3;) {
    const std::string before = sql("SELECT seen FROM foliot.heard");
    until_available([&] { (*a).execute({}); });
    if (sql("SELECT seen FROM foliot.heard") != before) ++heartbeats;
  }
  EXPECT_EQ(sql("SELECT count(*) FROM foliot.reserved"), "1");
  locking.sql("COMMIT");
  std::vector<claimed_job> got;
  while (got.empty()) {
    until_available([&] { got = execute_one(*a, claim{{"a"}}).jobs; });
  }
  EXPECT_EQ(got[0].job.counters.timeouts, 0U);
  EXPECT_EQ(got[0].job.counters.reserves, 2U);
}

/// A node on a clock of its own that has claimed a job for ten seconds. Four seconds later a batch that gives the job
/// back and claims it again stays in doubt.
class PostgresqlClaimInDoubt : public PostgresqlInDoubt {
 protected:
  PostgresqlClaimInDoubt() {
    put_one(*node_, "a", "x", 10s);
    older_ = claim_one(*node_).token;
    newer_ = {older_.id, older_.opening, older_.attempt + 1};
    time_.advance(4s);
  }
  void claim_again(int breaks_at) {
    std::vector<operation> batch{abandon{older_}, claim{{"a"}}};
    leave_in_doubt(batch, breaks_at);
  }
  void leave_in_doubt(std::span<operation> batch, int breaks_at) {
    node_.break_from(breaks_at);
    try {
      (*node_).execute(batch);
      ADD_FAILURE() << "a batch succeeds over a broken connection";
    } catch (const store_unavailable& error) {
      EXPECT_TRUE(error.is_in_doubt()) << error.what();
    }
    node_.heal();
  }
  /// What has expired at this time since the begin, by a batch of the node.
  std::vector<reservation> expired_at(duration since_begin) {
    time_.advance_to(instant() + since_begin);
    std::vector<reservation> expired;
    until_available([&] { expired = (*node_).execute({}).expired; });
    return expired;
  }
  /// The job's state, reservations and timeouts.
  std::string job() {
    const std::string columns = "reserves || ', timeouts ' || timeouts FROM foliot.";
    return sql("SELECT 'reserved ' || " + columns + "reserved UNION ALL SELECT 'ready ' || " + columns + "ready");
  }
  /// The server may not have come to it yet.
  void wait_for_job(const std::string& expected) {
    while (job() != expected) {
    }
  }

  virtual_clock time_;
  const virtual_wall_clock wall_{time_};
  broken_node node_{[this] {
    postgresql_options made = impatient("a");
    made.clocks = store_clocks{&wall_, &time_};
    return made;
  }()};
  reservation older_;
  reservation newer_;
};

TEST_F(PostgresqlClaimInDoubt, ThatHasHappenedIsGivenBackOnce) {
  claim_again(3);
  wait_for_job("reserved 2, timeouts 0");
  time_.advance(250ms);
  leave_in_doubt({}, 7);  // it connects, asks, and the batch that gives the job back is in doubt, too
  wait_for_job("ready 2, timeouts 0");
  postgresql_options other = options("b");
  other.clocks = store_clocks{&wall_, &time_};
  postgresql_store b(other);
  const reservation next = claim_one(b).token;
  EXPECT_EQ(expired_at(10s + 1ns), std::vector{older_}) << "its time is over, whatever became of it";
  EXPECT_EQ(next.attempt, 3U);
  EXPECT_EQ(job(), "reserved 3, timeouts 0") << "another node has it";
  EXPECT_EQ(expired_at(1h), std::vector<reservation>());
  EXPECT_TRUE((*node_).next().expiry.is_never());
}

TEST_F(PostgresqlClaimInDoubt, ThatHasNotHappenedLeavesTheOlderReservation) {
  claim_again(2);
  EXPECT_EQ(expired_at(10s), std::vector<reservation>());
  EXPECT_EQ(job(), "reserved 1, timeouts 0");
  EXPECT_EQ(expired_at(10s + 1ns), std::vector{older_});
  EXPECT_EQ(job(), "ready 1, timeouts 1");
  EXPECT_EQ(expired_at(1h), std::vector<reservation>());
  EXPECT_EQ(job(), "ready 1, timeouts 1");
  EXPECT_TRUE((*node_).next().expiry.is_never());
}

TEST_F(PostgresqlClaimInDoubt, ThatHasNotHappenedLeavesTheJobToItsHolder) {
  claim_again(2);
  until_available([&] { EXPECT_EQ(execute_one(*node_, touch{older_}).what, holder_answer::kind::done); });
  EXPECT_EQ(expired_at(13s), std::vector<reservation>());
  EXPECT_EQ(execute_one(*node_, finish{newer_}).what, holder_answer::kind::not_held);
  EXPECT_EQ(execute_one(*node_, finish{older_}).what, holder_answer::kind::done);
  EXPECT_EQ(job(), "NULL");
}

// The newest reservation has the attempt, and so the token, that the one in doubt would have had.
TEST_F(PostgresqlClaimInDoubt, ThatHasNotHappenedDoesNotShortenTheNextOne) {
  claim_again(2);
  EXPECT_EQ(expired_at(10s + 1ns), std::vector{older_});
  const reservation next = claim_one(*node_).token;
  EXPECT_EQ(next.attempt, newer_.attempt);
  EXPECT_NE(next.opening, newer_.opening) << "it is of another connection";
  EXPECT_EQ(expired_at(20s + 1ns), std::vector<reservation>());
  EXPECT_EQ(job(), "reserved 2, timeouts 1");
  EXPECT_EQ(expired_at(20s + 2ns), std::vector{next});
  EXPECT_EQ(job(), "ready 2, timeouts 2");
}

/// The process of a connection at the server, as one that waits for a disk that does not answer.
class stuck_process {
 public:
  explicit stuck_process(const std::string& pid) : pid_(std::stoi(pid)) { ::kill(pid_, SIGSTOP); }
  ~stuck_process() { ::kill(pid_, SIGCONT); }
  stuck_process(const stuck_process&) = delete;
  stuck_process& operator=(const stuck_process&) = delete;

 private:
  const pid_t pid_;
};

TEST_F(PostgresqlInDoubt, ALostConnectionWhoseProcessDoesNotEndIsWaitedForLessThanTheNodesTimeout) {
  postgresql_options how = options("a");
  how.node_timeout = 1s;  // it waits for a quarter of that, and never for the ten seconds that end_lost() may take
  broken_node a(how);
  put_one(*a);
  const reservation token = claim_one(*a).token;
  const std::string process = sql(
      "SELECT pid FROM pg_stat_activity WHERE application_name = 'foliot' AND datname = current_database() AND query = "
      "'COMMIT'");
  ASSERT_NE(process, "NULL");
  const stuck_process stuck(process);
  const instant begin = monotonic_clock::instance().now();
  a.break_at({1});
  (*a).execute({});
  EXPECT_LT(monotonic_clock::instance().now() - begin, duration(10s));
  EXPECT_EQ(execute_one(*a, finish{token}).what, holder_answer::kind::done);
}

}  // namespace
}  // namespace foliot::jobs
