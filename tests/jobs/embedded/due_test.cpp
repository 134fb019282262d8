// What is due next over all tubes of an embedded store: a page must not cost in proportion to the tubes that are
// stored.
#include <foliot/jobs/embedded_store.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/core/virtual_clock.hpp>
#include <foliot/jobs/calls.hpp>

#include "jobs/kit/temporary_folder.hpp"
#include "support/allocations.hpp"

namespace foliot::jobs {
namespace {

using namespace std::chrono_literals;

class EmbeddedDue : public testing::Test {
 protected:
  EmbeddedDue() { time_.set_wall(start); }

  /// Puts a delayed job into the tube with this number.
  job_id put_job(int tube, milliseconds delay) {
    return execute_one(store_, put{.tube = "tube " + std::to_string(tube), .body = "b", .due = due_at(delay)}).id;
  }
  /// Puts one into each of these tubes, a second after that of the tube before, in one batch.
  void put_jobs(int first, int end) {
    std::vector<operation> batch;
    for (int i = first; i < end; ++i) {
      batch.emplace_back(put{.tube = "tube " + std::to_string(i), .body = "b", .due = due_at(1h + 1s * i)});
    }
    store_.execute(batch);
  }
  due_answer page(const list_due& what) { return execute_one(store_, list_due(what)); }
  /// How many allocations this page takes.
  std::size_t cost_of(const list_due& what) {
    page(what);  // the first one may take more
    const test::allocation_count allocations;
    EXPECT_EQ(page(what).jobs.size(), what.count);
    return allocations.so_far();
  }

  static constexpr auto start = std::chrono::sys_days(std::chrono::year(2026) / 1 / 1);
  foliot_test::temporary_folder here_;
  virtual_clock time_;
  virtual_wall_clock wall_{time_};
  embedded_store store_{{.folder = here_.path() + "/store", .disk_reserve = 0, .clocks = {&wall_, &time_}}};
};

// What is looked at is gathered in memory, which grows with it.
TEST_F(EmbeddedDue, APageLooksOnlyAtTubesWhoseFirstJobComesBeforeItsEnd) {
  put_jobs(0, 20);
  const std::size_t of_few = cost_of({.count = 10});
  const std::size_t of_few_in_the_middle = cost_of({.from = start + 1h + 5s, .count = 10});
  put_jobs(20, 3000);
  EXPECT_EQ(cost_of({.count = 10}), of_few);
  EXPECT_EQ(cost_of({.from = start + 1h + 5s, .count = 10}), of_few_in_the_middle);
}

TEST_F(EmbeddedDue, APageHasTheJobsOfTubesThatBeginBeforeItAndOfOthers) {
  constexpr int tubes = 10;
  std::vector<job_id> in_order;  // the job that is due after i seconds
  for (int i = 0; i < 3 * tubes; ++i) in_order.push_back(put_job(i % tubes, 1s * (i + 1)));
  for (int last = 3 * tubes; last < 3 * tubes + 5; ++last) in_order.push_back(put_job(last, 1s * (last + 1)));
  const int jobs = static_cast<int>(in_order.size());
  for (int from = 0; from < jobs; ++from) {
    const due_answer got = page({.from = start + 1s * (from + 1), .count = 7});
    std::vector<job_id> ids;
    for (const due_job& each : got.jobs) ids.push_back(each.id);
    const auto begin = in_order.begin() + from;
    EXPECT_EQ(ids, std::vector(begin, begin + std::min(7, jobs - from))) << "from " << from;
  }
}

TEST_F(EmbeddedDue, ATubeHasThePlaceOfTheFirstJobThatIsLeft) {
  const job_id first = put_job(1, 1s);
  const job_id second = put_job(1, 3s);
  const job_id other = put_job(2, 2s);
  const auto next = [&] { return page({.count = 1}).jobs.at(0).id; };
  EXPECT_EQ(next(), first);
  execute_one(store_, cancel{first});
  EXPECT_EQ(next(), other);
  time_.advance(2s);
  EXPECT_EQ(next(), second);
  const job_id sooner = put_job(2, 500ms);
  EXPECT_EQ(next(), sooner);
  const check_result right = store_.check();
  EXPECT_TRUE(right) << right.error();
}

}  // namespace
}  // namespace foliot::jobs
