#include "bench/bench_options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "bench/roster.hpp"
#include "text/failure.hpp"

namespace foliot::program::bench {

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(BenchOptions, WorkloadsAreInTheOrderOfMeasuringAndOnce) {
  EXPECT_THAT(parse_workloads({"w4", "W2P", "worst-uniform", "W4"}),
              ElementsAre(workload::w2p, workload::w4, workload::worst_uniform));
}

TEST(BenchOptions, AnUnknownWorkloadIsRefused) {
  EXPECT_THAT([] { (void)parse_workloads({"W9"}); },
              ThrowsMessage<failure>(HasSubstr("no workload 'W9'; there are W1, W1P, W2, W2P, W3, W4, worst-uniform")));
  EXPECT_THAT([] { (void)parse_workloads({""}); }, ThrowsMessage<failure>(HasSubstr("no workload ''")));
}

TEST(BenchOptions, AFamilyOfWorkloadsIsAllOfThem) {
  const auto names = [](const std::vector<std::string>& wanted) {
    std::vector<std::string_view> found;
    for (const workload each : parse_workloads(wanted)) found.push_back(name(each));
    return found;
  };
  EXPECT_THAT(names({"Stop", "ticker"}), ElementsAre("Stop/impl=chan", "Stop/impl=func", "Ticker"));
  EXPECT_THAT(names({"stop/IMPL=func"}), ElementsAre("Stop/impl=func"));
  EXPECT_THAT([] { (void)parse_workloads({"Stop/"}); }, ThrowsMessage<failure>(HasSubstr("no workload 'Stop/'")));
}

TEST(BenchOptions, GosOwnBenchmarksAreMeasuredWhenTheyAreNamed) {
  for (const workload each : bench_options().only) EXPECT_NE(kind_of(each), figure_kind::processors) << name(each);
  for (const workload each : go_workloads) EXPECT_EQ(kind_of(each), figure_kind::processors) << name(each);
}

TEST(BenchOptions, TheNamesInTheCodeAreThoseOfTheTable) {
  EXPECT_EQ(name(workload::w4), "W4");
  EXPECT_EQ(name(workload::worst_one_slot), "worst-one-slot");
  EXPECT_EQ(name(workload::idle_ticker), "idle-ticker");
  EXPECT_EQ(name(workload::first_of_go), "AfterFunc1000");
}

TEST(BenchOptions, NumbersOfTimersAreSortedAndOnce) {
  EXPECT_THAT(parse_timers({"1e6", "1000", "1e3", "25"}), ElementsAre(25u, 1000u, 1'000'000u));
}

TEST(BenchOptions, AWrongNumberOfTimersIsRefused) {
  for (const char* each : {"", "0", "-5", "1.5", "many", "1000x", "1e9", "nan", "inf", " 5"}) {
    EXPECT_THAT([each] { (void)parse_timers({each}); }, ThrowsMessage<failure>(HasSubstr("from 1 to 100000000")))
        << each;
  }
}

TEST(BenchOptions, NumbersOfThreadsAreSortedAndOnce) {
  EXPECT_THAT(parse_threads({"4", "1", "4"}), ElementsAre(1, 4));
  EXPECT_THAT(parse_threads({"256"}), ElementsAre(256));
  for (const char* each : {"", "0", "257", "-1", "1.5", "two", "2x", " 2"}) {
    EXPECT_THAT([each] { (void)parse_threads({each}); }, ThrowsMessage<failure>(HasSubstr("from 1 to 256"))) << each;
  }
}

TEST(BenchOptions, RepetitionsAreDecimal) {
  EXPECT_EQ(parse_repetitions("1"), 1);
  EXPECT_EQ(parse_repetitions("010"), 10);
  EXPECT_EQ(parse_repetitions("1000"), 1000);
  for (const char* each : {"", "0", "1001", "-1", "+1", "1.5", "0x10", "1e1", "x", " 2", "2 ", "99999999999"}) {
    EXPECT_THAT([each] { (void)parse_repetitions(each); }, ThrowsMessage<failure>(HasSubstr("from 1 to 1000"))) << each;
  }
}

TEST(BenchOptions, ContestantsThatTakePartAreNamed) {
  EXPECT_THAT(taking_part(select(all_contestants(), {"quad-heap", "floor-load"}), {workload::w3, workload::idle}),
              ElementsAre("quad-heap"));
  EXPECT_THAT(taking_part(select(all_contestants(), {"quad-heap", "foliot-runtime"}), {workload::idle}),
              ElementsAre("foliot-runtime"));
  for (const workload each : all_workloads) EXPECT_FALSE(taking_part(all_contestants(), {each}).empty()) << name(each);
}

TEST(BenchOptions, AContestantIsChosenForEverythingThatItDoes) {
  const roster chosen = select(all_contestants(), {"foliot", "futex"});
  EXPECT_THAT(chosen.names(), ElementsAre("foliot", "futex"));
  for (const workload each : {workload::w1, workload::w5w1, workload::w6_1ms, workload::idle, workload::first_of_go}) {
    EXPECT_TRUE(chosen.contestants.front().takes_part(each)) << name(each);
  }
  EXPECT_EQ(reference_of(chosen), "foliot");
}

TEST(BenchOptions, OnlyAbsencesOfChosenContestantsAreKept) {
  roster all;
  all.contestants = {{.name = "tortoise"}, {.name = "hare"}};
  all.left_out = {{"tortoise", "W6", "too slow"}, {"hare", "idle", "too quick"}};
  EXPECT_THAT(select(all, {"hare"}).left_out, ElementsAre(absence{"hare", "idle", "too quick"}));
}

TEST(BenchOptions, ContestantsAreInTheOrderAskedFor) {
  const roster chosen = select(all_contestants(), {"multimap", "quad-heap", "multimap"});
  ASSERT_EQ(chosen.contestants.size(), 2u);
  EXPECT_EQ(chosen.contestants[0].name, "multimap");
  EXPECT_EQ(reference_of(chosen), "quad-heap");
}

TEST(BenchOptions, AnUnknownContestantIsRefused) {
  EXPECT_THAT([] { (void)select(all_contestants(), {"sundial"}); },
              ThrowsMessage<failure>(HasSubstr("no 'sundial'; there are ")));
}

TEST(BenchOptions, AContestantThatWasNotInstalledIsNamed) {
  roster without;
  without.left_out = {{"libuv", {}, "not installed when this program was built"}};
  EXPECT_THAT([&] { (void)select(without, {"libuv"}); }, ThrowsMessage<failure>(HasSubstr("libuv was not installed")));
}

TEST(BenchOptions, PeersAreNeverTheReference) { EXPECT_EQ(reference_of(select(all_contestants(), {"multimap"})), ""); }

}  // namespace

}  // namespace foliot::program::bench
