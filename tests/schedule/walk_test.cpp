// Timetables beside a walk over every minute that really happens: random rules, in zones whose clocks change in ways of
// their own, from a seed that FOLIOT_SEED may name.
#include <map>
#include <random>
#include <set>

#include <gmock/gmock.h>

#include "schedule/kit.hpp"

namespace foliot::schedule {

namespace {

using std::chrono::days;
using std::chrono::minutes;
using testing::ElementsAreArray;

/// A field as a test writes it, and the numbers that it means.
struct written_field {
  std::string text;
  std::set<int> numbers;
  [[nodiscard]] bool is_wildcard() const { return text.starts_with('*'); }
};

struct written_rule {
  written_field minute, hour, day, month, weekday;

  [[nodiscard]] std::string text() const {
    return minute.text + ' ' + hour.text + ' ' + day.text + ' ' + month.text + ' ' + weekday.text;
  }
  [[nodiscard]] bool has_fixed_times() const { return !minute.is_wildcard() && !hour.is_wildcard(); }
  [[nodiscard]] bool fits(local_seconds time) const {
    const auto date = std::chrono::floor<days>(time);
    const std::chrono::year_month_day ymd(date);
    const auto of_day = (time - date).count();
    if (of_day % 60 != 0) return false;
    if (!minute.numbers.contains(static_cast<int>(of_day / 60 % 60))) return false;
    if (!hour.numbers.contains(static_cast<int>(of_day / 3600))) return false;
    if (!month.numbers.contains(static_cast<int>(static_cast<unsigned>(ymd.month())))) return false;
    const bool fits_day = day.numbers.contains(static_cast<int>(static_cast<unsigned>(ymd.day())));
    const bool fits_weekday = weekday.numbers.contains(static_cast<int>(std::chrono::weekday(date).c_encoding()));
    return day.is_wildcard() || weekday.is_wildcard() ? fits_day && fits_weekday : fits_day || fits_weekday;
  }
};

class rule_writer {
 public:
  explicit rule_writer(std::uint64_t seed) : random_(seed) {}

  int below(int end) { return static_cast<int>(random_() % static_cast<unsigned>(end)); }

  written_rule rule() {
    written_rule made;
    made.minute = field(0, 59, 3);
    made.hour = field(0, below(2) == 0 ? 4 : 23, 3);
    if (made.hour.is_wildcard()) made.hour = below(2) == 0 ? field(0, 23, 1) : made.hour;
    made.day = field(1, 31, 2);
    made.month = below(3) == 0 ? field(1, 12, 2) : star(1, 12, 1);
    made.weekday = field(0, 6, 2);
    if (made.hour.text == "*/5") made.hour = star(0, 23, 5);  // of all hours, whatever the list was drawn from
    return made;
  }

 private:
  static written_field star(int first, int last, int step) {
    written_field made{step == 1 ? "*" : "*/" + std::to_string(step), {}};
    for (int i = first; i <= last; i += step) made.numbers.insert(i);
    return made;
  }
  written_field field(int first, int last, int stars) {
    if (below(4) < stars) {
      const int end = first == 0 && last == 4 ? 23 : last;
      const int steps[] = {1, 1, 2, 5, 15};
      return star(first, end, steps[below(last < 13 ? 3 : 5)]);
    }
    written_field made;
    const int items = 1 + below(3);
    for (int i = 0; i < items; ++i) {
      int from = first + below(last - first + 1);
      int to = from;
      int step = 1;
      if (below(3) == 0) to = from + below(last - from + 1);
      if (to > from && below(2) == 0) step = 1 + below(4);
      if (!made.text.empty()) made.text += ',';
      made.text += std::to_string(from);
      if (to > from) made.text += '-' + std::to_string(to);
      if (step > 1) made.text += '/' + std::to_string(step);
      for (int each = from; each <= to; each += step) made.numbers.insert(each);
    }
    return made;
  }

  std::mt19937_64 random_;
};

/// All of [begin, end) that really happens, minute by minute, and whether the rule has it. The walk begins two days
/// before and ends two days behind, since what a clock shows may be what it has shown, or will show.
std::vector<sys_seconds> walked(const written_rule& rule, const zone& where, gap_policy gap, overlap_policy overlap,
                                sys_seconds begin, sys_seconds end) {
  std::map<local_seconds, std::vector<sys_seconds>> shown;
  std::set<sys_seconds> found;
  auto offset = where.period_at(begin - days(2)).offset;
  for (sys_seconds at = begin - days(2); at < end + days(2); at += minutes(1)) {
    const auto here = where.period_at(at).offset;
    const local_seconds time(at.time_since_epoch() + here);
    const seconds length = here - std::exchange(offset, here);
    if (length > seconds(0) && length <= minutes(180) && gap == gap_policy::shift && rule.has_fixed_times()) {
      for (local_seconds each = time - length; each < time; each += minutes(1)) {
        if (rule.fits(each)) found.insert(at);
      }
    }
    if (!rule.fits(time)) continue;
    if (rule.has_fixed_times())
      shown[time].push_back(at);
    else
      found.insert(at);
  }
  for (const auto& [time, all] : shown) {
    if (overlap == overlap_policy::first)
      found.insert(all.front());
    else if (overlap == overlap_policy::last)
      found.insert(all.back());
    else
      found.insert(all.begin(), all.end());
  }
  return {found.lower_bound(begin), found.lower_bound(end)};
}

struct changing_clock {
  const char* where;
  const char* around;
};

constexpr changing_clock changing_clocks[] = {
    {"Europe/Berlin", "2025-03-30T01:00:00Z"},       {"Europe/Berlin", "2025-10-26T01:00:00Z"},
    {"America/New_York", "2025-03-09T07:00:00Z"},    {"America/New_York", "2025-11-02T06:00:00Z"},
    {"Australia/Lord_Howe", "2025-04-05T15:00:00Z"}, {"Australia/Lord_Howe", "2025-10-04T15:30:00Z"},
    {"America/Havana", "2025-11-02T05:00:00Z"},      {"America/Santiago", "2025-09-07T04:00:00Z"},
    {"Africa/Cairo", "2025-10-30T21:00:00Z"},        {"Africa/Casablanca", "2026-02-15T02:00:00Z"},
    {"Antarctica/Troll", "2025-10-26T01:00:00Z"},    {"Antarctica/Troll", "2025-03-30T01:00:00Z"},
    {"Pacific/Apia", "2011-12-30T10:00:00Z"},        {"America/St_Johns", "2008-11-02T02:31:00Z"},
    {"America/St_Johns", "2008-03-09T03:31:00Z"},    {"America/Caracas", "2016-05-01T07:00:00Z"},
    {"Europe/Dublin", "2019-03-31T01:00:00Z"},       {"Asia/Kathmandu", "2025-06-01T00:00:00Z"},
    {"Pacific/Kwajalein", "1969-10-01T11:00:00Z"},   {"UTC", "2024-02-29T00:00:00Z"}};

std::uint64_t seed_of_test() {
  const char* const text = std::getenv("FOLIOT_SEED");
  return text == nullptr ? 1 : std::strtoull(text, nullptr, 10);
}

TEST(Walk, FindsTheSameTimes) {
  const std::uint64_t seed = seed_of_test();
  rule_writer writer(seed);
  std::size_t times = 0;
  for (const auto& [name, around] : changing_clocks) {
    const zone where = zone_named(name);
    const sys_seconds middle = instant_of(around);
    const sys_seconds begin = middle - days(2) - minutes(17);
    const sys_seconds end = middle + days(2);
    for (int i = 0; i < 40; ++i) {
      const written_rule written = writer.rule();
      const auto gap = writer.below(3) == 0 ? gap_policy::skip : gap_policy::shift;
      const overlap_policy overlaps[] = {overlap_policy::first, overlap_policy::first, overlap_policy::last,
                                         overlap_policy::both};
      const auto overlap = overlaps[writer.below(4)];
      SCOPED_TRACE("FOLIOT_SEED=" + std::to_string(seed) + ": '" + written.text() + "' in " + name + " around " +
                   around);
      const auto expected = walked(written, where, gap, overlap, begin, end);
      const timetable table =
          table_of({.rules = {rule_of(written.text())}, .where = where, .gap = gap, .overlap = overlap});
      std::vector<sys_seconds> forwards;
      for (auto at = table.next(begin - seconds(1)); at && at->at < end; at = table.next(at->at))
        forwards.push_back(at->at);
      std::vector<sys_seconds> backwards;
      for (auto at = table.previous(end); at && at->at >= begin; at = table.previous(at->at))
        backwards.push_back(at->at);
      std::ranges::reverse(backwards);
      ASSERT_THAT(forwards, ElementsAreArray(expected));
      ASSERT_THAT(backwards, ElementsAreArray(expected));
      times += expected.size();
    }
  }
  EXPECT_GT(times, 10'000u);
}

/// From any instant, also between two occurrences, the neighbours are those of the walk.
TEST(Walk, AnswersFromAnyInstant) {
  const std::uint64_t seed = seed_of_test();
  rule_writer writer(seed + 1);
  for (const auto& [name, around] : changing_clocks) {
    const zone where = zone_named(name);
    for (int i = 0; i < 20; ++i) {
      const written_rule written = writer.rule();
      SCOPED_TRACE("FOLIOT_SEED=" + std::to_string(seed) + ": '" + written.text() + "' in " + name);
      const timetable table = table_of({.rules = {rule_of(written.text())}, .where = where});
      const sys_seconds at = instant_of(around) + seconds(writer.below(200'000) - 100'000);
      const auto next = table.next(at);
      const auto previous = table.previous(at);
      if (!next || !previous) continue;
      EXPECT_GT(next->at, at);
      EXPECT_LT(previous->at, at);
      const auto behind_previous = table.next(previous->at);
      ASSERT_TRUE(behind_previous);
      EXPECT_GE(behind_previous->at, at);
      EXPECT_EQ(table.next(next->at - seconds(1))->at, next->at);
      EXPECT_EQ(table.previous(next->at + seconds(1))->at, next->at);
    }
  }
}

}  // namespace

}  // namespace foliot::schedule
