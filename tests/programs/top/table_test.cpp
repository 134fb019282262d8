#include "top/table.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace foliot::program {
namespace {

using namespace std::chrono_literals;

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

service_snapshot at_first() {
  service_snapshot now;
  now.statistics.counters.started = 1'000'000;
  now.statistics.counters.fired = 10;
  now.statistics.counters.pending = 999'990;
  now.statistics.shards = 2;
  return now;
}

TEST(TopTable, WithoutAnEarlierLookHasNoRates) {
  const std::string text = statistics_table("x", at_first());
  EXPECT_TRUE(has_line(text, "foliot top of x")) << text;
  EXPECT_TRUE(has_line(text, "pending                        999,990")) << text;
  EXPECT_TRUE(has_line(text, "started                      1,000,000")) << text;
  EXPECT_TRUE(has_line(text, "lateness and callback time are not measured there")) << text;
  EXPECT_EQ(text.find("a second"), std::string::npos);
}

TEST(TopTable, RatesAreThoseSinceTheEarlierLook) {
  const service_snapshot then = at_first();
  service_snapshot now = then;
  now.statistics.counters.started += 5'000;
  now.statistics.counters.fired += 1;
  const earlier_look<service_snapshot> earlier{then, 2s};
  const std::string text = statistics_table("x", now, &earlier);
  EXPECT_TRUE(has_line(text, "                                 total        a second")) << text;
  EXPECT_TRUE(has_line(text, "started                      1,005,000           2,500")) << text;
  EXPECT_TRUE(has_line(text, "fired                               11             0.5")) << text;
  EXPECT_TRUE(has_line(text, "stopped                              0             0.0")) << text;
}

TEST(TopTable, AfterTheServiceHasBegunAnewThereAreNoRates) {
  service_snapshot now = at_first();
  const service_snapshot then = now;
  now.statistics.counters.fired = 9;
  const earlier_look<service_snapshot> earlier{then, 2s};
  EXPECT_EQ(statistics_table("x", now, &earlier), statistics_table("x", now));
  const earlier_look<service_snapshot> no_time{then, 0s};
  EXPECT_EQ(statistics_table("x", then, &no_time), statistics_table("x", then));
}

TEST(TopTable, TellsTheSlowestCallbacks) {
  service_snapshot now = at_first();
  now.slowest = {{.took = 12ms, .name = "recon\x1bnect", .armed_at = "server.cpp:31"},
                 {.took = 3us, .armed_at = "a.cpp:1"}};
  const std::string text = statistics_table("x", now);
  EXPECT_TRUE(has_line(text, "slowest callbacks                   armed at")) << text;
  EXPECT_TRUE(has_line(text, "recon\\x1bnect              12.0 ms  server.cpp:31")) << text;
  EXPECT_TRUE(has_line(text, "-                          3.00 us  a.cpp:1")) << text;
}

TEST(TopTable, NoNameReachesTheTerminalAsItIs) {
  const std::string hostile =
      "a\x1b[2J\x1b]0;owned\x07\r\n\xc2\x9b"
      "31m\xe2\x80\xaegpj\xe2\x81\xa6\xff\x7f";
  server_snapshot server;
  server.jobs.by_tube.push_back({hostile, {.ready = 1}});
  server.tasks.push_back({.name = hostile, .where = hostile, .tasks = 1});
  service_snapshot service = at_first();
  service.slowest = {{.took = 12ms, .name = hostile, .armed_at = hostile}};
  for (const std::string& text : {statistics_table(hostile, server), statistics_table(hostile, service)}) {
    for (const char c : text) EXPECT_TRUE(c == '\n' || (c >= ' ' && c < 0x7f)) << static_cast<int>(c);
    EXPECT_NE(text.find("foliot top of a\\x1b[2J\\x1b]0;owned\\x07\\x0d\\x0a\\xc2\\x9b31m\\xe2\\x80\\xaegpj"),
              std::string::npos)
        << text;
  }
}

TEST(TopTable, TellsTheJobsOfAServer) {
  server_snapshot now;
  now.jobs.tubes = 12;
  now.jobs.counts = jobs::job_counts{.urgent = 0, .ready = 12, .reserved = 3, .delayed = 1'000'000, .buried = 4};
  now.jobs.next_due = 3200ms;
  for (int i = 0; i < 12; ++i) now.jobs.by_tube.push_back({"tube-" + std::to_string(i), {.urgent = 0, .ready = 1234}});
  const std::string text = statistics_table("x", now);
  EXPECT_TRUE(
      text.starts_with("foliot top of x\n"
                       "tubes with jobs                     12\n"
                       "jobs ready                          12\n"
                       "  delayed                    1,000,000\n"
                       "  reserved                           3\n"
                       "  buried                             4\n"
                       "next is due in                  3.20 s\n"
                       "overdue for                          -\n"
                       "\n"
                       "       ready     delayed    reserved      buried  tube\n"
                       "       1,234           0           0           0  tube-0\n"))
      << text;
  EXPECT_TRUE(has_line(text, "       1,234           0           0           0  tube-9")) << text;
  EXPECT_EQ(text.find("tube-10"), std::string::npos) << text;
  EXPECT_TRUE(has_line(text, "           2  more tubes")) << text;
  const runtime_snapshot& runtime = now;
  const std::string rest = statistics_table("x", runtime);
  EXPECT_TRUE(text.ends_with("\n\n" + rest.substr(rest.find('\n') + 1))) << "and its tasks, as those of any program";
}

TEST(TopTable, TellsTheSchedulesOfAServer) {
  server_snapshot now;
  now.jobs.schedules = {0, 0};
  EXPECT_EQ(statistics_table("x", now).find("schedules"), std::string::npos) << "there are none";
  now.jobs.schedules = {1234, 5};
  EXPECT_TRUE(has_line(statistics_table("x", now), "schedules                        1,234  (5 due)"));
}

TEST(TopTable, TellsThatJobsAreOverdueOrUnknown) {
  server_snapshot now;
  now.jobs.counts = jobs::job_counts{};
  now.jobs.is_overdue = true;
  EXPECT_TRUE(has_line(statistics_table("x", now), "overdue for                  some time"));
  now.jobs.overdue = 12'345ms;
  EXPECT_TRUE(has_line(statistics_table("x", now), "overdue for                    12.35 s"));
  now.jobs.counts.reset();
  const std::string text = statistics_table("x", now);
  EXPECT_TRUE(has_line(text, "jobs ready                           -")) << text;
  EXPECT_TRUE(has_line(text, "the store does not answer, or its jobs cannot be counted quickly")) << text;
}

TEST(TopTable, LengthsHaveThreeDigits) {
  const auto shown = [](duration length) {
    service_snapshot now;
    now.statistics.measured = true;
    now.statistics.lateness.add(length);
    const std::string text = statistics_table("x", now);
    const std::size_t line = text.find("\nlateness") + 1;
    const std::string whole = text.substr(line, text.find('\n', line) - line);
    return whole.substr(58);  // the maximum, which is exact
  };
  EXPECT_EQ(shown(0ns), "        0 ns");
  EXPECT_EQ(shown(999ns), "      999 ns");
  EXPECT_EQ(shown(1us), "     1.00 us");
  EXPECT_EQ(shown(9'994ns), "     9.99 us");
  EXPECT_EQ(shown(9'996ns), "     10.0 us");
  EXPECT_EQ(shown(999'499ns), "      999 us");
  EXPECT_EQ(shown(999'500ns), "     1.00 ms");
  EXPECT_EQ(shown(1'500ms), "      1.50 s");
  EXPECT_EQ(shown(2h), "   7200.00 s");
}

}  // namespace
}  // namespace foliot::program
