// Jobs that become due together in a PostgreSQL store, more than one batch makes ready.
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include <foliot/jobs/calls.hpp>
#include <foliot/jobs/postgresql_store.hpp>

#include "postgresql_database.hpp"

namespace foliot::jobs {
namespace {

using namespace std::chrono_literals;

class PostgresqlDue : public foliot_test::postgresql_database {
 protected:
  std::size_t count(const std::string& rows) { return std::stoul(sql("SELECT count(*) FROM " + rows)); }
  /// Jobs that are due at once by the time of the database, though they were delayed: those of `burst` first.
  void put_due(postgresql_store& store, std::size_t burst, std::size_t others) {
    std::vector<operation> puts(burst, put{.tube = "burst", .body = "", .due = 1h});
    for (std::size_t i = 0; i < others; ++i) {
      puts.emplace_back(put{.tube = "other " + std::to_string(i), .body = "", .due = 1h});
    }
    store.execute(puts);
    sql("UPDATE foliot.delayed SET due = CASE WHEN tube = foliot.tube_id('burst') THEN 1 ELSE 2 END");
  }
};

TEST_F(PostgresqlDue, ABurstInOneTubeDoesNotDelayTheOthers) {
  constexpr std::size_t burst = 12'000;
  constexpr std::size_t others = 200;  // a batch serves 64
  postgresql_store store(options("one"));
  put_due(store, burst, others);
  for (int batches = 0; batches < 4; ++batches) store.execute({});
  EXPECT_EQ(count("foliot.delayed WHERE tube <> foliot.tube_id('burst')"), 0U);
  EXPECT_GT(count("foliot.delayed"), burst / 3);
  // All become ready, each once.
  while (store.next().due <= utc_time(1h)) store.execute({});
  EXPECT_EQ(count("foliot.ready"), burst + others);
  const check_result right = store.check();
  EXPECT_TRUE(right) << right.error();
}

TEST_F(PostgresqlDue, ATubeBesideABurstIsReadyAfterOneBatch) {
  postgresql_store store(options("one"));
  put_due(store, 5000, 1);
  const execution first = store.execute({});
  EXPECT_EQ(first.ready_tubes.size(), 2U);
  EXPECT_EQ(execute_one(store, claim{.tubes = {"other 0"}}).jobs.size(), 1U);
  EXPECT_GT(count("foliot.delayed"), 0U);
}

}  // namespace
}  // namespace foliot::jobs
