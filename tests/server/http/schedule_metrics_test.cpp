// What /metrics tells of schedules. On virtual time: it begins on 2026-03-27T08:00:00Z, a Friday.
#include "server/metrics/schedule_survey.hpp"

#include <charconv>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "schedules_server.hpp"

namespace foliot::program::http {
namespace {

using namespace std::chrono_literals;

task<std::string> scrape(http_server& in) {
  const received got = co_await ask(in, "GET", "/metrics");
  EXPECT_EQ(got.status, 200) << got.body;
  co_return got.body;
}

/// The value of a series, such as `schedules{state="active"}`; empty if the page has none.
std::string value_of(const std::string& page, const std::string& series) {
  const std::string line = "\nfoliot_" + series + ' ';
  const std::size_t at = page.find(line);
  if (at == std::string::npos) return {};
  const std::size_t begin = at + line.size();
  return page.substr(begin, page.find('\n', begin) - begin);
}

/// Of each state: active, paused, ended, refused.
std::vector<std::string> standings_in(const std::string& page) {
  std::vector<std::string> all;
  for (const std::string_view each : names_of_standings) {
    all.push_back(value_of(page, fmt::format("schedules{{state=\"{}\"}}", each)));
  }
  return all;
}
using standings = std::vector<std::string>;

task<> put_schedule(http_server& in, std::string name, std::string plan) {
  const received got = co_await ask(in, "PUT", "/v1/tubes/mail/schedules/" + std::move(name), std::move(plan));
  EXPECT_EQ(got.status, 201) << got.body;
}

TEST(ScheduleMetrics, CountWhatSchedulesDo) {
  with_schedules([](http_server& in) -> task<> {
    const std::string none = co_await scrape(in);
    EXPECT_EQ(standings_in(none), (standings{"0", "0", "0", "0"})) << none;
    EXPECT_EQ(value_of(none, "schedules_next_due_seconds"), "");
    EXPECT_EQ(value_of(none, "schedules_overdue_seconds"), "0");
    co_await put_schedule(in, "hourly", R"({"rules":["@hourly"]})");
    co_await put_schedule(in, "paused", R"({"rules":["@daily"]})");
    co_await put_schedule(in, "once", R"({"rules":["once 2026-03-27T08:30"]})");
    const received paused = co_await ask(in, "POST", "/v1/tubes/mail/schedules/paused/pause");
    EXPECT_EQ(paused.status, 200) << paused.body;
    co_await runtime::sleep(10min);
    const std::string some = co_await scrape(in);
    EXPECT_EQ(standings_in(some), (standings{"2", "1", "0", "0"})) << some;
    const std::string next = value_of(some, "schedules_next_due_seconds");
    EXPECT_GT(std::stod("0" + next), 1199.0) << next;
    EXPECT_LE(std::stod("0" + next), 1200.0) << next;
    EXPECT_EQ(value_of(some, R"(schedule_occurrences_total{reason="regular"})"), "0");
    co_await runtime::sleep(52min);
    const received run = co_await ask(in, "POST", "/v1/tubes/mail/schedules/paused/run");
    EXPECT_EQ(run.status, 200) << run.body;
    co_await runtime::sleep(1s);
    const std::string later = co_await scrape(in);
    EXPECT_EQ(standings_in(later), (standings{"1", "1", "1", "0"})) << later;
    EXPECT_EQ(value_of(later, R"(schedule_occurrences_total{reason="regular"})"), "2");
    EXPECT_EQ(value_of(later, R"(schedule_occurrences_total{reason="late"})"), "0");
    EXPECT_EQ(value_of(later, R"(schedule_occurrences_total{reason="backfill"})"), "0");
    EXPECT_EQ(value_of(later, R"(schedule_occurrences_total{reason="by_hand"})"), "1");
    EXPECT_EQ(value_of(later, "schedule_lateness_seconds_count"), "2") << "by hand nothing is late";
    EXPECT_EQ(value_of(later, R"(schedule_lateness_seconds_bucket{le="1"})"), "2");
    EXPECT_EQ(value_of(later, "schedule_refused_turns_total"), "0");
    EXPECT_EQ(value_of(later, "jobs_delayed{tube=\"\"}"), "0") << "no records among the jobs";
  });
}

TEST(ScheduleMetrics, TellThoseThatAreRefused) {
  with_schedules([](http_server& in) -> task<> {
    jobs::put record;
    record.tube = tube_of_schedules;
    record.key = "mail:wrong";
    record.body = R"({"rules":["0 25 * * *"]})";
    co_await in.jobs.execute(record);
    record.key = "mail:zone";
    record.body = R"({"rules":["@daily"],"zone":"Europe/Berlim"})";
    co_await in.jobs.execute(record);
    co_await runtime::sleep(1s);
    const std::string page = co_await scrape(in);
    EXPECT_EQ(standings_in(page), (standings{"0", "0", "0", "2"})) << page;
    EXPECT_EQ(value_of(page, "schedule_refused_turns_total"), "2");
    const std::string next = value_of(page, "schedules_next_due_seconds");
    EXPECT_GT(std::stod("0" + next), 3590.0) << "they are looked at again each hour";
  });
}

TEST(ScheduleMetrics, OfManyAreThoseOfTheLastRound) {
  with_schedules([](http_server& in) -> task<> {
    const std::size_t count = 2 * schedule_survey::alone + 7;
    for (std::size_t i = 0; i < count; ++i) {
      const std::string plan = fmt::format(R"({{"rules":["{} {} * * *"]}})", i % 60, 9 + i % 7);
      co_await put_schedule(in, fmt::format("s{}", i), plan);
    }
    const std::string first = co_await scrape(in);
    EXPECT_EQ(standings_in(first), (standings{"", "", "", ""})) << "it is not known yet";
    EXPECT_NE(value_of(first, "schedules_next_due_seconds"), "");
    co_await scrape(in);
    const standings all{std::to_string(count), "0", "0", "0"};
    const std::string third = co_await scrape(in);
    EXPECT_EQ(standings_in(third), all);
    const std::string fourth = co_await scrape(in);
    EXPECT_EQ(standings_in(fourth), all) << "those of the round before";
  });
}

}  // namespace
}  // namespace foliot::program::http
