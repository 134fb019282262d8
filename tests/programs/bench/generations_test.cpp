// The story of the generations: its contestants and its table. No figure is measured.
#include "bench/benchmark.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ranges>
#include <string>
#include <string_view>
#include <vector>

#include "bench/bench_options.hpp"
#include "bench/record.hpp"
#include "bench/report/text_table.hpp"
#include "bench/roster.hpp"

namespace foliot::program::bench {

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;

std::vector<std::string_view> names_of(const std::vector<workload>& all) {
  std::vector<std::string_view> names;
  for (const workload each : all) names.push_back(name(each));
  return names;
}

bool takes_part(std::string_view who, workload what) {
  static const roster all = all_contestants();
  return std::ranges::any_of(all.contestants,
                             [&](const contestant& each) { return each.name == who && each.takes_part(what); });
}

TEST(BenchGenerations, AreMeasuredWhereThreadsContendAndWait) {
  const std::vector<workload> all = generation_workloads();
  EXPECT_THAT(names_of(all), IsSupersetOf({"W5W1", "W5W1-remote", "W5W2", "W6-100us", "W6-10ms", "idle", "idle-ticker",
                                           "ParallelTimerLatency", "StaggeredTickerLatency/work=2ms/tickers=1"}));
  EXPECT_THAT(names_of(all), Not(::testing::Contains("Sleep1000")));
  EXPECT_EQ(all.size(), 14u);
}

TEST(BenchGenerations, EachTakesPartInAllButTheRuntimes) {
  for (const generation& each : generations) {
    for (const workload what : generation_workloads()) {
      if (kind_of(what) == figure_kind::processors) continue;
      EXPECT_TRUE(takes_part(each.contestant, what)) << each.contestant << ' ' << name(what);
    }
  }
  for (const std::string_view runtime : {"processor-heaps-1.14", "processor-heaps", "foliot"}) {
    EXPECT_TRUE(takes_part(runtime, find_workloads("ParallelTimerLatency").front())) << runtime;
  }
}

TEST(BenchGenerations, AreInTheOrderOfTheirYears) {
  EXPECT_TRUE(std::ranges::is_sorted(generations, {}, [](const generation& each) { return each.years.substr(0, 4); }));
  EXPECT_EQ(generation_of("multimap"), nullptr);
  EXPECT_EQ(generation_of("goim")->years, "2014 to today");
}

TEST(BenchGenerations, AreChosenTogether) {
  bench_options options;
  choose_generations(options);
  EXPECT_THAT(options.threads, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(options.timers, ElementsAre(100'000u));
  EXPECT_THAT(options.contestants, ElementsAre("global-heap", "goim", "erlang-wheel", "bucket-heaps",
                                               "processor-heaps-1.14", "processor-heaps", "foliot", "foliot-runtime"));
  EXPECT_EQ(options.only, generation_workloads());
  EXPECT_FALSE(options.names_contestants);
  EXPECT_TRUE(options.with_generations);
}

// ---------------------------------------------------------------- the table

record cost_of(workload what, std::string contestant, std::size_t timers, int threads, spread cost) {
  return {.what = what, .contestant = std::move(contestant), .timers = timers, .threads = threads, .cost = cost};
}

results some_results() {
  results all;
  all.with_generations = true;
  all.machine = {{"cores", "2"}};
  for (const char* const each : {"foliot", "multimap", "global-heap"}) all.contestants.push_back({.name = each});
  for (const int threads : {1, 2}) {
    all.records.push_back(cost_of(workload::w5w1, "foliot", 1'000, threads, {20, 19, 21}));
    all.records.push_back(cost_of(workload::w5w1, "multimap", 1'000, threads, {1'234, 1'234, 1'234}));
    all.records.push_back(cost_of(workload::w5w1, "global-heap", 1'000, threads, {100, 80, 120}));
  }
  record late = cost_of(workload::w6_1ms, "global-heap", 1, 1, {50'000, 40'000, 60'000});
  late.calls = percentiles{.p50 = 50'500, .p99 = 90'000, .p999 = 95'000, .max = 99'000};
  all.records.push_back(late);
  return all;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (const auto line : std::views::split(text, '\n')) lines.emplace_back(line.begin(), line.end());
  return lines;
}

TEST(BenchGenerations, HaveALineEachInTheOrderOfTheirYearsAndThenTheOthers) {
  const std::string text = generations_text(some_results());
  EXPECT_THAT(lines_of(text), IsSupersetOf({
                                  "                                W5W1, ns          W6-1ms, µs",
                                  "                                1,000 timers",
                                  "                                      1       2       p50     p99",
                                  "global-heap     2009 to 2017        100     100      50.5    90.0",
                                  "foliot          2026               20.0    20.0",
                                  "multimap                          1,234   1,234",
                                  "widest spread                      ±20%    ±20%      ±20%",
                              }));
  EXPECT_LT(text.find("\nglobal-heap "), text.find("\nfoliot "));
  EXPECT_LT(text.find("\nfoliot "), text.find("\nmultimap "));
  EXPECT_THAT(text, HasSubstr("\nglobal-heap     Go up to 1.9: one heap, "));
  EXPECT_THAT(text, Not(HasSubstr("64 heaps")));  // nobody measured them
  EXPECT_THAT(text, Not(HasSubstr("turns")));     // as many cores as threads
}

TEST(BenchGenerations, ColumnsThatAreTooManyGoOnBelow) {
  results all = some_results();
  for (const workload what : generation_workloads()) {
    for (const int threads : {1, 2, 3, 4}) {
      if (kind_of(what) != figure_kind::lateness)
        all.records.push_back(cost_of(what, "bucket-heaps", 100'000, threads, {123'456'000, 1, 2e9}));
    }
  }
  all.contestants.push_back({.name = "bucket-heaps"});
  const std::vector<std::string> lines = lines_of(generations_text(all));
  const auto begin = std::ranges::find_if(lines, [](const std::string& each) { return each.contains("W5W1, ns"); });
  const auto end = std::ranges::find_if(lines, [](const std::string& each) { return each.starts_with("W5W1: "); });
  ASSERT_LT(begin, end);
  EXPECT_GT(std::count_if(begin, end, [](const std::string& each) { return each.starts_with("widest spread"); }), 2);
  for (auto each = begin; each != end; ++each) EXPECT_LE(characters(*each), 128u) << *each;
  // A generation without a figure in a band has no line there: bucket-heaps is in all bands, the others are in the
  // first.
  EXPECT_EQ(std::count_if(begin, end, [](const std::string& each) { return each.starts_with("foliot "); }), 1);
  EXPECT_THAT(generations_text(all), HasSubstr("This machine has 2 cores: more threads than that take turns"));
}

TEST(BenchGenerations, ALongNameWidensTheColumnOfNames) {
  results all = some_results();
  all.contestants.push_back({.name = "processor-heaps-1.14"});
  all.records.push_back(cost_of(workload::w5w1, "processor-heaps-1.14", 1'000, 1, {50, 50, 50}));
  const std::string text = generations_text(all);
  EXPECT_THAT(lines_of(text), IsSupersetOf({"global-heap          2009 to 2017        100     100      50.5    90.0",
                                            "processor-heaps-1.14 2020 to 2021       50.0"}));
  EXPECT_THAT(text, HasSubstr("\nglobal-heap          Go up to 1.9: one heap, "));
}

TEST(BenchGenerations, LongFiguresAreApart) {
  results all = some_results();
  for (record& each : all.records) {
    if (each.contestant == "foliot") each.cost = {1'234'567'890, 1, 2};
  }
  EXPECT_THAT(lines_of(generations_text(all)),
              IsSupersetOf({"foliot          2026            1,234,567,890 1,234,567,890",
                            "global-heap     2009 to 2017              100           100      50.5    90.0"}));
}

TEST(BenchGenerations, WithoutAnyOfTheirWorkloadsThereIsNoTable) {
  results all = some_results();
  std::erase_if(all.records, [](const record& each) { return is_of_generations(each.what); });
  EXPECT_EQ(generations_text(all), "");
}

}  // namespace

}  // namespace foliot::program::bench
