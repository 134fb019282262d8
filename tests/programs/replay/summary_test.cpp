#include "replay/summary.hpp"

#include <chrono>

#include <gtest/gtest.h>
namespace foliot::program {
namespace {

using namespace std::chrono_literals;

replay_summary example() {
  replay_summary summary;
  summary.logs = {"a.log", "-"};
  summary.idle = 90min;
  summary.engine = "global-heap";
  summary.lines = 1'000'000;
  summary.malformed = 7;
  summary.out_of_order = 12;
  summary.clients = 2'365;
  summary.sessions = 2'989;
  summary.timers.started = 2'989;
  summary.timers.superseded = 27'980;
  summary.timers.fired = 2'989;
  summary.timers.peak_pending = 273;
  summary.wall = 250ms;
  summary.peak_memory_bytes = 4'404'019;
  return summary;
}

TEST(Summary, IsAlignedForPeople) {
  EXPECT_EQ(summary_text(example()),
            "foliot replay of a.log, standard input, idle 1h30m, engine global-heap\n"
            "lines                   1,000,000\n"
            "malformed                       7\n"
            "out of order                   12\n"
            "clients                     2,365\n"
            "sessions                    2,989\n"
            "timers started              2,989\n"
            "timers reset               27,980\n"
            "timers fired                2,989\n"
            "peak pending                  273\n"
            "wall time                   0.250 s\n"
            "timer operations          135,832 a second\n"
            "lines read              4,000,000 a second\n"
            "peak memory                   4.2 MiB\n");
}

TEST(Summary, SaysWhenClientsAreAnEstimate) {
  replay_summary summary = example();
  summary.clients_exact = false;
  EXPECT_NE(summary_text(summary).find("clients               about 2,365\n"), std::string::npos);
  EXPECT_NE(summary_json(summary).find("\"clients_exact\": false"), std::string::npos);
}

replay_summary example_of_two_engines() {
  replay_summary summary = example();
  summary.engine = "all";
  summary.engines.resize(2);
  summary.engines[0] = {"foliot", 0s, 2'989, summary.timers, 2ms, ""};
  summary.engines[1] = {"linux-wheel", 1500ms, 2'980, summary.timers, 4ms, "it is \"late\""};
  return summary;
}

TEST(Summary, HasATableInTheSteadOfWhatOneEngineDid) {
  const replay_summary summary = example_of_two_engines();
  const std::string text = summary_text(summary);
  EXPECT_TRUE(
      text.ends_with("clients                     2,365\n"
                     "wall time                   0.250 s\n"
                     "peak memory                   4.2 MiB\n\n" +
                     comparison_table(summary.engines)))
      << text;
}

TEST(Summary, HasEveryEngineForPrograms) {
  const std::string json = summary_json(example_of_two_engines());
  EXPECT_NE(json.find("\"timer_operations_per_second\": 16979000,\n  \"lines_per"), std::string::npos) << json;
  EXPECT_NE(json.find("      \"engine\": \"linux-wheel\",\n"
                      "      \"sessions\": 2980,\n"),
            std::string::npos)
      << json;
  EXPECT_NE(json.find("      \"processor_seconds\": 0.004,\n"), std::string::npos) << json;
  EXPECT_NE(json.find("      \"lateness_allowed_seconds\": 1.5,\n"
                      "      \"agrees\": false,\n"
                      "      \"disagreement\": \"it is \\\"late\\\"\"\n"),
            std::string::npos)
      << json;
  EXPECT_EQ(summary_json(example()).find("engines"), std::string::npos);
}

TEST(Summary, NamesFewLogsAndCountsMany) {
  replay_summary summary = example();
  summary.logs = {"a", "b", "c", "d"};
  EXPECT_TRUE(summary_text(summary).starts_with("foliot replay of 4 logs, idle"));
}

TEST(Summary, HasNoRateWithoutTime) {
  replay_summary summary = example();
  summary.wall = duration::zero();
  EXPECT_EQ(summary.lines_per_second(), 0);
  EXPECT_NE(summary_json(summary).find("\"lines_per_second\": 0,"), std::string::npos);
}

TEST(Summary, IsJsonWhateverALogIsCalled) {
  replay_summary summary = example();
  summary.logs = {"quote\"\n\xff"};
  const std::string json = summary_json(summary);
  EXPECT_NE(json.find("\"quote\\\"\\n\xef\xbf\xbd\""), std::string::npos) << json;
}

}  // namespace
}  // namespace foliot::program
