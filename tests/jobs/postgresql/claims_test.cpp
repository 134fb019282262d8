// Claims that are under way at the same time pass over each other's jobs (lock_best() in sql/put_and_claim.sql).
#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <string>
#include <vector>

#include <foliot/jobs/calls.hpp>
#include <foliot/jobs/postgresql_store.hpp>

#include "connection.hpp"
#include "one_node.hpp"

namespace foliot::jobs {
namespace {

using foliot_test::age_partitions;
using foliot_test::postgresql_connection;

class PostgresqlClaims : public foliot_test::postgresql_one_node {
 protected:
  PostgresqlClaims() {
    other_.sql(
        "SELECT pg_advisory_lock(1718578282::bigint << 32)");  // the node takes no turn: that would lock jobs, too
    other_.sql(foliot_test::plans_of_nodes);
  }

  /// The other claim, which stays under way. It has locked these rows.
  void lock(const std::string& rows) {
    another_.sql("BEGIN");
    another_.sql("SELECT 1 FROM foliot.ready WHERE id IN (SELECT id FROM foliot.ready WHERE " + rows + ") FOR UPDATE");
  }
  /// The ids that a claim of these tubes locks.
  std::string lock_best(const std::string& tubes, int most) {
    return other_.sql("SELECT foliot.lock_best(ARRAY(" + tubes + "), " + std::to_string(most) + ")");
  }
  /// How often the connection has searched in the order of the ready jobs: only differences mean something.
  int searches() {
    return std::stoi(
        other_.sql("SELECT sum(pg_stat_get_xact_numscans(format('foliot.ready_%s_tube_pri_id_part_idx', p)::regclass)) "
                   "FROM unnest('{0, 1, 9}'::integer[]) p"));
  }

  postgresql_connection another_{database_};
};

TEST_F(PostgresqlClaims, AClaimBesideAnotherOneSearchesEachTubeOnce) {
  constexpr int tubes = 300;
  std::vector<operation> puts;
  for (int job = 0; job < 2 * tubes; ++job) {
    puts.emplace_back(put{.tube = "t" + std::to_string(job % tubes), .body = "x"});
  }
  static_cast<void>(node_->execute(puts));
  const auto searches_of_claim = [&](const std::string& expected) {
    other_.sql("BEGIN");
    const int before = searches();
    EXPECT_EQ(lock_best("SELECT id FROM foliot.tube", 2), expected);
    const int after = searches();
    other_.sql("ROLLBACK");
    return after - before;
  };
  const int alone = searches_of_claim("{1,2}");
  EXPECT_GE(alone, tubes);
  lock("id <= 10");
  EXPECT_LE(searches_of_claim("{11,12}"), alone + 3 * 10);
  another_.sql("ROLLBACK");
}

TEST_F(PostgresqlClaims, TheBestOfThoseThatAreNotLockedAreClaimed) {
  std::mt19937_64 draw(20261128);  // NOLINT(cert-msc32-c,cert-msc51-cpp): each run has the same cases
  std::vector<operation> puts;
  for (int job = 0; job < 3000; ++job) {
    puts.emplace_back(
        put{.tube = "t" + std::to_string(draw() % 40), .body = "x", .priority = static_cast<priority>(draw() % 4)});
  }
  static_cast<void>(node_->execute(puts));
  other_.sql("SELECT foliot.rotate_table('ready', 0, '0 s')");
  age_partitions(other_, "ready", std::chrono::seconds(11));
  other_.sql("SELECT foliot.move_ready(), foliot.move_ready()");
  other_.sql(
      "INSERT INTO foliot.ready_floor SELECT DISTINCT ON (tube) tube, pri, id FROM foliot.ready WHERE part = 9 "
      "ORDER BY tube, pri, id");
  int step = 0;
  for (const int most : {1, 2, 7, 40, 300, 2500}) {
    // Among them those of one tube, the best of all, more than a claim knows, and all.
    for (const char* rows : {"false", "id % 2 = 0", "id % 50 <> 0", "tube = 1", "pri = 0", "pri < 3", "true"}) {
      for (const char* tubes :
           {"SELECT id FROM foliot.tube", "SELECT id FROM foliot.tube WHERE id % 3 <> 0", "SELECT 1"}) {
        SCOPED_TRACE(std::to_string(++step) + ": " + std::to_string(most) + " beside " + rows + " of " + tubes);
        lock(rows);
        other_.sql("BEGIN");
        EXPECT_EQ(lock_best(tubes, most),
                  other_.sql(std::string("SELECT ARRAY(SELECT id FROM foliot.ready WHERE NOT (") + rows +
                             ") AND tube IN (" + tubes + ") ORDER BY pri, id LIMIT " + std::to_string(most) + ")"));
        other_.sql("ROLLBACK");
        another_.sql("ROLLBACK");
      }
    }
  }
}

}  // namespace
}  // namespace foliot::jobs
