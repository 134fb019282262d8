// What several nodes do with one tube at the same time: they make its name, kick its jobs, and clear it. A transaction
// beside them keeps what they meet open until they wait for it.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <foliot/jobs/calls.hpp>
#include <foliot/jobs/database_map.hpp>
#include <foliot/jobs/postgresql_store.hpp>

#include "connection.hpp"
#include "database.hpp"
#include "two_databases.hpp"

namespace foliot::jobs {
namespace {

using namespace std::chrono_literals;
using foliot_test::postgresql_connection;

/// From now on calls of this function wait long for a lock, so that a slow machine does not end what waits.
void wait_long(const std::string& database, const std::string& function) {
  postgresql_connection(database).sql("ALTER FUNCTION foliot." + function + " SET lock_timeout = '10min'");
}

/// How many connections of nodes to this database wait for a lock.
int waiting(postgresql_connection& over) {
  return std::stoi(
      over.sql("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' "
               "AND application_name = 'foliot'"));
}

template <class T>
bool is_done(const std::future<T>& what) {
  return what.wait_for(0s) == std::future_status::ready;
}

class PostgresqlAtOnce : public foliot_test::postgresql_database {
 protected:
  [[nodiscard]] postgresql_options options(const std::string& node) const {
    return foliot_test::options_of(for_nodes_, node, 20min);
  }
  /// The ids of so many jobs, in the order in which they are buried.
  std::vector<job_id> bury_jobs(postgresql_store& by, int count) {
    std::vector<operation> puts(static_cast<std::size_t>(count), put{.tube = "a", .body = "x"});
    static_cast<void>(by.execute(puts));
    std::vector<job_id> ids;
    std::vector<operation> burials;
    const auto claimed = execute_one(by, claim{.tubes = {"a"}, .count = static_cast<std::uint32_t>(count)}).jobs;
    for (const claimed_job& each : claimed) {
      ids.push_back(each.job.id);
      burials.emplace_back(bury{each.token});
    }
    static_cast<void>(by.execute(burials));
    return ids;
  }
  /// The rows in `job` of these jobs are those of a transaction that stays open.
  void hold(postgresql_connection& over, const std::vector<job_id>& ids) {
    over.sql("BEGIN");
    for (const job_id each : ids)
      over.sql("SELECT 1 FROM foliot.job WHERE id = " + std::to_string(each) + " FOR UPDATE");
  }
  /// The ready jobs, and how often each was kicked.
  std::string kicked() {
    return sql("SELECT string_agg(format('%s:%s', id, kicks), ' ' ORDER BY id) FROM foliot.ready");
  }

  postgresql_connection first_{database_};
};

// The first kick is under way until the second one waits for it. The second one then finds what a kick behind it finds.
TEST_F(PostgresqlAtOnce, AKickSeesWhatTheOneBeforeHasLeft) {
  wait_long(database_, "wait_for_tube");
  postgresql_store node(options("a"));
  bury_jobs(node, 3);
  execute_one(node, put{.tube = "a", .body = "x", .due = 1h});
  first_.sql("BEGIN");
  EXPECT_EQ(first_.sql("SELECT foliot.kick(NULL, 'a', 10, NULL)"), "3");
  auto second = std::async(std::launch::async, [&] { return execute_one(node, kick{.tube = "a", .count = 10}); });
  while (!is_done(second) && waiting(other_) == 0) std::this_thread::yield();
  EXPECT_FALSE(is_done(second));
  first_.sql("COMMIT");
  EXPECT_EQ(second.get(), bulk_answer{1}) << "the delayed job, as no buried one was left";
  EXPECT_EQ(kicked(), "1:1 2:1 3:1 4:1");
}

// A search locks delayed jobs of each partition, more than the kick moves.
TEST_F(PostgresqlAtOnce, AKickMovesWhatTheOneBeforeHasOnlyLookedAt) {
  wait_long(database_, "wait_for_tube");
  postgresql_store node(options("a"));
  for (int i = 0; i < 2; ++i) execute_one(node, put{.tube = "a", .body = "soon", .due = 59s});
  for (int i = 0; i < 2; ++i) execute_one(node, put{.tube = "a", .body = "late", .due = 1h});
  first_.sql("BEGIN");
  EXPECT_EQ(first_.sql("SELECT foliot.kick(NULL, 'a', 2, NULL)"), "2");
  auto second = std::async(std::launch::async, [&] { return execute_one(node, kick{.tube = "a", .count = 2}); });
  while (!is_done(second) && waiting(other_) == 0) std::this_thread::yield();
  first_.sql("COMMIT");
  EXPECT_EQ(second.get(), bulk_answer{2});
  EXPECT_EQ(kicked(), "1:1 2:1 3:1 4:1");
}

TEST_F(PostgresqlAtOnce, AKickWhoseTurnDoesNotComeTakesWhatIsLeft) {
  postgresql_store node(options("a"));
  bury_jobs(node, 5);
  first_.sql("BEGIN");
  EXPECT_EQ(first_.sql("SELECT foliot.kick(NULL, 'a', 2, NULL)"), "2");
  std::vector<operation> batch{kick{.tube = "a", .count = 2}, kick{.tube = "a", .count = 2}};
  const std::vector<answer> got = node.execute(batch).answers;
  EXPECT_EQ(std::get<bulk_answer>(got.at(0)), bulk_answer{2});
  EXPECT_EQ(std::get<bulk_answer>(got.at(1)), bulk_answer{1});
  first_.sql("COMMIT");
  EXPECT_EQ(kicked(), "1:1 2:1 3:1 4:1 5:1");
}

TEST_F(PostgresqlAtOnce, KicksInOppositeOrdersGoOn) {
  postgresql_store node(options("a"));
  bury_jobs(node, 2);
  execute_one(node, put{.tube = "b", .body = "x", .due = 1h});
  first_.sql("SET deadlock_timeout = '10min'");
  first_.sql("BEGIN");
  EXPECT_EQ(first_.sql("SELECT foliot.kick(NULL, 'a', 1, NULL)"), "1");
  std::vector<operation> batch{kick{.tube = "b"}, kick{.tube = "a"}};
  auto second = std::async(std::launch::async, [&] { return node.execute(batch).answers; });
  while (!is_done(second) && waiting(other_) == 0) std::this_thread::yield();
  first_.sql("SELECT foliot.kick(NULL, 'b', 1, NULL)");  // waits for the node
  first_.sql("COMMIT");
  const std::vector<answer> got = second.get();
  EXPECT_EQ(std::get<bulk_answer>(got.at(1)), bulk_answer{1});
  EXPECT_EQ(kicked(), "1:1 2:1 3:1");
}

// A server has room for some thousands of locks.
TEST_F(PostgresqlAtOnce, KicksOfManyTubesTakeFewLocks) {
  sql("SELECT foliot.make_tubes(ARRAY(SELECT ('t' || i)::bytea FROM generate_series(1, 1000) i))");
  sql("BEGIN");
  EXPECT_EQ(sql("SELECT count(foliot.kick(NULL, name, 1, NULL)) FROM foliot.tube"), "1000");
  EXPECT_EQ(sql("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()"), "256");
  sql("COMMIT");
}

// A job that another transaction holds is passed over, and others are kicked in its place.
TEST_F(PostgresqlAtOnce, AKickPassesOverHeldJobs) {
  postgresql_store node(options("a"));
  const std::vector<job_id> ids = bury_jobs(node, 5);
  hold(first_, {ids.at(0), ids.at(1), ids.at(3)});
  EXPECT_EQ(execute_one(node, kick{.tube = "a", .count = 1}), bulk_answer{1});
  EXPECT_EQ(kicked(), "3:1");
  EXPECT_EQ(execute_one(node, kick{.tube = "a", .count = 2}), bulk_answer{1});
  EXPECT_EQ(kicked(), "3:1 5:1");
  EXPECT_EQ(execute_one(node, kick{.tube = "a", .count = 2}), bulk_answer{0});
  first_.sql("COMMIT");
  EXPECT_EQ(execute_one(node, kick{.tube = "a", .count = 2}), bulk_answer{2});
  EXPECT_EQ(kicked(), "1:1 2:1 3:1 5:1");
}

TEST_F(PostgresqlAtOnce, AClearPassesOverHeldJobsOfEachState) {
  postgresql_store node(options("a"));
  std::vector<job_id> ids = bury_jobs(node, 4);
  for (int i = 0; i < 4; ++i) ids.push_back(execute_one(node, put{.tube = "a", .body = "x"}).id);
  for (int i = 0; i < 4; ++i) ids.push_back(execute_one(node, put{.tube = "a", .body = "x", .due = 1h}).id);
  hold(first_, {ids.at(0), ids.at(1), ids.at(4), ids.at(5), ids.at(8), ids.at(9)});
  EXPECT_EQ(execute_one(node, clear_tube{.tube = "a", .count = 1}), bulk_answer{1});
  EXPECT_EQ(sql("SELECT string_agg(id::text, ' ' ORDER BY id) FROM foliot.ready"), "5 6 8");
  EXPECT_EQ(execute_one(node, clear_tube{.tube = "a", .count = 4}), bulk_answer{4});
  EXPECT_EQ(sql("SELECT string_agg(id::text, ' ' ORDER BY id) FROM foliot.job"), "1 2 4 5 6 9 10");
  EXPECT_EQ(execute_one(node, clear_tube{.tube = "a"}), bulk_answer{1});
  first_.sql("COMMIT");
  EXPECT_EQ(execute_one(node, clear_tube{.tube = "a"}), bulk_answer{6});
  const check_result right = node.check();
  EXPECT_TRUE(right) << right.error();
}

// A search from the front each time would meet the first held job 300 times, and 45,150 entries of indexes.
TEST_F(PostgresqlAtOnce, AClearMeetsHeldJobsOfEachStateOnce) {
  constexpr int held = 300;
  postgresql_store node(options("a"));
  bury_jobs(node, held + 1);
  std::vector<operation> puts(held + 1, put{.tube = "ready", .body = "x"});
  puts.insert(puts.end(), held + 1, put{.tube = "delayed", .body = "x", .due = 1h});
  static_cast<void>(node.execute(puts));
  const std::string met =
      "SELECT sum(pg_stat_get_xact_tuples_returned(i.indexrelid)) FROM pg_index i JOIN pg_class c ON c.oid = "
      "i.indrelid "
      "WHERE c.relnamespace = 'foliot'::regnamespace AND c.relname ~ '^(ready|delayed|buried)'";
  sql("SET enable_seqscan = off");  // as nodes have it
  sql("SET enable_bitmapscan = off");
  for (const std::string tube : {"ready", "delayed", "a"}) {
    SCOPED_TRACE(tube);
    first_.sql("BEGIN");
    first_.sql("SELECT j.id FROM foliot.job j WHERE j.tube = foliot.tube_id('" + tube + "') ORDER BY j.id LIMIT " +
               std::to_string(held) + " FOR UPDATE");
    const int before = std::stoi(sql(met));
    sql("BEGIN");
    EXPECT_EQ(sql("SELECT foliot.clear_tube('" + tube + "', 1)"), "1");
    EXPECT_LT(std::stoi(sql(met)) - before, 4 * held);  // also dead entries, of jobs that were ready before
    sql("COMMIT");
    first_.sql("COMMIT");
    EXPECT_EQ(execute_one(node, clear_tube{.tube = tube}), bulk_answer{held});
  }
}

TEST_F(PostgresqlAtOnce, EachJobIsKickedOnceAndCountedOnce) {
  constexpr int jobs = 300;
  postgresql_store judge(options("judge"));
  bury_jobs(judge, jobs);
  std::atomic<std::uint64_t> moved = 0;
  const auto work = [&](const std::string& name, std::uint64_t most) {
    postgresql_store node(options(name));
    while (const std::uint64_t some = execute_one(node, kick{.tube = "a", .count = most}).changed) moved += some;
  };
  std::thread other([&] { work("b", 7); });
  std::thread third([&] { work("c", 20); });
  work("a", 3);
  other.join();
  third.join();
  EXPECT_EQ(moved, jobs);
  EXPECT_EQ(sql("SELECT count(*) FROM foliot.ready WHERE kicks = 1"), std::to_string(jobs));
}

/// Nodes that make the names of the same tubes at once, over one database and over two.
class PostgresqlNewTubes : public foliot_test::two_databases, public ::testing::WithParamInterface<bool> {
 protected:
  PostgresqlNewTubes() {
    if (GetParam()) {
      database_map map(first_);
      map.move("moved", map.add(second_));
    }
  }
  [[nodiscard]] postgresql_options options(const std::string& node) const {
    postgresql_options made = two_databases::options(node, 20min);
    made.warn = [this](std::string_view sentence) {
      const std::lock_guard hold(lock_);
      warnings_ += std::string(sentence) + "\n";
    };
    return made;
  }
  /// This database has names that are not committed yet.
  static void make_tubes(postgresql_connection& over, const std::string& names) {
    over.sql("BEGIN");
    over.sql("SELECT foliot.make_tubes('" + names + "')");
  }
  std::string warnings() {
    const std::lock_guard hold(lock_);
    return warnings_;
  }

 private:
  mutable std::mutex lock_;
  mutable std::string warnings_;
};

INSTANTIATE_TEST_SUITE_P(, PostgresqlNewTubes, ::testing::Bool(),
                         [](const auto& each) { return std::string(each.param ? "OfTwoDatabases" : "OfOneDatabase"); });

// Each node meets the names of a transaction that ends when all of them wait for it, whether it commits or not.
TEST_P(PostgresqlNewTubes, AreMadeByManyNodesAtOnce) {
  constexpr int nodes = 4;
  for (const std::string& each : {first_, second_}) wait_long(each, "make_tubes");
  for (const bool commits : {true, false}) {
    SCOPED_TRACE(commits);
    const std::string suffix = commits ? "1" : "2";
    postgresql_connection at_first(first_);
    postgresql_connection at_second(second_);
    make_tubes(at_first, "{p" + suffix + ",q" + suffix + ",pause" + suffix + "}");
    make_tubes(at_second, commits ? "{moved}" : "{}");
    std::vector<std::future<std::vector<answer>>> all;
    std::vector<std::unique_ptr<postgresql_store>> opened;
    for (int n = 0; n < nodes; ++n) {
      opened.push_back(std::make_unique<postgresql_store>(options("n" + std::to_string(n))));
      all.push_back(std::async(std::launch::async, [&, n, it = opened.back().get()] {
        std::vector<operation> batch{put{.tube = "p" + suffix, .body = "x"}, put{.tube = "q" + suffix, .body = "x"}};
        if (n % 2 == 1) std::swap(batch[0], batch[1]);  // one call makes the names of both
        batch.emplace_back(put{.tube = "moved", .body = "x"});
        batch.emplace_back(pause{.tube = "pause" + suffix, .length = 1h});
        return it->execute(batch).answers;
      }));
    }
    postgresql_connection look(first_);
    const auto is_any_done = [&] { return std::ranges::any_of(all, [](const auto& each) { return is_done(each); }); };
    while (!is_any_done() && waiting(look) < nodes) std::this_thread::yield();
    EXPECT_FALSE(is_any_done());
    at_first.sql(commits ? "COMMIT" : "ROLLBACK");
    at_second.sql(commits ? "COMMIT" : "ROLLBACK");
    for (auto& each : all) {
      const std::vector<answer> got = each.get();
      for (int i = 0; i < 3; ++i) {
        const put_answer* const made = std::get_if<put_answer>(&got.at(static_cast<std::size_t>(i)));
        ASSERT_NE(made, nullptr) << i;
        EXPECT_EQ(made->what, put_answer::kind::inserted) << i;
      }
      EXPECT_TRUE(std::holds_alternative<pause_answer>(got.at(3)));
    }
    EXPECT_EQ(look.sql("SELECT count(*) FROM foliot.tube WHERE name IN ('p" + suffix + "', 'q" + suffix + "', 'pause" +
                       suffix + "')"),
              "3");
    for (const auto& each : {"p" + suffix, "q" + suffix}) {
      EXPECT_EQ(execute_one(*opened[0], count_tube{each}).counts.ready, nodes);
    }
    EXPECT_EQ(execute_one(*opened[0], count_tube{"moved"}).counts.ready, nodes * (commits ? 1 : 2));
    EXPECT_EQ(ask(second_, "SELECT count(*) FROM foliot.job"),
              std::to_string(GetParam() ? nodes * (commits ? 1 : 2) : 0));
  }
  EXPECT_EQ(warnings().find("refuses"), std::string::npos) << warnings();
}

// The names of the batch come in an order in which another batch may wait for this one. So after a wait in vain they
// are made before the batch, in one order, where that waits for the other one alone.
TEST_P(PostgresqlNewTubes, OfABatchThatHasWaitedInVainAreMadeBeforeIt) {
  wait_long(first_, "make_tubes_before");
  postgresql_store node(options("a"));
  postgresql_connection other(first_);
  make_tubes(other, "{y}");
  std::vector<operation> batch{put{.tube = "x", .body = "x"}, count_all{}, put{.tube = "y", .body = "x"}};
  auto done = std::async(std::launch::async, [&] { return node.execute(batch).answers; });
  postgresql_connection look(first_);
  const auto waits_before_its_batch = [&] {
    return look.sql(
               "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' "
               "AND query LIKE '%make_tubes_before%' AND pid <> pg_backend_pid()") != "0";
  };
  while (!is_done(done) && !waits_before_its_batch()) std::this_thread::yield();
  other.sql("COMMIT");
  const std::vector<answer> got = done.get();
  for (const std::size_t i : {0U, 2U}) {
    const put_answer* const made = std::get_if<put_answer>(&got.at(i));
    ASSERT_NE(made, nullptr) << i;
    EXPECT_EQ(made->what, put_answer::kind::inserted) << i;
  }
}

// An earlier build has made the schema: the node says so, keeps its connection, and waits again.
TEST_P(PostgresqlNewTubes, AreMadeWithTheirBatchOverASchemaOfAnEarlierBuild) {
  postgresql_connection other(first_);
  other.sql("DROP FUNCTION foliot.make_tubes_before(bytea[])");
  postgresql_store node(options("a"));
  static_cast<void>(execute_one(node, count_all{}));
  make_tubes(other, "{y}");
  std::vector<operation> batch{put{.tube = "x", .body = "x"}, put{.tube = "y", .body = "x"}};
  auto done = std::async(std::launch::async, [&] { return node.execute(batch).answers; });
  while (!is_done(done) && !warnings().contains("refuses foliot.make_tubes_before()")) std::this_thread::yield();
  EXPECT_FALSE(is_done(done));
  other.sql("COMMIT");
  for (const answer& each : done.get()) {
    const put_answer* const made = std::get_if<put_answer>(&each);
    ASSERT_NE(made, nullptr);
    EXPECT_EQ(made->what, put_answer::kind::inserted);
  }
}

// Another process announces the same name: that is no refusal of what the node executes.
TEST_F(PostgresqlAtOnce, AnAnnouncementThatMeetsAnotherOneIsAConflict) {
  first_.sql("BEGIN");
  first_.sql("SELECT foliot.announce('a', 1, 3600000000000, 0, NULL)");
  postgresql_connection second(database_);
  const std::string pid = second.sql("SELECT pg_backend_pid()");
  second.send(
      "DO $$ BEGIN PERFORM foliot.announce('a', 2, 3600000000000, 0, NULL); "
      "EXCEPTION WHEN serialization_failure THEN RAISE EXCEPTION 'a conflict'; END $$");
  const std::string waits = "SELECT count(*) FROM pg_locks WHERE NOT granted AND pid = " + pid;
  while (sql(waits) == "0") std::this_thread::yield();
  first_.sql("COMMIT");
  EXPECT_NE(second.finish().find("a conflict"), std::string::npos);
  EXPECT_EQ(second.sql("SELECT foliot.announce('a', 2, 3600000000000, 0, NULL) > 0"), "t") << "it tries again";
}

}  // namespace
}  // namespace foliot::jobs
