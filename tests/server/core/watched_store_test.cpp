// The store that reports slow batches, over a store whose batches take virtual time.
#include "server/core/watched_store.hpp"

#include <chrono>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/core/virtual_clock.hpp>
#include <foliot/jobs/calls.hpp>
#include <foliot/jobs/memory_store.hpp>

#include "jobs/kit/simulated_nodes.hpp"
#include "jobs/kit/spy_store.hpp"

namespace foliot::program {
namespace {

using namespace std::chrono_literals;

/// A store in memory, in front of which a test lets time pass.
struct slow_store {
  explicit slow_store(std::function<void()> wait, jobs::other_nodes* nodes = nullptr) : spy(memory, nodes) {
    spy.before = [wait = std::move(wait)](std::span<jobs::operation>) { wait(); };
  }

  jobs::memory_store memory;
  test::spy_store spy;
};

TEST(WatchedStore, ASlowBatchIsReportedAndAQuickOneIsNot) {
  virtual_clock time;
  std::function<void()> wait;
  slow_store slow([&] { wait(); });
  std::vector<std::string> warnings;
  watched_store store(slow.spy, [&](std::string sentence) { warnings.push_back(std::move(sentence)); }, time);
  wait = [&] {
    EXPECT_EQ(store.busy_for(), duration::zero());
    time.advance(1s);
    EXPECT_EQ(store.busy_for(), duration(1s));
  };
  EXPECT_EQ(jobs::execute_one(store, jobs::put{.tube = "a", .body = "x"}).id, 1U);
  EXPECT_EQ(store.busy_for(), duration::zero());
  EXPECT_TRUE(warnings.empty());
  wait = [&] { time.advance(7s); };
  EXPECT_EQ(jobs::execute_one(store, jobs::count_all{}).counts.ready, 1U);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings[0].find("took 7.0 s to execute a batch of 1 operations"), std::string::npos) << warnings[0];
  wait = [&] { time.advance(2s); };
  jobs::execute_one(store, jobs::count_all{});
  EXPECT_EQ(warnings.size(), 1U) << "two warnings within 10 s";
  wait = [&] { time.advance(4s); };
  jobs::execute_one(store, jobs::count_all{});
  jobs::execute_one(store, jobs::count_all{});
  ASSERT_EQ(warnings.size(), 2U);
  EXPECT_NE(warnings[1].find("(3 slow batches since the last warning)"), std::string::npos) << warnings[1];
}

TEST(WatchedStore, ABatchThatFailsAfterAStallIsReported) {
  virtual_clock time;
  slow_store slow([&] {
    time.advance(2s);
    throw jobs::store_failure("the disk is gone");
  });
  std::vector<std::string> warnings;
  watched_store store(slow.spy, [&](std::string sentence) { warnings.push_back(std::move(sentence)); }, time);
  EXPECT_THROW(store.execute({}), jobs::store_failure);
  EXPECT_EQ(warnings.size(), 1U);
  EXPECT_EQ(store.busy_for(), duration::zero());
}

TEST(WatchedStore, TheOtherNodesAreThoseOfTheStore) {
  test::simulated_nodes nodes;
  slow_store shared([] {}, &nodes);
  watched_store store(shared.spy, [](const std::string&) {});
  EXPECT_EQ(store.others(), &nodes);
  slow_store alone([] {});
  EXPECT_EQ(watched_store(alone.spy, [](const std::string&) {}).others(), nullptr);
}

TEST(WatchedStore, ASlowDatabaseIsNoSlowDisk) {
  virtual_clock time;
  test::simulated_nodes nodes;
  slow_store shared([&] { time.advance(2s); }, &nodes);
  std::vector<std::string> warnings;
  watched_store store(shared.spy, [&](std::string sentence) { warnings.push_back(std::move(sentence)); }, time);
  store.execute({});
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings[0].find("the database is slow or stalls"), std::string::npos) << warnings[0];
}

TEST(WatchedStore, AnOutageIsReportedAtItsBeginningAndAtItsEnd) {
  virtual_clock time;
  bool is_away = false;
  test::simulated_nodes nodes;
  slow_store shared(
      [&] {
        time.advance(is_away ? 5s : 10ms);
        if (is_away) throw jobs::store_unavailable(jobs::store_unavailable::kind::not_executed, "nobody is there");
      },
      &nodes);
  std::vector<std::string> warnings;
  watched_store store(shared.spy, [&](std::string sentence) { warnings.push_back(std::move(sentence)); }, time);
  store.execute({});
  EXPECT_TRUE(warnings.empty());
  for (int outage = 1; outage <= 2; ++outage) {
    warnings.clear();
    is_away = true;
    for (int batch = 0; batch < 3; ++batch) EXPECT_THROW(store.execute({}), jobs::store_unavailable);
    ASSERT_EQ(warnings.size(), 1U) << "one warning for an outage, and none of a slow batch";
    EXPECT_EQ(warnings[0], "clients get INTERNAL_ERROR until the job store answers: nobody is there");
    EXPECT_EQ(store.busy_for(), duration::zero());
    is_away = false;
    store.execute({});
    store.execute({});
    ASSERT_EQ(warnings.size(), 2U);
    EXPECT_EQ(warnings[1], "the job store answers again, after 15.0 s");
  }
}

TEST(WatchedStore, KnowsWhenTheNextJobIsDue) {
  slow_store inner([] {});
  watched_store store(inner.spy, [](const std::string&) {});
  EXPECT_EQ(store.next_due(), jobs::utc_time::max()) << "no batch was executed";
  const jobs::utc_time far(std::chrono::milliseconds(9'000'000'000'000));
  jobs::execute_one(store, jobs::put{.tube = "a", .body = "x", .due = far});
  EXPECT_EQ(store.next_due(), far);
  jobs::execute_one(store, jobs::cancel{jobs::job_id{1}});
  EXPECT_EQ(store.next_due(), jobs::utc_time::max());
}

}  // namespace
}  // namespace foliot::program
