// The verdict on threads that contend, of figures that are made up. Nothing is measured.
#include "bench/report/contention.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <utility>

namespace foliot::program::bench {

namespace {

using ::testing::HasSubstr;

/// A contestant in W5W1 over 1,000 timers; `costs`: the number of threads, and ns an operation of all together.
void add_costs(results& to, std::string name, std::initializer_list<std::pair<int, double>> costs) {
  to.contestants.push_back({.name = name});
  for (const auto& [threads, cost] : costs) {
    to.records.push_back(
        {.what = workload::w5w1, .contestant = name, .timers = 1'000, .threads = threads, .cost = {cost, cost, cost}});
  }
}

results on_cores(const char* cores) {
  results all;
  all.machine = {{"cores", cores}};
  return all;
}

TEST(BenchContention, BeginsWhereAThreadDoesLessThanHalf) {
  results all = on_cores("16");
  add_costs(all, "shares nothing", {{1, 100}, {2, 50}, {4, 25}, {16, 6.25}});
  add_costs(all, "one lock", {{1, 100}, {2, 100}, {4, 120}, {16, 300}});
  add_costs(all, "from eight on", {{1, 100}, {4, 40}, {8, 30}, {16, 40}});
  const auto found = contention_in(all);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].begins_at, std::nullopt);
  EXPECT_EQ(found[0].last_judged, 16);
  EXPECT_DOUBLE_EQ(found[0].steps.back().share, 1);
  // A half is not less than half.
  EXPECT_DOUBLE_EQ(found[1].steps[1].share, 0.5);
  EXPECT_EQ(found[1].begins_at, 4);
  EXPECT_EQ(found[2].begins_at, 8);
}

TEST(BenchContention, ThreadsThatTakeTurnsAreNotJudged) {
  results all = on_cores("2");
  add_costs(all, "remote", {{2, 55}, {4, 55}});
  add_costs(all, "foliot", {{1, 100}, {2, 55}, {4, 55}});
  const auto found = contention_in(all);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].last_judged, std::nullopt);
  EXPECT_EQ(found[1].begins_at, std::nullopt);
  EXPECT_EQ(found[1].last_judged, 2);
  EXPECT_TRUE(found[1].steps[2].takes_turns);
  const std::string text = contention_text(all);
  EXPECT_THAT(text, HasSubstr("W5W1, 1,000 timers\n"));
  EXPECT_THAT(text, HasSubstr("threads                1       2     (4)                begins\n"));
  EXPECT_THAT(text, HasSubstr("foliot              100%     91%     45%   not up to 2 threads\n"));
  EXPECT_THAT(text, HasSubstr("remote                      100%     50%  too few cores to say\n"));
}

TEST(BenchContention, TheVerdictIsInTheFiguresForPrograms) {
  results all = on_cores("16");
  add_costs(all, "one lock", {{1, 100}, {4, 120}});
  const std::string text = results_json(all);
  EXPECT_THAT(text, HasSubstr("\"begins_at\": 4"));
  EXPECT_THAT(text, HasSubstr("\"judged_up_to\": 4"));
  EXPECT_THAT(text, HasSubstr("\"share\": 0.208"));
}

TEST(BenchContention, NeedsTwoNumbersOfThreads) {
  results all = on_cores("16");
  add_costs(all, "foliot", {{2, 100}});
  all.records.push_back({.what = workload::w1, .contestant = "foliot", .timers = 1'000, .cost = {9, 9, 9}});
  EXPECT_TRUE(contention_in(all).empty());
  EXPECT_EQ(contention_text(all), "");
  EXPECT_EQ(results_json(all).find("contention"), std::string::npos);
}

TEST(BenchContention, EveryNumberOfTimersHasItsOwn) {
  results all = on_cores("unknown");
  add_costs(all, "foliot", {{1, 100}, {64, 100}});
  for (const int threads : {1, 64}) {
    all.records.push_back({.what = workload::w5w2,
                           .contestant = "foliot",
                           .timers = 5,
                           .threads = threads,
                           .cost = {10.0 / threads, 1, 1}});
  }
  const auto found = contention_in(all);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].begins_at, 64);  // how many cores there are is not known
  EXPECT_EQ(found[1].begins_at, std::nullopt);
}

}  // namespace

}  // namespace foliot::program::bench
