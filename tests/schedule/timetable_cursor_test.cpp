// Each occurrence once beside a clock that is set: by itself, and as the waits of a task on virtual time.
#include <foliot/schedule/timetable_cursor.hpp>

#include <algorithm>
#include <chrono>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <foliot/core/virtual_clock.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/wall_time.hpp>

#include "schedule/kit.hpp"
#include "support/virtual_time.hpp"

namespace foliot::schedule {

namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

std::string next_text(timetable_cursor& of, std::string_view now) {
  const auto found = of.next(instant_of(now));
  return found ? text_of(found->at) : "never";
}

TEST(TimetableCursor, GivesEachOccurrenceOnce) {
  timetable_cursor nights(table_of("0 3 * * *"));
  EXPECT_EQ(nights.last(), std::nullopt);
  EXPECT_EQ(next_text(nights, "2030-06-01T00:00:00Z"), "2030-06-01T03:00:00Z");
  EXPECT_EQ(next_text(nights, "2030-06-01T03:00:00Z"), "2030-06-02T03:00:00Z") << "the job took no time";
  EXPECT_EQ(next_text(nights, "2030-06-01T22:00:00Z"), "2030-06-03T03:00:00Z") << "the clock was set back";
  EXPECT_EQ(next_text(nights, "2030-06-06T01:00:00Z"), "2030-06-06T03:00:00Z") << "the clock was set forward";
  EXPECT_EQ(nights.last(), instant_of("2030-06-06T03:00:00Z"));
}

TEST(TimetableCursor, GivesWhatIsDueNow) {
  timetable_cursor nights(table_of("0 3 * * *"));
  EXPECT_EQ(next_text(nights, "2030-06-01T03:00:00Z"), "2030-06-01T03:00:00Z");
  timetable_cursor later(table_of("0 3 * * *"));
  const auto found = later.next(instant_of("2030-06-01T03:00:00Z") + 1ns);
  ASSERT_TRUE(found);
  EXPECT_EQ(text_of(found->at), "2030-06-02T03:00:00Z") << "it has passed";
}

TEST(TimetableCursor, HasAnEnd) {
  timetable_cursor one(table_of("once 2030-06-01T03:00:00Z"));
  EXPECT_EQ(next_text(one, "2030-05-01T00:00:00Z"), "2030-06-01T03:00:00Z");
  EXPECT_EQ(next_text(one, "2030-05-01T00:00:00Z"), "never");
}

TEST(TimetableCursor, ADelayCountsFromNow) {
  timetable_cursor runs(table_of("after 10m"));
  EXPECT_EQ(next_text(runs, "2030-06-01T00:00:00Z"), "2030-06-01T00:10:00Z");
  EXPECT_EQ(next_text(runs, "2030-06-01T00:12:00Z"), "2030-06-01T00:22:00Z");
}

TEST(TimetableCursor, FollowsAnotherTimetableFromWhereItIs) {
  timetable_cursor nights(table_of("0 3 * * *", "Europe/Berlin"));
  EXPECT_EQ(next_text(nights, "2030-06-01T00:00:00Z"), "2030-06-01T01:00:00Z");
  nights.follow(table_of("0 3 * * *", "Etc/GMT-1"));  // summer time was given up
  EXPECT_EQ(next_text(nights, "2030-06-01T01:30:00Z"), "2030-06-01T02:00:00Z");
  nights.follow(table_of("0 3 * * *", "Europe/Berlin"));
  EXPECT_EQ(next_text(nights, "2030-06-01T00:00:00Z"), "2030-06-02T01:00:00Z");
}

TEST(TimetableCursor, AtRandomNothingComesTwiceOrIsLeftOutBeforeItsTime) {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const std::vector<std::string> rules{"*/20 * * * *", "30 2 * * *", "0 */5 * * *", "every 37m", "15 3 * * SUN"};
    const std::vector<std::string> zones{"Europe/Berlin", "Australia/Lord_Howe", "UTC"};
    const timetable table = table_of(rules[random() % rules.size()], zones[random() % zones.size()]);
    timetable_cursor cursor(table);
    sys_seconds now = instant_of("2030-03-30T00:00:00Z") + std::chrono::hours(random() % 10'000);
    std::optional<sys_seconds> before;
    for (int i = 0; i < 60; ++i) {
      const auto found = cursor.next(now);
      ASSERT_TRUE(found);
      ASSERT_GE(found->at, now);
      if (before) {
        ASSERT_GT(found->at, *before);
      }
      const sys_seconds from = before ? std::max(*before, now - 1s) : now - 1s;
      ASSERT_EQ(table.next(from)->at, found->at) << "one in between was left out";
      before = found->at;
      now = found->at + std::chrono::seconds(random() % 7200);
      if (random() % 4 == 0) now += std::chrono::seconds(static_cast<int>(random() % 200'000) - 100'000);
    }
  }
}

// As the waits of a task.

struct night_log {
  std::vector<std::string> local;  ///< what the clock of the zone shows when the job begins
};

runtime::task<> every_night(timetable_cursor& nights, int count, night_log& log) {
  for (int i = 0; i < count; ++i) {
    const auto night = nights.next(runtime::wall_now());
    if (!night) co_return;
    const sys_seconds at = night->at;
    co_await runtime::sleep_until(at);
    const auto now = std::chrono::floor<std::chrono::seconds>(runtime::wall_now());
    const auto offset = nights.table().options().where.period_at(now).offset;
    log.local.push_back(text_of(std::chrono::local_seconds(now.time_since_epoch() + offset)));
    co_await runtime::sleep(40min);
  }
}

std::vector<std::string> nights_of(std::string_view zone, std::string_view from, int count) {
  virtual_clock clock;
  clock.set_wall(instant_of(from));
  timetable_cursor nights(table_of("30 2 * * *", std::string(zone)));
  night_log log;
  foliot::test::on_virtual_time(clock, every_night(nights, count, log));
  return log.local;
}

TEST(TimetableCursor, WaitsThroughNightsInWhichClocksChange) {
  EXPECT_THAT(nights_of("Europe/Berlin", "2030-03-29T12:00:00Z", 3),
              ElementsAre("2030-03-30T02:30:00", "2030-03-31T03:00:00", "2030-04-01T02:30:00"));
  EXPECT_THAT(nights_of("Europe/Berlin", "2030-10-26T12:00:00Z", 3),
              ElementsAre("2030-10-27T02:30:00", "2030-10-28T02:30:00", "2030-10-29T02:30:00"))
      << "the job of the first one ends at 02:10 of the second pass, and 02:30 comes again: once";
  EXPECT_THAT(nights_of("Australia/Lord_Howe", "2030-10-05T00:00:00Z", 2),
              ElementsAre("2030-10-06T02:30:00", "2030-10-07T02:30:00"));
}

TEST(TimetableCursor, WaitsBesideAClockThatIsSet) {
  virtual_clock clock;
  clock.set_wall(instant_of("2030-10-26T12:00:00Z"));
  timetable_cursor nights(table_of("30 2 * * *", "Europe/Berlin"));
  night_log log;
  const auto sets_the_clock = [&clock]() -> runtime::task<> {
    co_await runtime::sleep(13h);  // in Berlin the clock has just gone back
    clock.set_wall(runtime::wall_now() - 2h);
    co_await runtime::sleep(48h);
    clock.set_wall(runtime::wall_now() + 72h);
  };
  const auto program = [&]() -> runtime::task<> {
    auto setting = runtime::spawn(sets_the_clock());
    co_await every_night(nights, 4, log);
    co_await setting.join();
  };
  foliot::test::on_virtual_time(clock, program());
  EXPECT_THAT(log.local,
              ElementsAre("2030-10-27T02:30:00", "2030-10-28T02:30:00", "2030-11-01T00:00:00", "2030-11-01T02:30:00"))
      << "set back, nothing comes twice; set forward, the one that was waited for is late, and others are left out";
}

}  // namespace

}  // namespace foliot::schedule
