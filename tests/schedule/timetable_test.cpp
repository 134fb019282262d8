// Exclusions, bounds, several rules, and what a change of clocks does, as a timetable tells it.
#include <gmock/gmock.h>

#include "schedule/kit.hpp"

namespace foliot::schedule {

namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::minutes;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Timetable, HasEachInstantOfItsRulesOnce) {
  const timetable table = table_of({.rules = {rule_of("0 9 * * *"), rule_of("0 9,12 * * MON")}});
  EXPECT_THAT(next_texts(table, instant_of("2026-01-04T10:00:00Z"), 4),
              ElementsAreArray(
                  {"2026-01-05T09:00:00Z", "2026-01-05T12:00:00Z", "2026-01-06T09:00:00Z", "2026-01-07T09:00:00Z"}));
}

TEST(Timetable, LeavesOutWhatIsExcluded) {
  using namespace std::chrono_literals;
  const timetable table = table_of({.rules = {rule_of("0 9 * * *")},
                                    .where = zone_named("Europe/Berlin"),
                                    .excluded_dates = {2026y / 1 / 7, 2026y / 1 / 5},
                                    .exclusions = {rule_of("* * * * SAT,SUN")}});
  EXPECT_THAT(next_texts(table, instant_of("2026-01-02T10:00:00Z"), 4),
              ElementsAreArray(
                  {"2026-01-06T08:00:00Z", "2026-01-08T08:00:00Z", "2026-01-09T08:00:00Z", "2026-01-12T08:00:00Z"}));
  EXPECT_EQ(text_of(table.previous(instant_of("2026-01-06T08:00:00Z"))->at), "2026-01-02T08:00:00Z");
}

TEST(Timetable, ThatExcludesAllOfItNeverComes) {
  const timetable table = table_of({.rules = {rule_of("0 9 * * *")}, .exclusions = {rule_of("* 9 * * *")}});
  EXPECT_FALSE(table.next(instant_of("2026-01-02T10:00:00Z")));
  EXPECT_FALSE(table.previous(instant_of("2026-01-02T10:00:00Z")));
}

TEST(Timetable, EndsWithItsBounds) {
  timetable_options options{.rules = {rule_of("0 9 * * *")},
                            .starts = instant_of("2026-01-05T09:00:00Z"),
                            .ends = instant_of("2026-01-07T09:00:00Z")};
  const timetable table = table_of(options);
  EXPECT_THAT(next_texts(table, instant_of("2020-01-01T00:00:00Z"), 5),
              ElementsAreArray({"2026-01-05T09:00:00Z", "2026-01-06T09:00:00Z", "never"}));
  EXPECT_EQ(text_of(table.previous(instant_of("2030-01-01T00:00:00Z"))->at), "2026-01-06T09:00:00Z");
  EXPECT_FALSE(table.previous(instant_of("2026-01-05T09:00:00Z")));
  options.ends.reset();
  options.count = 3;
  EXPECT_THAT(next_texts(table_of(options), instant_of("2020-01-01T00:00:00Z"), 5),
              ElementsAreArray({"2026-01-05T09:00:00Z", "2026-01-06T09:00:00Z", "2026-01-07T09:00:00Z", "never"}));
}

std::string fault_of(timetable_options options) {
  const auto made = timetable::make(std::move(options));
  return made ? "it is a timetable" : made.error();
}

TEST(Timetable, SaysWhyItIsNone) {
  using namespace std::chrono_literals;
  const auto berlin = zone_named("Europe/Berlin");
  EXPECT_THAT(fault_of({}), HasSubstr("needs a rule"));
  EXPECT_EQ(fault_of({.rules = {rule_of("once 2026-03-29T02:30")}, .where = berlin}),
            "the clock of Europe/Berlin never shows 2026-03-29T02:30:00, since it goes forward across that time: name "
            "another");
  EXPECT_THAT(fault_of({.rules = {rule_of("once 2026-03-29T02:30+05:00")}, .where = berlin}),
              HasSubstr("shows 2026-03-28T22:30:00 at the instant"));
  EXPECT_EQ(fault_of({.rules = {rule_of("once 2026-10-25T02:30+01:00")}, .where = berlin}), "it is a timetable");
  EXPECT_EQ(fault_of({.rules = {rule_of("once 2026-10-25T02:30Z")}, .where = berlin}), "it is a timetable");
  EXPECT_THAT(fault_of({.rules = {rule_of("after 5m"), rule_of("@daily")}}), HasSubstr("is alone"));
  EXPECT_THAT(fault_of({.rules = {rule_of("@daily")}, .exclusions = {rule_of("after 5m")}}),
              HasSubstr("excludes nothing"));
  EXPECT_THAT(fault_of({.rules = {rule_of("@daily")}, .excluded_dates = {2026y / 2 / 30}}),
              HasSubstr("does not exist"));
  EXPECT_THAT(fault_of({.rules = {rule_of("@daily")}, .count = 2}), HasSubstr("needs a start"));
  EXPECT_THAT(fault_of({.rules = {rule_of("@daily")}, .jitter = days(8)}), HasSubstr("0 to 7 days"));
  EXPECT_THAT(fault_of({.rules = {rule_of("@daily")},
                        .starts = instant_of("2026-01-05T09:00:00Z"),
                        .ends = instant_of("2026-01-05T09:00:00Z")}),
              HasSubstr("is not after the start"));
}

TEST(Timetable, ThatNeverComesSaysSo) {
  for (const auto& [text, name] :
       {std::pair("0 0 30 2 *", "Europe/Berlin"), std::pair("0 0 31 4,6,9,11 *", "UTC"),
        std::pair("0 0 0 * * * 1999", "UTC"), std::pair("*/15 2 * 3 SUN#2", "America/New_York")}) {
    const timetable table = table_of(text, name);
    EXPECT_FALSE(table.next(instant_of("2026-01-01T00:00:00Z"))) << text;
  }
  timetable_options options{.rules = {rule_of("0 2 * 3 SUN#2")}, .where = zone_named("America/New_York")};
  options.gap = gap_policy::skip;
  EXPECT_FALSE(table_of(options).next(instant_of("2026-01-01T00:00:00Z")));
}

TEST(Timetable, EndsWithTheYears) {
  const timetable table = table_of("0 0 1 1 *", "Europe/Berlin");
  EXPECT_THAT(next_texts(table, instant_of("9998-06-01T00:00:00Z"), 3),
              ElementsAreArray({"9998-12-31T23:00:00Z", "never"}));
  EXPECT_FALSE(table.next(latest));
  EXPECT_FALSE(table.next(sys_seconds::max()));
  EXPECT_FALSE(table.previous(earliest));
  EXPECT_FALSE(table.previous(sys_seconds::min()));
  EXPECT_TRUE(table.next(sys_seconds::min()));
  EXPECT_TRUE(table.previous(sys_seconds::max()));
}

TEST(Timetable, TellsWhatAChangeOfClocksDid) {
  const auto berlin = zone_named("Europe/Berlin");
  const timetable table = table_of({.rules = {rule_of("30 2 * * *")}, .where = berlin});
  const auto shifted = table.next(instant_of("2026-03-28T12:00:00Z"));
  ASSERT_TRUE(shifted);
  EXPECT_TRUE(shifted->is_shifted);
  EXPECT_EQ(text_of(shifted->nominal), "2026-03-29T02:30:00");
  EXPECT_EQ(text_of(shifted->local()), "2026-03-29T03:00:00");
  EXPECT_EQ(shifted->abbreviation, "CEST");
  const auto first = table.next(instant_of("2026-10-24T12:00:00Z"));
  ASSERT_TRUE(first);
  EXPECT_EQ(first->pass, overlap_pass::first);
  EXPECT_EQ(first->offset, hours(2));
  const timetable last = table_of({.rules = {rule_of("30 2 * * *")}, .where = berlin, .overlap = overlap_policy::last});
  EXPECT_EQ(last.next(instant_of("2026-10-24T12:00:00Z"))->pass, overlap_pass::second);
  EXPECT_EQ(table.next(instant_of("2026-10-25T12:00:00Z"))->pass, overlap_pass::only);
}

TEST(Timetable, ListsTheChangesThatMatter) {
  const auto berlin = zone_named("Europe/Berlin");
  const auto from = instant_of("2026-01-01T00:00:00Z");
  const auto to = instant_of("2027-01-01T00:00:00Z");
  timetable_options options{.rules = {rule_of("*/15 * * * *"), rule_of("0,30 2 * * *"), rule_of("*/20 2 * * *")},
                            .where = berlin};
  const auto changes = table_of(options).clock_changes(from, to).changes;
  ASSERT_EQ(changes.size(), 4u);
  EXPECT_EQ(changes[0].rule, 1u);
  EXPECT_EQ(changes[0].effect, change_effect::shifted);
  EXPECT_EQ(changes[0].times, 2u);
  EXPECT_EQ(text_of(changes[0].first), "2026-03-29T02:00:00");
  EXPECT_EQ(text_of(changes[0].from()), "2026-03-29T02:00:00");
  EXPECT_EQ(text_of(changes[0].to()), "2026-03-29T03:00:00");
  EXPECT_EQ(changes[1].rule, 2u);
  EXPECT_EQ(changes[1].effect, change_effect::skipped);
  EXPECT_EQ(changes[1].times, 3u);
  EXPECT_EQ(changes[2].effect, change_effect::first);
  EXPECT_EQ(changes[3].effect, change_effect::twice);
  EXPECT_EQ(table_of(options).clock_changes(from, to, 1).changes.size(), 1u);
  options.rules = {rule_of("0 9 * * *"), rule_of("every 1h")};
  EXPECT_THAT(table_of(options).clock_changes(from, to).changes, IsEmpty());
  // A day that a zone left out is no gap to shift across.
  options = {.rules = {rule_of("0 9 * * *")}, .where = zone_named("Pacific/Apia")};
  const auto apia =
      table_of(options).clock_changes(instant_of("2011-12-01T00:00:00Z"), instant_of("2012-01-15T00:00:00Z")).changes;
  ASSERT_EQ(apia.size(), 1u);
  EXPECT_EQ(apia[0].effect, change_effect::skipped);
}

TEST(Timetable, TellsGivingUpFromNever) {
  const auto at = instant_of("2026-01-02T10:00:00Z");
  const timetable full =
      table_of({.rules = {rule_of("* * * * *")}, .exclusions = {rule_of("0 0 30 2 *"), rule_of("* * * * *")}});
  EXPECT_EQ(full.next(at).error(), absence::given_up);
  EXPECT_EQ(full.previous(at).error(), absence::given_up);
  EXPECT_EQ(table_of("0 0 30 2 *").next(at).error(), absence::never);
  // A count whose end is not found is none, be it that each of its passes is short.
  timetable_options options{
      .rules = {rule_of("* * * * *")}, .exclusions = {rule_of("0 * * * * * 2026-2028")}, .starts = at, .count = 3};
  EXPECT_THAT(fault_of(options), HasSubstr("the end of the count is not found"));
  options.exclusions = {rule_of("0 * * * * * 2026")};
  const timetable counted = table_of(options);
  EXPECT_THAT(next_texts(counted, at, 4),
              ElementsAreArray({"2027-01-01T00:00:00Z", "2027-01-01T00:01:00Z", "2027-01-01T00:02:00Z", "never"}));
  EXPECT_FALSE(counted.options().ends);
  EXPECT_THAT(counted.words(), testing::Not(HasSubstr("before")));
  options.exclusions = {rule_of("1-59 * * * *")};
  options.count = 100'000;
  EXPECT_THAT(fault_of(options), HasSubstr("the end of the count is not found"));
}

/// A search of many small efforts finds what one large one does.
TEST(Timetable, GoesOnFromWhereAnEffortEnded) {
  const timetable table = table_of({.rules = {rule_of("* * * * *")}, .exclusions = {rule_of("1-59 * * * *")}});
  const auto begin = instant_of("2026-01-02T10:00:00Z");
  search_effort effort{30};
  std::expected<occurrence, absence> found = std::unexpected(absence::given_up);
  auto place = begin;
  for (int i = 0; i < 10 && !found; ++i) {
    effort.questions = 30;
    found = table.next(place, effort);
    EXPECT_LT(effort.questions, 30u);
    if (found) break;
    EXPECT_GT(effort.reached, place);
    EXPECT_LT(effort.reached, begin + std::chrono::hours(1));
    place = effort.reached;
  }
  EXPECT_EQ(found.value().at, begin + std::chrono::hours(1));
  effort.questions = 1000;
  EXPECT_EQ(table.previous(begin + std::chrono::hours(1), effort).value().at, begin);
  EXPECT_LT(effort.questions, 1000u);
  EXPECT_EQ(table.next(begin, effort).value().at, begin + std::chrono::hours(1));
  effort.questions = 0;
  EXPECT_EQ(table.next(begin, effort).error(), absence::given_up);
}

TEST(Timetable, HasLimits) {
  using namespace std::chrono_literals;
  const rule daily = rule_of("@daily");
  EXPECT_EQ(fault_of({.rules = std::vector(100, daily), .exclusions = std::vector(100, rule_of("0 1 * * *"))}),
            "it is a timetable");
  EXPECT_THAT(fault_of({.rules = std::vector(101, daily)}), HasSubstr("more than 100 rules"));
  EXPECT_THAT(fault_of({.rules = {daily}, .exclusions = std::vector(101, daily)}),
              HasSubstr("more than 100 exclusions"));
  EXPECT_THAT(fault_of({.rules = {daily}, .excluded_dates = std::vector(10'001, 2026y / 1 / 1)}),
              HasSubstr("more than 10000 excluded dates"));
  for (const sys_seconds beyond :
       {sys_seconds::min(), earliest - seconds(1), latest + seconds(1), sys_seconds::max()}) {
    EXPECT_THAT(fault_of({.rules = {daily}, .starts = beyond, .count = 1}), HasSubstr("the years 1 to 9999"));
    EXPECT_THAT(fault_of({.rules = {daily}, .ends = beyond}), HasSubstr("the years 1 to 9999"));
  }
  const timetable table = table_of("every 7s");
  EXPECT_FALSE(table.next(sys_seconds::max()));
  EXPECT_FALSE(table.previous(sys_seconds::min()));
  EXPECT_EQ(table.previous(latest + seconds(1000))->at, table.previous(latest)->at);
  EXPECT_EQ(table.previous(sys_seconds::max())->at, table.previous(latest)->at);
}

TEST(Timetable, ListsNoChangesOfWhatIsLeftOut) {
  using namespace std::chrono_literals;
  const auto changes = [](timetable_options options) {
    options.where = zone_named("Europe/Berlin");
    std::vector<std::string> texts;
    for (const auto& each : table_of(std::move(options))
                                .clock_changes(instant_of("2026-01-01T00:00:00Z"), instant_of("2027-01-01T00:00:00Z"))
                                .changes)
      texts.push_back(text_of(each.at) + " " + std::to_string(each.times));
    return texts;
  };
  const std::vector<rule> rules{rule_of("0,30 2 * * *")};
  EXPECT_THAT(changes({.rules = rules}), ElementsAreArray({"2026-03-29T01:00:00Z 2", "2026-10-25T01:00:00Z 2"}));
  EXPECT_THAT(changes({.rules = rules, .excluded_dates = {2026y / 3 / 29}}),
              ElementsAreArray({"2026-10-25T01:00:00Z 2"}));
  EXPECT_THAT(changes({.rules = rules, .exclusions = {rule_of("30 2 25 10 *")}}),
              ElementsAreArray({"2026-03-29T01:00:00Z 2", "2026-10-25T01:00:00Z 1"}));
  EXPECT_THAT(changes({.rules = rules, .starts = instant_of("2026-03-29T01:00:01Z")}),
              ElementsAreArray({"2026-10-25T01:00:00Z 2"}));
  EXPECT_THAT(changes({.rules = rules, .ends = instant_of("2026-10-25T00:30:00Z")}),
              ElementsAreArray({"2026-03-29T01:00:00Z 2", "2026-10-25T01:00:00Z 1"}));
  const timetable table = table_of({.rules = rules, .where = zone_named("Europe/Berlin")});
  EXPECT_TRUE(table.clock_changes(earliest, latest, 1).is_cut);
  EXPECT_FALSE(table.clock_changes(instant_of("2026-01-01T00:00:00Z"), instant_of("2027-01-01T00:00:00Z"), 2).is_cut);
}

TEST(Timetable, HasNoJitterUnlessAsked) {
  EXPECT_EQ(table_of("@daily").delay_of("nightly", instant_of("2026-01-01T00:00:00Z")).count(), 0);
}

}  // namespace

}  // namespace foliot::schedule
