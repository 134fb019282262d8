// What rules are, and what a text that is none is told.
#include <gmock/gmock.h>

#include "schedule/kit.hpp"

namespace foliot::schedule {

namespace {

using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::IsEmpty;

std::string message_of(std::string_view text, dialect cron = dialect::vixie) {
  const auto read = rule::parse(text, {.cron = cron});
  return read ? "it is a rule" : read.error().message();
}

TEST(Rule, SaysWhereAndWhyItIsNone) {
  EXPECT_EQ(message_of("0 24 * * *"), "hour, character 3: 24 is not within 0 to 23: midnight is 0");
  EXPECT_EQ(message_of("  0  9 * * MON-FRX"),
            "day of week, character 16: 'FRX' is neither a number nor a name: write 0 to 7, or SUN to SAT");
  EXPECT_EQ(message_of("0 22-2 * * *"), "hour, character 3: the range 22-2 runs backwards: write 22-23,0-2");
  EXPECT_EQ(message_of("0/15 * * * *"),
            "minute, character 2: a step follows a single value: write */15, or a range such as 0-59/15");
  EXPECT_EQ(message_of("*/0 * * * *"),
            "minute, character 3: a step of 0 does not move: write a whole number of at least 1");
  EXPECT_EQ(message_of("1,2, * * * *"),
            "minute, character 5: an item of the list is empty: write a value on both sides of each comma");
  EXPECT_EQ(message_of("1-2-3 * * * *"), "minute, character 4: a range has two ends: write first-last, such as 1-3");
  EXPECT_EQ(message_of("5x * * * *"), "minute, character 2: '5x' is no number: write 0 to 59");
  EXPECT_EQ(message_of("0 0 1-15W * *"),
            "day of month, character 5: W goes with one day, not with a range: write a list, such as 1W,15W");
  EXPECT_EQ(message_of("0 0 * * L"),
            "day of week, character 9: L alone is no weekday: the last Friday of the month is FRIL");
  EXPECT_EQ(message_of("? * * * *"), "minute, character 1: '?' goes with days only: write *");
  EXPECT_EQ(message_of("0 0 * * 1#6"), "day of week, character 11: '6' is no week of a month: write 1 to 5");
  EXPECT_EQ(message_of("0 0 * * 5-0"), "day of week, character 9: the range 5-0 runs backwards: write 5-7");
  EXPECT_EQ(message_of("**/2 * * * *"),
            "minute, character 2: '*' follows *: behind * stands a step, such as */2, or nothing");
  EXPECT_EQ(message_of("* * * *"), "there are 4 fields: write five: minute, hour, day of month, month and day of week");
  EXPECT_THAT(message_of("0 0 9 * * MON"), HasSubstr("there are 6 fields: five are"));
  EXPECT_EQ(message_of(""), "the rule is empty: write one such as '0 9 * * MON-FRI'");
  EXPECT_EQ(message_of("@Daily"), "character 1: '@Daily' is not in lower case: write @daily");
  EXPECT_EQ(message_of("@reboot"), "character 1: a schedule does not know when a machine starts: name a time");
  EXPECT_EQ(message_of("0 9 * * \xc3\xbc"),
            "character 9: there is a character that is not printable ASCII: leave it out");
  EXPECT_EQ(message_of("*/99999999999 * * * *"),
            "minute, character 3: '99999999999' is no step: write a whole number of at least 1");
}

TEST(Rule, OfOtherKindsSaysSoToo) {
  EXPECT_EQ(message_of("every 4"),
            "character 7: '4' is no interval of whole seconds: write one such as 4h, 1h30m or 90s");
  EXPECT_EQ(message_of("every 0s"), "character 7: '0s' is too short: the shortest interval is 1 s");
  EXPECT_THAT(message_of("every"), HasSubstr("the interval is missing"));
  EXPECT_THAT(message_of("every 4h at noon"), HasSubstr("character 10: 'at' follows the interval"));
  EXPECT_THAT(message_of("every 4h from tomorrow"), HasSubstr("character 15: 'tomorrow' is no instant"));
  EXPECT_THAT(message_of("every 4h from 2026-01-01T00:00"), HasSubstr("is no instant"));
  EXPECT_THAT(message_of("every 0 weeks on MON at 09:00 from 2026-01-05"), HasSubstr("'0' is no number of weeks"));
  EXPECT_THAT(message_of("every 2 weeks at 09:00"), HasSubstr("character 15: 'at' stands where 'on' belongs"));
  EXPECT_THAT(message_of("every 2 weeks on MON,FOO at 09:00 from 2026-01-05"), HasSubstr("character 22: 'FOO'"));
  EXPECT_THAT(message_of("every 2 weeks on MON at 25:00 from 2026-01-05"), HasSubstr("'25:00' is no time of day"));
  EXPECT_THAT(message_of("every 2 weeks on MON at 09:00"), HasSubstr("'from' is missing"));
  EXPECT_THAT(message_of("every 2 weeks on MON at 09:00 from 2026-02-30"), HasSubstr("'2026-02-30' is no date"));
  EXPECT_THAT(message_of("once 2026-02-30T09:00"), HasSubstr("is no time"));
  EXPECT_THAT(message_of("once 2026-02-03T09:00+01"), HasSubstr("is no time"));
  EXPECT_THAT(message_of("after 10 minutes"), HasSubstr("is no interval"));
}

TEST(Rule, HasNoIntervalOfNothing) {
  for (const seconds shortest : {seconds(0), seconds(-5)}) {
    const auto read = rule::parse("every 0s", {.shortest_interval = shortest});
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().message(), "character 7: '0s' is too short: the shortest interval is 1 s");
    EXPECT_FALSE(rule::parse("after 0s", {.shortest_interval = shortest}));
    EXPECT_TRUE(rule::parse("every 1s", {.shortest_interval = shortest}));
  }
  EXPECT_FALSE(rule::parse("every 59s", {.shortest_interval = seconds(60)}));
}

TEST(Rule, CountsFromAnInstantWithinTheYears) {
  for (const sys_seconds anchor :
       {sys_seconds::min(), earliest - seconds(1), latest + seconds(1), sys_seconds::max()}) {
    const auto read = rule::parse("every 1h", {.anchor = anchor});
    ASSERT_FALSE(read);
    EXPECT_THAT(read.error().message(), HasSubstr("counts is not within the years 1 to 9999"));
    EXPECT_TRUE(rule::parse("every 1h from 2026-01-01T00:00Z", {.anchor = anchor}));
  }
  EXPECT_TRUE(rule::parse("every 1h", {.anchor = earliest}));
  EXPECT_TRUE(rule::parse("every 1h", {.anchor = latest}));
  EXPECT_EQ(message_of("every 1h from 0001-01-01T00:00+01:00"),
            "character 15: '0001-01-01T00:00+01:00' is not within the years 1 to 9999: name an instant within them");
  EXPECT_THAT(message_of("once 9999-12-31T23:59-01:00"), HasSubstr("is not within the years 1 to 9999"));
}

TEST(Rule, OfQuartzIsReadByItsDialectAlone) {
  EXPECT_EQ(message_of("0 0/15 9 ? * 2-6", dialect::quartz), "it is a rule");
  EXPECT_THAT(message_of("0 0 9 * * 2-6", dialect::quartz), HasSubstr("neither field of days is '?'"));
  EXPECT_THAT(message_of("0 0 9 ? * ?", dialect::quartz), HasSubstr("both fields of days are '?'"));
  EXPECT_THAT(message_of("0 0 9 ? * 0", dialect::quartz), HasSubstr("0 is not within 1 to 7"));
  EXPECT_THAT(message_of("0 9 ? * 2", dialect::quartz), HasSubstr("quartz has six or seven"));
  EXPECT_THAT(message_of("0 9 ? * 2", dialect::eventbridge), HasSubstr("eventbridge has six"));
  EXPECT_THAT(message_of("0 9 * * 2", dialect::with_seconds), HasSubstr("seconds has six"));
  // Sunday is 1, and a number may have a step.
  const timetable table = table_of({.rules = {rule_of("0 0/20 9 ? * 1", dialect::quartz)}});
  EXPECT_THAT(next_texts(table, instant_of("2026-01-01T00:00:00Z"), 4),
              ElementsAreArray(
                  {"2026-01-04T09:00:00Z", "2026-01-04T09:20:00Z", "2026-01-04T09:40:00Z", "2026-01-11T09:00:00Z"}));
}

TEST(Rule, WarnsOfAStepThatIsTooLarge) {
  EXPECT_THAT(rule_of("*/70 * * * *").warnings(),
              ElementsAreArray({"minute: the step of '*/70' is so large that 0 alone is left"}));
  EXPECT_THAT(rule_of("*/40 * * * *").warnings(), IsEmpty());
}

TEST(Rule, HasNicknames) {
  for (const auto& [name, fields] :
       {std::pair("@yearly", "0 0 1 1 *"), std::pair("@annually", "0 0 1 1 *"), std::pair("@monthly", "0 0 1 * *"),
        std::pair("@weekly", "0 0 * * 0"), std::pair("@daily", "0 0 * * *"), std::pair("@midnight", "0 0 * * *"),
        std::pair("@hourly", "0 * * * *")}) {
    const sys_seconds from = instant_of("2026-06-03T11:30:00Z");
    EXPECT_EQ(next_texts(table_of(name), from, 3), next_texts(table_of(fields), from, 3)) << name;
  }
}

TEST(Rule, OfTwoWeeksKeepsItsWeeks) {
  // 2026-01-08 is a Thursday: its week begins on Monday, 5 January, and there is nothing before the date itself.
  const timetable table = table_of("every 2 weeks on MON,THU at 09:00,17:30 from 2026-01-08", "Europe/Berlin");
  EXPECT_THAT(
      next_texts(table, instant_of("2025-01-01T00:00:00Z"), 7),
      ElementsAreArray({"2026-01-08T08:00:00Z", "2026-01-08T16:30:00Z", "2026-01-19T08:00:00Z", "2026-01-19T16:30:00Z",
                        "2026-01-22T08:00:00Z", "2026-01-22T16:30:00Z", "2026-02-02T08:00:00Z"}));
  EXPECT_EQ(text_of(table.previous(instant_of("2026-02-02T08:00:00Z"))->at), "2026-01-22T16:30:00Z");
  EXPECT_FALSE(table.previous(instant_of("2026-01-08T08:00:00Z")));
}

TEST(Rule, OfADelayCountsFromTheEnd) {
  const timetable table = table_of("after 1h30m");
  EXPECT_EQ(text_of(table.next(instant_of("2026-01-08T08:00:01Z"))->at), "2026-01-08T09:30:01Z");
  EXPECT_FALSE(table.previous(instant_of("2026-01-08T08:00:00Z")));
}

}  // namespace

}  // namespace foliot::schedule
