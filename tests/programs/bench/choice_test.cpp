// Chosen workloads and contestants that are not measured are reported, with the reason.
#include "bench/bench_options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "text/failure.hpp"

namespace foliot::program::bench {

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using ::testing::ThrowsMessage;

bench_options asking(const std::vector<std::string>& workloads, std::vector<std::string> contestants,
                     std::vector<int> threads = {1, 2}) {
  bench_options options;
  options.only = parse_workloads(workloads);
  options.contestants = std::move(contestants);
  options.names_workloads = true;
  options.names_contestants = !options.contestants.empty();
  options.threads = std::move(threads);
  return options;
}

gaps gaps_of(const bench_options& options) { return gaps_in(options, select(all_contestants(), options.contestants)); }

TEST(BenchChoice, NothingIsReportedWhereEverythingIsMeasured) {
  const gaps missing = gaps_of(asking({"W1", "W5W1"}, {"foliot", "multimap"}));
  EXPECT_THAT(missing.contestants, IsEmpty());
  EXPECT_THAT(missing.workloads, IsEmpty());
  EXPECT_THAT(messages_about(missing), IsEmpty());
}

TEST(BenchChoice, AContestantWithoutAnyOfTheWorkloadsIsReported) {
  const gaps missing = gaps_of(asking({"W1"}, {"foliot", "processor-heaps"}));
  EXPECT_THAT(missing.workloads, IsEmpty());
  ASSERT_EQ(missing.contestants.size(), 1u);
  EXPECT_EQ(missing.contestants.front().name, "processor-heaps");
  EXPECT_EQ(missing.contestants.front().from, "");
  EXPECT_THAT(messages_about(missing),
              ElementsAre("processor-heaps is left out: it takes part in no workload that is measured, but in W5W1, "
                          "W5W1-remote, W5W2, W6-100us, W6-1ms, W6-10ms, idle, idle-ticker, Go's own benchmarks"));
}

TEST(BenchChoice, AContestantThatWasNotNamedIsNotReported) {
  bench_options options = asking({"W1"}, {"foliot", "processor-heaps"});
  options.names_contestants = false;
  EXPECT_THAT(gaps_of(options).contestants, IsEmpty());
  EXPECT_THAT(gaps_of(asking({"W1"}, {})).contestants, IsEmpty());
}

TEST(BenchChoice, AKnownReasonIsReported) {
  const gaps missing = gaps_of(asking({"W5W1-remote"}, {"foliot", "tokio"}));
  EXPECT_THAT(missing.contestants, ElementsAre(absence{"tokio", "W5W1-remote", "a Sleep belongs to its task"}));
  EXPECT_THAT(messages_about(missing), ElementsAre("tokio is left out: a Sleep belongs to its task"));
}

TEST(BenchChoice, AWorkloadWithoutAnyOfTheContestantsIsReported) {
  const gaps missing = gaps_of(asking({"W1", "W3", "idle"}, {"floor-load"}));
  EXPECT_THAT(missing.contestants, IsEmpty());
  const std::string reason = "none of the contestants named takes part";
  EXPECT_THAT(missing.workloads, ElementsAre(omission{workload::w3, reason}, omission{workload::idle, reason}));
  const std::vector<std::string> told = messages_about(missing);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_THAT(told.front(), StartsWith("not measured: W3, idle: none of the contestants named takes part; foliot, "));
  EXPECT_THAT(told.front(), HasSubstr(" others would"));
}

TEST(BenchChoice, OtherContestantsThatTakePartAreReported) {
  const gaps missing = gaps_of(asking({"W5W1", "Sleep1000"}, {"multimap"}));
  EXPECT_THAT(messages_about(missing), ElementsAre("not measured: Sleep1000: none of the contestants named takes part; "
                                                   "foliot, processor-heaps, processor-heaps-1.14, go would"));
}

TEST(BenchChoice, AWorkloadThatNeedsTwoThreadsIsReported) {
  const gaps missing = gaps_of(asking({"W5W1", "W5W1-remote", "StaggeredTickerLatency"}, {}, {1}));
  EXPECT_EQ(missing.workloads.size(), 6u);
  EXPECT_THAT(messages_about(missing), ElementsAre("not measured: W5W1-remote, StaggeredTickerLatency: 2 threads or "
                                                   "processors are needed, at least"));
}

TEST(BenchChoice, AContestantOfAnUnmeasuredWorkloadIsLeftOut) {
  const gaps missing = gaps_of(asking({"W1", "W5W1-remote"}, {"goim", "multimap"}, {1}));
  ASSERT_EQ(missing.contestants.size(), 1u);
  EXPECT_EQ(missing.contestants.front().name, "goim");
}

TEST(BenchChoice, NothingToMeasureIsAnError) {
  EXPECT_THAT(
      [] { (void)gaps_of(asking({"W1"}, {"processor-heaps"})); },
      ThrowsMessage<failure>(HasSubstr("none of those named (processor-heaps) takes part in W1: name one of ")));
  EXPECT_THAT([] { (void)gaps_of(asking({"W5W1-remote"}, {}, {1})); },
              ThrowsMessage<failure>("--threads: W5W1-remote cannot be measured with 1: name 2 or more"));
}

TEST(BenchChoice, WorkloadsAreListedByTheirFamiliesAndManyOfGosByTheirNumber) {
  EXPECT_EQ(listed(parse_workloads({"W1", "Stop", "Ticker"})), "W1, Stop, Ticker");
  std::vector<workload> all(go_workloads.begin(), go_workloads.end());
  EXPECT_EQ(listed(all), "Go's own benchmarks");
  all.pop_back();
  EXPECT_EQ(listed(all), std::to_string(go_workloads.size() - 1) + " of Go's own benchmarks");
}

TEST(BenchChoice, EachReasonIsReportedOnce) {
  const std::vector<shared_reason> reasons = by_reason({{workload::w1, "a"}, {workload::w2, "b"}, {workload::w3, "a"}});
  ASSERT_EQ(reasons.size(), 2u);
  EXPECT_THAT(reasons[0].workloads, ElementsAre(workload::w1, workload::w3));
  EXPECT_THAT(reasons[1].workloads, ElementsAre(workload::w2));
}

}  // namespace

}  // namespace foliot::program::bench
