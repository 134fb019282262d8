// The cases of others' reports, each by its name: ../shared/reference/cron-cases.tsv, which FOLIOT_REFERENCE_DIR names.
// Where the file is missing, they are skipped.
#include <fstream>
#include <map>
#include <regex>
#include <set>

#include <gmock/gmock.h>

#include "schedule/kit.hpp"

namespace foliot::schedule {

namespace {

using testing::ElementsAreArray;

struct reference_case {
  std::string id, kind, text, where, from, expected, remark;
};

/// These are about more than times. The functions below have what they say about times; C196, C202, C204 and C215 are
/// those of tests/server/schedules/schedule_planner_test.cpp, C192 is among the intervals.
const std::set<std::string> by_hand{"C182", "C184", "C186", "C187", "C188", "C190", "C192", "C194",
                                    "C195", "C196", "C202", "C204", "C212", "C214", "C215", "C217"};

const std::map<std::string, dialect> dialects{{"C221", dialect::eventbridge}, {"C224", dialect::with_seconds}};

std::vector<reference_case> reference_cases() {
  std::ifstream file(std::string(FOLIOT_REFERENCE_DIR) + "/cron-cases.tsv");
  std::vector<reference_case> all;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::vector<std::string> cells;
    for (std::size_t begin = 0; begin <= line.size();) {
      const std::size_t end = std::min(line.find('\t', begin), line.size());
      cells.push_back(line.substr(begin, end - begin));
      begin = end + 1;
    }
    if (cells.size() != 8) throw std::runtime_error("a case has not eight cells: " + line);
    all.push_back({cells[0], cells[2], cells[3], cells[4], cells[5], cells[6], cells[7]});
  }
  return all;
}

/// The times in a text; "never" behind them if it says so.
std::vector<std::string> times_in(const std::string& text) {
  static const std::regex form(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)");
  std::vector<std::string> times;
  for (std::sregex_iterator each(text.begin(), text.end(), form), end; each != end; ++each)
    times.push_back(each->str());
  if (text.find("then none") != std::string::npos || text.starts_with("none")) times.emplace_back("never");
  return times;
}

/// What stands behind a label, up to the next semicolon; "" without the label.
std::string part_of(const std::string& text, const std::string& label) {
  const auto begin = text.find(label);
  if (begin == std::string::npos) return {};
  const auto from = begin + label.size();
  return text.substr(from, text.find(';', from) - from);
}

void expect_times(const timetable& table, sys_seconds from, const std::vector<std::string>& expected) {
  ASSERT_FALSE(expected.empty());
  EXPECT_THAT(next_texts(table, from, expected.size()), ElementsAreArray(expected));
  for (std::size_t i = 1; i < expected.size() && expected[i] != "never"; ++i) {
    const auto previous = table.previous(instant_of(expected[i]));
    ASSERT_TRUE(previous);
    EXPECT_EQ(text_of(previous->at), expected[i - 1]);
  }
}

/// Returns whether the case is about other zone data than those that are here.
bool check_times(const reference_case& one) {
  std::string expected = one.expected;
  const zone where = zone_named(one.where);
  if (expected.starts_with("data ")) expected = part_of(expected, "data " + where.version() + ":");
  if (expected.starts_with("gap=shift:")) expected = part_of(expected, "gap=shift:");
  if (expected.empty()) return false;
  const auto cron = dialects.find(one.id);
  timetable_options options{.rules = {rule_of(one.text, cron == dialects.end() ? dialect::vixie : cron->second)},
                            .where = where};
  const sys_seconds from = instant_of(one.from);
  expect_times(table_of(options), from, times_in(expected));
  if (const auto skip = part_of(one.remark, "gap=skip: "); !skip.empty()) {
    options.gap = gap_policy::skip;
    expect_times(table_of(options), from, times_in(skip));
    options.gap = gap_policy::shift;
  }
  for (const auto& [label, policy] :
       {std::pair("overlap=last: ", overlap_policy::last), std::pair("overlap=both: ", overlap_policy::both)}) {
    const auto times = part_of(one.remark, label);
    if (times.empty()) continue;
    options.overlap = policy;
    expect_times(table_of(options), from, times_in(times));
  }
  return true;
}

class ReferenceCases : public testing::Test {
 protected:
  void SetUp() override {
    all_ = reference_cases();
    if (all_.empty()) GTEST_SKIP() << "there is no " << FOLIOT_REFERENCE_DIR << "/cron-cases.tsv";
  }

  const reference_case& at(const std::string& id) const {
    const auto found = std::ranges::find(all_, id, &reference_case::id);
    if (found == all_.end()) throw std::runtime_error("there is no case " + id);
    return *found;
  }

  std::vector<reference_case> all_;
};

TEST_F(ReferenceCases, AreRefused) {
  int count = 0;
  for (const auto& each : all_) {
    if (!each.expected.starts_with("reject") || by_hand.contains(each.id)) continue;
    SCOPED_TRACE(each.id + " " + each.text);
    ++count;
    const auto read = rule::parse(each.text);
    ASSERT_FALSE(read);
    EXPECT_FALSE(read.error().problem.empty());
    EXPECT_FALSE(read.error().remedy.empty());
  }
  EXPECT_EQ(count, 14);
}

TEST_F(ReferenceCases, HaveTheirTimes) {
  int count = 0;
  for (const auto& each : all_) {
    if (each.expected.starts_with("reject") || by_hand.contains(each.id)) continue;
    SCOPED_TRACE(each.id + " " + each.text + " " + each.where);
    if (check_times(each))
      ++count;
    else
      std::cout << each.id << " is about other zone data than " << zone_named(each.where).version() << "\n";
  }
  EXPECT_GE(count, 79);
}

TEST_F(ReferenceCases, OnceInAnOverlap) {  // C184
  timetable_options options{.rules = {rule_of("once 2025-10-26T02:30")}, .where = zone_named("Europe/Berlin")};
  expect_times(table_of(options), instant_of(at("C184").from), {"2025-10-26T00:30:00Z", "never"});
  options.overlap = overlap_policy::last;
  expect_times(table_of(options), instant_of(at("C184").from), {"2025-10-26T01:30:00Z", "never"});
}

TEST_F(ReferenceCases, IntervalsKeepTheirGrid) {
  const std::map<std::string, std::pair<std::string, std::string>> rules{
      {"C186", {"every 4h from 2026-02-01T23:40:00Z", "UTC"}},
      {"C187", {"every 24h from 2026-06-26T01:00:00Z", "UTC"}},
      {"C188", {"every 60s from 2026-02-12T00:00:00Z", "UTC"}},
      {"C190", {"every 1d from 2025-03-29T09:00+01:00", "Europe/Berlin"}}};
  for (const auto& [id, rule_and_zone] : rules) {
    SCOPED_TRACE(id);
    expect_times(table_of(rule_and_zone.first, rule_and_zone.second), instant_of(at(id).from),
                 times_in(at(id).expected));
  }
  for (const std::string_view text : {"every 0s", "every -5s", "every 200ms"}) EXPECT_FALSE(rule::parse(text)) << text;
}

TEST_F(ReferenceCases, TheZoneIsNamed) {  // C182
  EXPECT_FALSE(test_zones().find(at("C182").where));
}

TEST_F(ReferenceCases, TimesOfServers) {
  // C194: behind a pause the grid goes on. C195: a changed rule counts from the change.
  EXPECT_THAT(next_texts(table_of("*/5 * * * *"), instant_of("2026-01-04T10:01:00Z"), 1),
              ElementsAreArray({"2026-01-04T10:05:00Z"}));
  EXPECT_THAT(next_texts(table_of("0 2 * * *"), instant_of("2026-01-01T15:00:00Z"), 1),
              ElementsAreArray({"2026-01-02T02:00:00Z"}));
  // C217: a backfill has the rule's own instants.
  const timetable table = table_of("0 0 * * *", "America/New_York");
  expect_times(table, instant_of("2026-03-07T00:00:00-05:00") - seconds(1), times_in(at("C217").expected));
}

TEST_F(ReferenceCases, JitterIsStable) {  // C212, C214
  for (const auto& [text, jitter] :
       {std::pair("0 * * * *", std::chrono::minutes(10)), std::pair("0 6,18 * * *", std::chrono::minutes(720))}) {
    const timetable table = table_of({.rules = {rule_of(text)}, .jitter = jitter});
    const timetable again = table_of({.rules = {rule_of(text)}, .jitter = jitter});
    std::set<std::int64_t> delays;
    for (sys_seconds at = instant_of("2026-01-01T00:00:00Z"); delays.size() < 20; at = table.next(at)->at) {
      const auto delay = table.delay_of("nightly", at);
      EXPECT_GE(delay.count(), 0);
      EXPECT_LT(delay, jitter);
      EXPECT_EQ(delay, again.delay_of("nightly", at));
      EXPECT_NE(delay, table.delay_of("weekly", at));
      delays.insert(delay.count());
    }
  }
}

}  // namespace

}  // namespace foliot::schedule
