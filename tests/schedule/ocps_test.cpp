// The Open Cron Pattern Specification, 1.0 to 1.4: its cases that apply, by the names of their vectors, and each one
// where foliot answers otherwise. docs/serve/rules.md has the table of these.
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "schedule/kit.hpp"

namespace foliot::schedule {

namespace {

using testing::HasSubstr;

struct ocps_case {
  std::string name;
  std::string text;
  std::vector<std::string> matches;
  std::vector<std::string> others;
  dialect cron = dialect::vixie;
};

bool has_time(const timetable& table, const std::string& text) {
  const sys_seconds at = instant_of(text + "Z");
  const auto next = table.next(at - seconds(1));
  return next && next->at == at;
}

TEST(Ocps, TheTimesOfItsVectors) {
  const std::vector<ocps_case> cases{
      {"1.0-basic-5-field-matching", "15 10 * * *", {"2025-03-10T10:15:00"}, {"2025-03-10T10:14:00"}},
      {"1.0-case-insensitive-month-and-weekday-names",
       "30 8 * jan Mon",
       {"2025-01-06T08:30:00"},
       {"2025-02-03T08:30:00"}},
      {"1.0-step-evaluation-over-explicit-range",
       "5-59/15 9 * * *",
       {"2025-03-10T09:05:00", "2025-03-10T09:20:00", "2025-03-10T09:35:00", "2025-03-10T09:50:00"},
       {"2025-03-10T09:15:00"}},
      {"1.0-restricted-day-fields-use-logical-or",
       "0 12 1 * MON",
       {"2025-10-01T12:00:00", "2025-10-06T12:00:00"},
       {"2025-10-07T12:00:00"}},
      {"1.0-leading-wildcard-is-unrestricted", "0 12 * * MON", {"2025-10-06T12:00:00"}, {"2025-10-07T12:00:00"}},
      {"1.0-full-range-expression-remains-restricted",
       "0 12 1-31 * MON",
       {"2025-10-06T12:00:00", "2025-10-07T12:00:00"},
       {"2025-10-08T11:00:00"}},
      {"1.1-yearly-nickname", "@yearly", {"2026-01-01T00:00:00"}, {"2026-01-02T00:00:00"}},
      {"1.1-monthly-nickname", "@monthly", {"2026-02-01T00:00:00"}, {"2026-02-02T00:00:00"}},
      {"1.1-weekly-nickname", "@weekly", {"2025-10-05T00:00:00"}, {"2025-10-06T00:00:00"}},
      {"1.1-daily-nickname", "@daily", {"2025-10-07T00:00:00"}, {"2025-10-07T00:01:00"}},
      {"1.1-hourly-nickname", "@hourly", {"2025-10-07T10:00:00"}, {"2025-10-07T10:01:00"}},
      {"1.2-five-field-patterns-default-seconds-to-zero",
       "15 10 * * *",
       {"2025-03-10T10:15:00"},
       {"2025-03-10T10:15:30"}},
      {"1.2-six-field-patterns-match-explicit-seconds",
       "30 15 10 * * *",
       {"2025-03-10T10:15:30"},
       {"2025-03-10T10:15:29"},
       dialect::with_seconds},
      {"1.2-seven-field-patterns-constrain-year",
       "0 15 10 * * * 2025",
       {"2025-03-10T10:15:00"},
       {"2026-03-10T10:15:00"}},
      {"1.2-range-step-begins-at-1970", "0 0 0 1 1 * 1970-2199/2", {"2026-01-01T00:00:00"}, {"2025-01-01T00:00:00"}},
      {"1.3-last-day-of-month", "0 0 L * *", {"2025-02-28T00:00:00"}, {"2025-02-27T00:00:00"}},
      {"1.3-last-weekday-of-month, as FRIL", "0 0 * * FRIL", {"2025-02-28T00:00:00"}, {"2025-02-21T00:00:00"}},
      {"1.3-nth-weekday-of-month", "0 0 * * TUE#3", {"2025-06-17T00:00:00"}, {"2025-06-10T00:00:00"}},
      {"1.3-closest-weekday-within-month", "0 12 15W * *", {"2025-06-16T12:00:00"}, {"2025-06-15T12:00:00"}},
      {"1.3-closest-weekday-does-not-cross-month-boundary",
       "0 12 1W * *",
       {"2025-02-03T12:00:00"},
       {"2025-02-01T12:00:00"}},
      {"1.4-restricted-day-fields-default-to-logical-or",
       "0 12 1 * MON",
       {"2025-09-01T12:00:00", "2025-09-08T12:00:00", "2025-10-01T12:00:00"},
       {"2025-10-07T12:00:00"}},
      {"1.4, 4.2: ? is *", "0 12 ? * MON", {"2025-10-06T12:00:00"}, {"2025-10-07T12:00:00"}},
  };
  for (const ocps_case& each : cases) {
    const timetable table = table_of({.rules = {rule_of(each.text, each.cron)}});
    for (const std::string& time : each.matches) EXPECT_TRUE(has_time(table, time)) << each.name << ": " << time;
    for (const std::string& time : each.others) EXPECT_FALSE(has_time(table, time)) << each.name << ": " << time;
  }
}

TEST(Ocps, WhatItRefuses) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"1.0-out-of-range-minute-rejected", "60 0 * * *"},
      {"1.0-invalid-range-rejected", "0 0 10-5 * *"},
      {"1.0-invalid-step-syntax-rejected", "0 0 /30 * *"},
      {"1.1-nicknames-are-case-sensitive", "@Daily"},
      {"1.1-nickname-cannot-be-combined-with-field-expression", "@daily 0 0 * * *"},
      {"1.3-w-cannot-be-combined-with-range", "0 12 1-15W * *"},
      {"1.4-plus-must-prefix-day-of-week-expression", "0 12 +1 * MON"},
      {"1.4-question-mark-invalid-outside-day-fields", "? 12 * * *"},
  };
  for (const auto& [name, text] : cases) EXPECT_FALSE(rule::parse(text)) << name;
}

TEST(Ocps, ADateThatNeverComesIsARule) {  // 1.0-impossible-date-is-syntactically-valid
  const auto next = table_of("* * 31 2 *").next(instant_of("2025-01-01T00:00:00Z"));
  ASSERT_FALSE(next);
  EXPECT_EQ(next.error(), absence::never);
}

TEST(Ocps, WhereFoliotDiffers) {
  const auto why = [](const char* text) { return rule::parse(text).error().message(); };
  EXPECT_THAT(why("30 15 10 * * *"), HasSubstr("six need the name of a dialect"));           // 1.2
  EXPECT_THAT(why("0 0 0 1 1 * 1969"), HasSubstr("1969 is not within 1970 to 9999"));        // 1.2: as it may
  EXPECT_THAT(why("@reboot"), HasSubstr("a schedule does not know when a machine starts"));  // 1.1: as it may
  EXPECT_THAT(why("0 0 * * FRI#L"), HasSubstr("'L' is no week of a month"));                 // 1.3: write FRIL
  EXPECT_THAT(why("0 12 1 * +MON"), HasSubstr("'+MON' is neither a number nor a name"));     // 1.4
  // 1.4, 4.3.1 recommends to leave out what falls into a gap: by option. In an overlap both take the first pass.
  timetable_options options{.rules = {rule_of("30 2 * * *")}, .where = zone_named("Europe/Berlin")};
  const auto evening = instant_of("2026-03-28T12:00:00Z");
  EXPECT_EQ(text_of(table_of(options).next(evening)->at), "2026-03-29T01:00:00Z");
  options.gap = gap_policy::skip;
  EXPECT_EQ(text_of(table_of(options).next(evening)->at), "2026-03-30T00:30:00Z");
  EXPECT_EQ(text_of(table_of(options).next(instant_of("2026-10-24T12:00:00Z"))->at), "2026-10-25T00:30:00Z");
}

}  // namespace

}  // namespace foliot::schedule
