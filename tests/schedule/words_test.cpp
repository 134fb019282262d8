// Rules and timetables in words.
#include "schedule/kit.hpp"

namespace foliot::schedule {

namespace {

TEST(Words, OfCron) {
  const std::pair<const char*, const char*> all[] = {
      {"0 9 * * MON-FRI", "At 09:00 on Monday to Friday"},
      {"0 9 * * *", "At 09:00 every day"},
      {"30 8,17 * * *", "At 08:30 and 17:30 every day"},
      {"* * * * *", "Every minute"},
      {"*/15 * * * *", "Every 15 minutes"},
      {"*,15 * * * *", "Every minute"},
      {"*/15,7 * * * *", "At minutes 0, 7, 15, 30 and 45 of every hour"},
      {"*/40 * * * *", "At minutes 0 and 40 of every hour"},
      {"0 * * * *", "Every hour, on the hour"},
      {"20 */4 * * *", "At minute 20 of every 4th hour from 0 on"},
      {"*/15 9-17 * * MON-FRI", "Every 15 minutes of the hours 9 to 17 on Monday to Friday"},
      {"*/15 2 * * *", "Every 15 minutes of the hour 2"},
      {"0 0 1 * *", "At 00:00 on day 1 of the month"},
      {"0 0 1,15 1-3 *", "At 00:00 on days 1 and 15 of the month in January to March"},
      {"0 0 13 * FRI", "At 00:00 on day 13 of the month or on Friday (one of them suffices)"},
      {"0 0 */2 * WED",
       "At 00:00 on days 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29 and 31 of the month if "
       "that is Wednesday"},
      {"0 12 1 * 0-6", "At 12:00 every day, since either field of days suffices and the second has all"},
      {"0 0 L * *", "At 00:00 on the last day of the month"},
      {"0 9 LW * *", "At 09:00 on the last of Monday to Friday in the month"},
      {"0 12 15W * *", "At 12:00 on the day of Monday to Friday that is nearest to day 15"},
      {"0 0 * * FRI#2", "At 00:00 on the second Friday of the month"},
      {"0 0 * * FRIL", "At 00:00 on the last Friday of the month"},
      {"0 0 * * SAT,SUN", "At 00:00 on Saturday and Sunday"},
      {"0 15 10 * * * 2025", "At 10:15 every day, in 2025"},
      {"@daily", "At 00:00 every day"},
      {"every 4h from 2026-02-01T23:40:00Z", "Every 4 h of elapsed time, counted from 2026-02-01T23:40:00Z"},
      {"every 1d from 2026-02-01T23:40:00Z", "Every day of 24 h of elapsed time, counted from 2026-02-01T23:40:00Z"},
      {"every 2 weeks on MON,THU at 09:00 from 2026-01-05",
       "At 09:00 on Monday and Thursday of every 2 weeks, counted from the week of 2026-01-05"},
      {"once 2026-10-25T02:30", "Once, when the clock shows 2026-10-25T02:30:00"},
      {"once 2026-10-25T02:30+02:00", "Once, at 2026-10-25T00:30:00Z"},
      {"after 10m", "10 min after the end of the last run"}};
  for (const auto& [text, words] : all) EXPECT_EQ(rule_of(text).words(), words) << text;
  EXPECT_EQ(rule_of("*/7 * * * * *", dialect::with_seconds).words(),
            "At seconds 0, 7, 14, 21, 28, 35, 42, 49 and 56, every minute");
  EXPECT_EQ(rule_of("* * * * * *", dialect::with_seconds).words(), "Every second");
}

TEST(Words, OfATimetable) {
  using namespace std::chrono_literals;
  EXPECT_EQ(
      table_of({.rules = {rule_of("0 9 * * MON-FRI"), rule_of("0 12 * * SAT")},
                .where = zone_named("Europe/Berlin"),
                .excluded_dates = {2026y / 12 / 25},
                .exclusions = {rule_of("* * 1 1 *")},
                .starts = instant_of("2026-01-01T00:00:00Z"),
                .jitter = std::chrono::minutes(10)})
          .words(),
      "At 09:00 on Monday to Friday; also at 12:00 on Saturday, by the clock of Europe/Berlin, from "
      "2026-01-01T00:00:00Z on, but not on 2026-12-25 and every minute on day 1 of the month in January, each delayed "
      "by less than 10 min.");
}

}  // namespace

}  // namespace foliot::schedule
