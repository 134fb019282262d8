// Peers in other languages: run to their end or killed, and believed only if their figures are possible.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "bench/child_process.hpp"
#include "bench/contestants/other_languages.hpp"
#include "text/failure.hpp"

namespace foliot::program::bench {

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr duration patience = duration::nanoseconds(60'000'000'000);

child_outcome shell(const std::string& script, duration longest = patience, const std::string& folder = {}) {
  return run_child({.words = {"/bin/sh", "-c", script}, .environment = {"GREETING=hello"}, .folder = folder}, longest);
}

TEST(ChildProcess, ReturnsItsOutput) {
  const child_outcome outcome = shell("echo $GREETING; pwd; echo aside >&2", patience, "/");
  EXPECT_EQ(outcome.output, "hello\n/\n");
  EXPECT_EQ(outcome.wrong, "");
}

TEST(ChildProcess, ReturnsMoreThanAPipeHolds) {
  EXPECT_EQ(shell("i=0; while [ $i -lt 3000 ]; do echo 0123456789012345678901234567890123456789; "
                  "echo 0123456789012345678901234567890123456789 >&2; i=$((i+1)); done")
                .output.size(),
            3000u * 41);
}

TEST(ChildProcess, HasNoInput) { EXPECT_EQ(shell("cat; echo end").output, "end\n"); }

TEST(ChildProcess, ReportsItsFailure) {
  EXPECT_EQ(shell("exit 3").wrong, "it ended with exit code 3");
  EXPECT_EQ(shell("echo one >&2; echo two >&2; exit 1").wrong, "it ended with exit code 1: two");
  EXPECT_EQ(shell("echo error: the cause >&2; echo the rest >&2; exit 1").wrong,
            "it ended with exit code 1: error: the cause");
  EXPECT_EQ(shell("kill -9 $$").wrong, "it died of signal 9");
  EXPECT_THAT(run_child({.words = {"/no/such/program"}}, patience).wrong, HasSubstr("No such file"));
}

TEST(ChildProcess, IsKilledWhenItTakesTooLong) {
  const child_outcome outcome = shell("exec sleep 1000", duration::nanoseconds(50'000'000));
  EXPECT_EQ(outcome.wrong, "it took longer than 0.05 s");
}

sample cost(std::string_view output) { return samples_in(output, {.what = workload::w5w1}).front(); }
sample lateness(std::string_view output) { return samples_in(output, {.what = workload::w6_1ms, .sleeps = 2}).front(); }

TEST(PeerAnswer, IsAFigure) {
  EXPECT_EQ(cost(R"({"version": "x1", "ns": 31.5})").figure, 31.5);
  EXPECT_EQ(cost(R"({"ns": 31.5})").figure, 31.5);
  EXPECT_THAT(lateness(R"({"lateness_ns": [7, 99999999999]})").each, ElementsAre(7u, 4294967295u));
}

TEST(PeerAnswer, ThatIsNonsenseIsNotBelieved) {
  for (const char* each : {"", "31", "no", "{}", R"({"ns": "31"})", R"({"ns": 0})", R"({"ns": -4})", R"({"ns": 1e99})",
                           R"({"ns": null})", R"({"ns": 31} {"ns": 32})"}) {
    EXPECT_THROW(cost(each), failure) << each;
  }
  for (const char* each : {"", "{}", R"({"lateness_ns": [7]})", R"({"lateness_ns": [7, -1]})",
                           R"({"lateness_ns": [7, "8"]})", R"({"lateness_ns": [7, 8, 9]})"}) {
    EXPECT_THROW(lateness(each), failure) << each;
  }
}

TEST(PeerAnswer, MayBeAnAverageWithItsWorst) {
  const workload late = find_workloads("ParallelTimerLatency").front();
  const auto told = [late](std::string_view output) { return samples_in(output, {.what = late}).front(); };
  EXPECT_EQ(told(R"({"ns": 800, "worst_ns": 9000})").figure, 800);
  EXPECT_EQ(told(R"({"ns": 800, "worst_ns": 9000})").worst, 9000);
  for (const char* each : {R"({"ns": 800})", R"({"ns": 800, "worst_ns": 700})", R"({"ns": 800, "worst_ns": "9000"})"}) {
    EXPECT_THROW(told(each), failure) << each;
  }
}

TEST(PeerAnswer, MayHaveTheMemoryOfATask) {
  const workload asleep = find_workloads("SleepingTasks100000").front();
  EXPECT_EQ(samples_in(R"({"ns": 800, "bytes": 2600})", {.what = asleep}).front().bytes, 2600);
}

TEST(PeerAnswer, HasItsVersion) {
  EXPECT_EQ(version_in(R"({"version": "x1", "ns": 1})"), "x1");
  EXPECT_EQ(version_in(R"({"version": 7})"), "");
  EXPECT_EQ(version_in("nonsense"), "");
}

}  // namespace

}  // namespace foliot::program::bench
