// The names of tubes that have nothing any more go, and nothing else changes.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <foliot/core/seam/random.hpp>
#include <foliot/jobs/calls.hpp>
#include <foliot/jobs/postgresql_store.hpp>

#include "connection.hpp"
#include "node_role.hpp"
#include "one_node.hpp"

namespace foliot::jobs {
namespace {

using namespace std::chrono_literals;
using foliot_test::postgresql_connection;
using foliot_test::until_a_lock_is_awaited;

class PostgresqlTubeNames : public foliot_test::postgresql_one_node {
 protected:
  PostgresqlTubeNames() {  // on any machine
    other_.sql(
        "CREATE OR REPLACE FUNCTION foliot.patience_of_names() RETURNS interval LANGUAGE sql STABLE AS "
        "$$ SELECT interval '1 hour' $$");
  }
  job_id put_one(const std::string& tube, milliseconds delay = 0ms) {
    return execute_one(*node_, put{.tube = tube, .body = "x", .due = delay}).id;
  }
  claimed_job claim_one(const std::string& tube) { return execute_one(*node_, claim{.tubes = {tube}}).jobs.at(0); }
  /// Puts a job, and ends it.
  void use(const std::string& tube) {
    put_one(tube);
    execute_one(*node_, finish{claim_one(tube).token});
  }
  /// Examines some names, of any age, if there are at least so many.
  static std::string forget(postgresql_connection& over, int few = 1) {
    return over.sql("SELECT foliot.forget_tubes(" + std::to_string(few) + ", '0 s')");
  }
  std::string names() {
    return other_.sql("SELECT coalesce(string_agg(encode(name, 'escape'), ' ' ORDER BY name), '') FROM foliot.tube");
  }
  std::string id_of(const std::string& tube) { return other_.sql("SELECT foliot.tube_id('" + tube + "')"); }
};

TEST_F(PostgresqlTubeNames, GoWhenTheirTubesAreEmpty) {
  for (const char* tube : {"e1", "e2", "e3"}) use(tube);
  put_one("delayed", 1h);
  put_one("ready");
  put_one("buried");
  execute_one(*node_, bury{claim_one("buried").token});
  use("e4");
  put_one("reserved");
  const claimed_job held = claim_one("reserved");
  execute_one(*node_, pause{.tube = "paused", .length = 1h});
  execute_one(*node_, put{.tube = "keyed", .key = "k", .body = "x"});
  use("e5");
  for (int i = 0; i < 20; ++i) forget(other_, 3);
  EXPECT_EQ(names(), "buried delayed keyed paused ready reserved");
  expect_right();
  EXPECT_EQ(execute_one(*node_, finish{held.token}).what, holder_answer::kind::done);
  execute_one(*node_, pause{.tube = "paused", .length = 0ms});
  EXPECT_EQ(execute_one(*node_, cancel{job_key{"keyed", "k"}}).what, change_answer::kind::done);
  for (int i = 0; i < 20; ++i) forget(other_, 3);
  EXPECT_EQ(names(), "buried delayed ready");
  expect_right();
}

TEST_F(PostgresqlTubeNames, AreMadeAgainWithAnotherId) {
  use("a");
  const std::string before = id_of("a");
  forget(other_);
  EXPECT_EQ(names(), "");
  EXPECT_TRUE(execute_one(*node_, claim{.tubes = {"a"}}).jobs.empty());
  EXPECT_EQ(execute_one(*node_, count_tube{"a"}).counts, job_counts{});
  EXPECT_EQ(execute_one(*node_, kick{.tube = "a"}).changed, 0U);
  use("a");
  EXPECT_NE(id_of("a"), before);
  expect_right();
}

TEST_F(PostgresqlTubeNames, StayWhileTheyAreFewOrYoung) {
  for (const char* tube : {"a", "b"}) use(tube);
  for (int i = 0; i < 5; ++i) forget(other_, 3);
  for (int i = 0; i < 5; ++i) other_.sql("SELECT foliot.forget_tubes(1)");
  EXPECT_EQ(names(), "a b");
}

TEST_F(PostgresqlTubeNames, GoByTurnsOfTheRotation) {
  put_one("stays");
  other_.sql("INSERT INTO foliot.tube (name) SELECT convert_to('t' || i, 'UTF8') FROM generate_series(1, 3000) i");
  other_.sql("UPDATE foliot.tube SET made = now() - interval '1 hour'");
  other_.sql("SELECT foliot.next_tubes(0, 0)");  // at once
  foliot_test::as_node_role(database_);
  postgresql_connection turning(database_ + " user=foliot_node");
  while (std::stoi(other_.sql("SELECT count(*) FROM foliot.tube")) >= 1000) {
    turning.sql("SELECT foliot.rotate()");
    other_.sql("SELECT pg_sleep(0.02)");
  }
  EXPECT_NE(id_of("stays"), "");
  expect_right();
}

TEST_F(PostgresqlTubeNames, ABatchThatWaitsForATurnMakesItsNameAgain) {
  use("a");
  const std::string before = id_of("a");
  postgresql_connection turning(database_);
  turning.sql("BEGIN");
  ASSERT_EQ(forget(turning), "2");
  auto putting = std::async(std::launch::async, [this] { return put_one("a"); });
  until_a_lock_is_awaited(other_);
  turning.sql("COMMIT");
  const job_id made = putting.get();
  EXPECT_NE(id_of("a"), before);
  EXPECT_EQ(claim_one("a").job.id, made);
  expect_right();
}

TEST_F(PostgresqlTubeNames, ATurnSeesWhatIsBeingPut) {
  postgresql_connection shop(database_);
  postgresql_connection turning(database_);
  for (const char* tube : {"put", "paused"}) {
    use(tube);
    const std::string id = id_of(tube);
    shop.sql("BEGIN");
    if (tube == std::string("put")) {
      shop.sql("SELECT foliot.put('put', 'x')");
    } else {
      shop.sql("SELECT foliot.pause(0, NULL, 'paused', 1000000)");
    }
    other_.sql("SELECT foliot.next_tubes(" + id + " - 1, 0)");
    turning.sql("SET lock_timeout = '20ms'");
    EXPECT_EQ(forget(turning), "0") << "the lock is not free";
    turning.sql("SET lock_timeout = 0");
    turning.send("SELECT foliot.forget_tubes(1, '0 s')");
    until_a_lock_is_awaited(other_);
    shop.sql("COMMIT");
    EXPECT_EQ(turning.finish(), "1");
    EXPECT_EQ(id_of(tube), id);
  }
  expect_right();
}

TEST_F(PostgresqlTubeNames, ASnapshotOlderThanATurnPutsNothingThere) {
  use("a");
  postgresql_connection shop(database_);
  for (const char* level : {"REPEATABLE READ", "SERIALIZABLE"}) {
    use("a");
    shop.sql(std::string("BEGIN ISOLATION LEVEL ") + level);
    shop.sql("SELECT 1");
    while (names() != "") forget(other_);
    EXPECT_NE(shop.error_of("SELECT foliot.put('a', 'x')").find("could not serialize"), std::string::npos);
    shop.sql("ROLLBACK");
    shop.sql(std::string("BEGIN ISOLATION LEVEL ") + level);
    const std::string made = shop.sql("SELECT foliot.put('a', 'x')");
    shop.sql("COMMIT");
    const claimed_job got = claim_one("a");
    EXPECT_EQ(std::to_string(got.job.id), made);
    execute_one(*node_, finish{got.token});
    expect_right();
  }
}

/// What several nodes know together.
class ledger {
 public:
  void put(std::uint64_t id) {
    const std::scoped_lock held(lock_);
    EXPECT_TRUE(put_.insert(id).second) << "two jobs have the id " << id;
  }
  void ended(std::uint64_t id) {
    const std::scoped_lock held(lock_);
    EXPECT_TRUE(ended_.insert(id).second) << "the job " << id << " has ended twice";
  }
  void expect_all_ended() const { EXPECT_EQ(put_, ended_); }

 private:
  std::mutex lock_;
  std::set<std::uint64_t> put_;
  std::set<std::uint64_t> ended_;
};

/// Changes jobs of a few tubes, which are often empty.
class worker {
 public:
  worker(const std::string& database, const std::string& name, std::uint64_t seed, ledger& all)
      : shop_(database), random_(seed), all_(all) {
    node_ = std::make_unique<postgresql_store>(foliot_test::options_of(database, name, 1h));
  }
  void step() {
    switch (random_.below(8)) {
      case 0: note(execute_one(*node_, put{.tube = tube(), .body = "x", .due = due(), .ttr = 1h})); break;
      case 1: note(execute_one(*node_, put{.tube = tube(), .key = "k", .body = "x", .due = due(), .ttr = 1h})); break;
      case 2: put_by_application(); break;
      case 3: cancel_one(); break;
      case 4: execute_one(*node_, kick{.tube = tube(), .count = 3}); break;
      case 5: execute_one(*node_, pause{.tube = tube(), .length = milliseconds(random_.below(3))}); break;
      default: claim_some(); break;
    }
  }
  void end_all() {
    for (const char* each : tubes) {
      execute_one(*node_, pause{.tube = each, .length = 0ms});
      while (execute_one(*node_, kick{.tube = each, .count = 100}).changed > 0) {
      }
    }
    for (const claimed_job& each : execute_one(*node_, claim{.tubes = {"a", "b", "c"}, .count = 100000}).jobs) {
      finish_one(each.token);
    }
  }
  [[nodiscard]] postgresql_store& node() { return *node_; }

 private:
  static constexpr std::array tubes{"a", "b", "c"};

  std::string tube() { return tubes.at(random_.below(tubes.size())); }
  due_at due() { return random_.below(4) == 0 ? milliseconds(random_.below(10)) : 0ms; }
  void note(const put_answer& got) {
    if (got.what == put_answer::kind::inserted) all_.put(got.id);
  }
  void put_by_application() {
    const bool keeps_snapshot = random_.below(2) == 0;
    shop_.sql(keeps_snapshot ? "BEGIN ISOLATION LEVEL REPEATABLE READ" : "BEGIN");
    shop_.sql("SELECT 1");
    try {
      const std::string id = shop_.sql("SELECT foliot.put('" + tube() + "', 'x', ttr => '1 h')");
      if (random_.below(4) == 0) {
        shop_.sql("ROLLBACK");
        return;
      }
      shop_.sql("COMMIT");
      all_.put(std::stoull(id));
    } catch (const std::runtime_error& error) {
      EXPECT_TRUE(keeps_snapshot) << error.what();
      EXPECT_NE(std::string(error.what()).find("could not serialize"), std::string::npos) << error.what();
      shop_.sql("ROLLBACK");
    }
  }
  void cancel_one() {
    const change_answer got = execute_one(*node_, cancel{job_key{tube(), "k"}});
    if (got.what == change_answer::kind::done) all_.ended(got.id);
  }
  void claim_some() {
    for (const claimed_job& each : execute_one(*node_, claim{.tubes = {tube(), tube()}, .count = 5}).jobs) {
      switch (random_.below(8)) {
        case 0: execute_one(*node_, release{.token = each.token, .due = due()}); break;
        case 1: execute_one(*node_, bury{each.token}); break;
        default: finish_one(each.token); break;
      }
    }
  }
  void finish_one(const reservation& token) {
    EXPECT_EQ(execute_one(*node_, finish{token}).what, holder_answer::kind::done);
    all_.ended(token.id);
  }

  postgresql_connection shop_;
  random_stream random_;
  ledger& all_;
  std::unique_ptr<postgresql_store> node_;
};

TEST_F(PostgresqlTubeNames, GoWhileTheyAreUsedAndNoJobIsLost) {
  const std::uint64_t seed = random_stream::entropy();
  SCOPED_TRACE("seed " + std::to_string(seed));
  ledger all;
  std::vector<std::unique_ptr<worker>> workers;
  for (std::uint64_t i = 0; i < 3; ++i) {
    workers.push_back(std::make_unique<worker>(database_, "w" + std::to_string(i), seed + i, all));
  }
  std::atomic<int> gone = 0;
  std::atomic<bool> has_ended = false;
  std::jthread forgetting([&] {
    postgresql_connection over(database_);
    over.sql("SET lock_timeout = '50ms'");
    while (!has_ended) {
      if (forget(over) == "2") ++gone;
    }
  });
  std::vector<std::jthread> working;
  for (const auto& each : workers) {
    working.emplace_back([&] {
      for (int steps = 0; steps < 300 || gone < 30; ++steps) each->step();
    });
  }
  working.clear();
  const auto until = std::chrono::steady_clock::now() + 1min;
  const auto left = [&] { return other_.sql("SELECT count(*) FROM foliot.job"); };
  while (left() != "0" && std::chrono::steady_clock::now() < until) workers[0]->end_all();
  has_ended = true;
  forgetting.join();
  EXPECT_EQ(left(), "0");
  all.expect_all_ended();
  expect_right();
}

}  // namespace
}  // namespace foliot::jobs
