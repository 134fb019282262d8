// Go's benchmarks on foliot's runtime are counted as Go counts them, and complete.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <foliot/core/seam/sync.hpp>
#include <foliot/runtime/run.hpp>

#include "bench/go/go_benchmarks.hpp"
#include "bench/roster.hpp"
#include "text/failure.hpp"

namespace foliot::program::bench {

namespace {

using runtime::run_options;
using runtime::task;
using ::testing::Each;

run_options with_processors(std::size_t count) {
  run_options options;
  options.processors = count;
  return options;
}

struct worked {
  seam::atomic<std::uint64_t> operations{0};
  seam::atomic<std::size_t> tasks{0};
};

share_work counting(worked& all) {
  static worked* into = nullptr;  // a coroutine that is no closure
  into = &all;
  return [](share& mine) -> task<> {
    into->tasks.fetch_add(1, seam::relaxed);
    while (mine.next()) into->operations.fetch_add(1, seam::relaxed);
    co_return;
  };
}

TEST(GoShares, TogetherAreAsManyOperationsAsWereAskedFor) {
  for (const std::size_t processors : {1U, 2U, 3U}) {
    for (const std::uint64_t operations : {1U, 2U, 3U, 7U, 100U, 1'001U}) {
      for (const std::uint64_t grain : {1U, 3U, 50U, 10'000U}) {
        worked all;
        const counted_work what = in_shares(counting(all));
        const stretch asked{.operations = operations, .grain = grain, .processors = processors};
        EXPECT_GE(runtime::run(what(asked), with_processors(processors)), duration::zero());
        EXPECT_EQ(all.operations.load(seam::relaxed), operations);
        EXPECT_EQ(all.tasks.load(seam::relaxed), processors);
      }
    }
  }
}

/// Reports that its operations take so many nanoseconds each, and keeps what it was asked.
class said_to_take {
 public:
  explicit said_to_take(std::int64_t each) : each_(each) {}

  counted_work get() {
    return [this](const stretch& length) { return answer(*this, length); };
  }
  std::vector<stretch> asked;

 private:
  static task<duration> answer(said_to_take& self, stretch asked) {
    self.asked.push_back(asked);
    co_return duration::nanoseconds(self.each_ * static_cast<std::int64_t>(asked.operations));
  }
  std::int64_t each_;
};

TEST(GoCalibration, DoesMoreUntilTheTimeIsReached) {
  constexpr duration budget = std::chrono::milliseconds(100);
  said_to_take thousand(1'000);
  EXPECT_EQ(runtime::run(calibrated(thousand.get(), budget, 3), with_processors(1)), 1'000);
  std::vector<std::uint64_t> operations;
  for (const stretch& each : thousand.asked) {
    operations.push_back(each.operations);
    EXPECT_EQ(each.processors, 3u);
  }
  // At most a hundred times as many as before, and in the end a fifth more than needed.
  EXPECT_THAT(operations, ::testing::ElementsAre(1, 100, 10'000, 120'000));
  EXPECT_EQ(thousand.asked.front().grain, 1u);
  EXPECT_EQ(thousand.asked.back().grain, 100u);  // 100 us of them
}

TEST(GoCalibration, OneOperationMayBeEnough) {
  said_to_take second(1'000'000'000);
  EXPECT_EQ(runtime::run(calibrated(second.get(), duration::nanoseconds(1'000), 1), with_processors(1)), 1e9);
  EXPECT_EQ(second.asked.size(), 1u);
}

TEST(GoProcessors, AllHaveATaskAtTheSameTime) {
  for (const std::size_t processors : {1U, 2U, 4U}) {
    std::vector<std::thread::id> threads(processors);
    const auto note = [&threads](std::size_t index) { threads[index] = std::this_thread::get_id(); };
    runtime::run(on_every_processor(processors, note), with_processors(processors));
    EXPECT_EQ(std::set(threads.begin(), threads.end()).size(), processors);
  }
}

TEST(GoLateness, IsAnAverageWithItsWorst) {
  using ns = std::chrono::nanoseconds;
  const sample found = average_of({ns(10), ns(0), ns(50)});
  EXPECT_EQ(found.figure, 20);
  EXPECT_EQ(found.worst, 50);
  EXPECT_THROW(static_cast<void>(average_of({})), failure);
}

TEST(GoLateness, TimersThatFireTogetherEndTheirRound) {
  // Two or more fire in one thread, one after the other: the first must not wait there for the second.
  const workload what = find_workloads("ParallelTimerLatency").front();
  for (const contestant& each : all_contestants().contestants) {
    if (each.prepare || !each.takes_part(what)) continue;
    for (const int processors : {2, 3, 4}) {
      const sample found =
          each.offer_for(what)
              ->run({.what = what, .threads = processors, .time = std::chrono::milliseconds(1), .quick = true})
              .front();
      EXPECT_GE(found.worst, found.figure) << each.name << ' ' << processors;
    }
  }
}

TEST(GoBenchmarks, AreAllThatGoHas) {
  const roster all = all_contestants();
  for (const std::string who : {"foliot", "processor-heaps", "processor-heaps-1.14", "go"}) {
    for (const workload what : go_workloads) {
      EXPECT_TRUE(std::ranges::any_of(
          all.contestants, [&](const contestant& each) { return each.name == who && each.takes_part(what); }))
          << who << ' ' << name(what);
    }
  }
}

}  // namespace

}  // namespace foliot::program::bench
