// The store that reports slow batches, over a store whose batches take virtual time.
#include "serve/watched_store.hpp"

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

namespace foliot::program {
namespace {

using namespace std::chrono_literals;

class slow_store final : public jobs::job_store {
 public:
  explicit slow_store(std::function<void()> wait) : wait_(std::move(wait)) {}

  jobs::execution execute(std::span<jobs::operation> batch) override {
    wait_();
    return inner_.execute(batch);
  }
  [[nodiscard]] jobs::next_change next() const noexcept override { return inner_.next(); }
  [[nodiscard]] check_result check() override { return inner_.check(); }

 private:
  std::function<void()> wait_;
  jobs::memory_store inner_;
};

TEST(WatchedStore, ASlowBatchIsReportedAndAQuickOneIsNot) {
  virtual_clock time;
  std::function<void()> wait;
  slow_store slow([&] { wait(); });
  std::vector<std::string> warnings;
  watched_store store(slow, [&](std::string sentence) { warnings.push_back(std::move(sentence)); }, time);
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
  watched_store store(slow, [&](std::string sentence) { warnings.push_back(std::move(sentence)); }, time);
  EXPECT_THROW(store.execute({}), jobs::store_failure);
  EXPECT_EQ(warnings.size(), 1U);
  EXPECT_EQ(store.busy_for(), duration::zero());
}

}  // namespace
}  // namespace foliot::program
