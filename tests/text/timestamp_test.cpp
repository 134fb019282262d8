#include "text/timestamp.hpp"

#include <ctime>
#include <iomanip>
#include <sstream>

#include <foliot/core/seam/random.hpp>
#include <gtest/gtest.h>

namespace foliot::program {
namespace {

constexpr std::int64_t second = 1'000'000'000;

instant at_second(std::int64_t since_epoch) { return instant::from_nanoseconds(since_epoch * second); }

std::string iso(instant time) {
  std::string text;
  append_iso_time(text, time);
  return text;
}

std::string log_time(instant time) {
  std::string text;
  append_log_time(text, time);
  return text;
}

/// The result of the C library.
std::string by_strftime(std::time_t time, const char* form) {
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  std::ostringstream text;
  text << std::put_time(&parts, form);
  return text.str();
}

TEST(Timestamp, ReadsLogTimesInAnyZone) {
  EXPECT_EQ(parse_log_time("01/Jan/1970:00:00:00 +0000"), at_second(0));
  EXPECT_EQ(parse_log_time("01/Aug/1995:02:00:00 -0400"), at_second(807256800));
  EXPECT_EQ(parse_log_time("01/Aug/1995:11:45:00 +0545"), at_second(807256800));
  EXPECT_EQ(parse_log_time("31/Dec/1969:23:59:59 +0000"), at_second(-1));
  EXPECT_EQ(parse_log_time("01/Jan/1970:00:00:00 +2359"), at_second(-86340));
  EXPECT_EQ(parse_log_time("01/Jan/1970:00:00:00 -2359"), at_second(86340));
}

TEST(Timestamp, KnowsTheCalendar) {
  EXPECT_TRUE(parse_log_time("29/Feb/2024:00:00:00 +0000"));
  EXPECT_TRUE(parse_log_time("29/Feb/2000:00:00:00 +0000"));
  EXPECT_FALSE(parse_log_time("29/Feb/2023:00:00:00 +0000"));
  EXPECT_FALSE(parse_log_time("29/Feb/2100:00:00:00 +0000"));
  EXPECT_FALSE(parse_log_time("31/Feb/2024:00:00:00 +0000"));
  EXPECT_FALSE(parse_log_time("31/Apr/2024:00:00:00 +0000"));
  EXPECT_FALSE(parse_log_time("00/Jan/2024:00:00:00 +0000"));
  EXPECT_FALSE(parse_log_time("32/Jan/2024:00:00:00 +0000"));
}

TEST(Timestamp, ALeapSecondIsTheNextMinute) {
  EXPECT_EQ(parse_log_time("31/Dec/2016:23:59:60 +0000"), parse_log_time("01/Jan/2017:00:00:00 +0000"));
  EXPECT_FALSE(parse_log_time("31/Dec/2016:23:59:61 +0000"));
}

TEST(Timestamp, ReadsTheYearsThatCanBeCounted) {
  EXPECT_TRUE(parse_log_time("01/Jan/1678:00:00:00 +2359"));
  EXPECT_FALSE(parse_log_time("31/Dec/1677:23:59:59 +0000"));
  const auto latest = parse_log_time("31/Dec/2199:23:59:60 -2359");
  ASSERT_TRUE(latest);
  EXPECT_FALSE(parse_log_time("01/Jan/2200:00:00:00 +0000"));
  EXPECT_LT(*latest + std::chrono::days(60 * 365), instant::latest());
}

TEST(Timestamp, RefusesOtherShapes) {
  for (const char* text : {"", "01/Aug/1995:02:00:00", "01/Aug/1995:02:00:00 -040", "01/Aug/1995:02:00:00 -04000",
                           "01-Aug-1995:02:00:00 -0400", "01/aug/1995:02:00:00 -0400", "01/Agu/1995:02:00:00 -0400",
                           "01/Aug/1995 02:00:00 -0400", "01/Aug/1995:24:00:00 -0400", "01/Aug/1995:02:60:00 -0400",
                           "01/Aug/1995:02:00:00  0400", "01/Aug/1995:02:00:00 -2400", "01/Aug/1995:02:00:00 -0460",
                           " 1/Aug/1995:02:00:00 -0400", "01/Aug/199x:02:00:00 -0400", "01/Aug/1995:-2:00:00 -0400",
                           "01/Aug/1995:02:0a:00 -0400", "01/Aug/1995:02:00:00 -04:0", "01/Aug/1995:02.00:00 -0400"}) {
    EXPECT_FALSE(parse_log_time(text)) << text;
  }
}

TEST(Timestamp, AgreesWithTheCLibraryAndReadsWhatItWrites) {
  random_stream random(2);
  const std::int64_t first = parse_log_time("01/Jan/1678:00:00:00 +0000")->nanoseconds() / second;
  const std::int64_t last = parse_log_time("31/Dec/2199:23:59:59 +0000")->nanoseconds() / second;
  for (int i = 0; i < 20'000; ++i) {
    const std::int64_t time = first + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(last - first)));
    ASSERT_EQ(iso(at_second(time)), by_strftime(time, "%Y-%m-%dT%H:%M:%SZ"));
    ASSERT_EQ(log_time(at_second(time)), by_strftime(time, "%d/%b/%Y:%H:%M:%S +0000"));
    ASSERT_EQ(parse_log_time(log_time(at_second(time))), at_second(time));
    const std::int64_t day = time - (time % 86400 + 86400) % 86400;
    ASSERT_EQ(parse_date(by_strftime(day, "%Y-%m-%d")), at_second(day));
  }
}

TEST(Timestamp, WritesTheShortestExactFraction) {
  const std::int64_t base = 807256800 * second;
  EXPECT_EQ(iso(instant::from_nanoseconds(base)), "1995-08-01T06:00:00Z");
  EXPECT_EQ(iso(instant::from_nanoseconds(base + 500'000'000)), "1995-08-01T06:00:00.5Z");
  EXPECT_EQ(iso(instant::from_nanoseconds(base + 120'000'000)), "1995-08-01T06:00:00.12Z");
  EXPECT_EQ(iso(instant::from_nanoseconds(base + 1)), "1995-08-01T06:00:00.000000001Z");
  EXPECT_EQ(iso(instant::from_nanoseconds(-1)), "1969-12-31T23:59:59.999999999Z");
}

TEST(Timestamp, RefusesWhatIsNoDate) {
  for (const char* text : {"", "2026-3-2", "2026/03/02", "2026-02-29", "2026-13-01", "2026-00-10", "2026-03-00",
                           "26-03-02", "2026-03-02 ", "+026-03-02", "2026-03-0x"}) {
    EXPECT_FALSE(parse_date(text)) << text;
  }
}

TEST(ParseIsoTime, ReadsTimesOfRfc3339) {
  EXPECT_EQ(parse_iso_time("1970-01-01T00:00:00Z"), at_second(0));
  EXPECT_EQ(parse_iso_time("1995-08-01t00:00:07-04:00"), at_second(807249607));
  EXPECT_EQ(parse_iso_time("1995-08-01 04:00:07z"), at_second(807249607));
  EXPECT_EQ(parse_iso_time("1995-08-01T05:30:07+01:30"), at_second(807249607));
  EXPECT_EQ(parse_iso_time("1970-01-01T00:00:00.25Z"), instant::from_nanoseconds(250'000'000));
  EXPECT_EQ(parse_iso_time("1970-01-01T00:00:00.1234567899Z"), instant::from_nanoseconds(123'456'789));
  EXPECT_EQ(parse_iso_time("1969-12-31T23:59:60Z"), at_second(0));
  for (const std::int64_t each : {-9'000'000'000LL, 0LL, 1LL, 807'249'607LL, 7'000'000'000LL}) {
    EXPECT_EQ(parse_iso_time(iso(at_second(each))), at_second(each));
  }
}

TEST(ParseIsoTime, RefusesOtherTexts) {
  for (const char* const each :
       {"", "1995-08-01", "1995-08-01T04:00:07", "1995-08-01T04:00Z", "1995-02-29T04:00:07Z", "1995-08-01T24:00:00Z",
        "1995-08-01T04:00:61Z", "1995-08-01T04:00:07.Z", "1995-08-01T04:00:07.5", "1995-08-01T04:00:07+0100",
        "1995-08-01T04:00:07+24:00", "1995-08-01T04:00:07Z ", " 1995-08-01T04:00:07Z", "1995-08-01X04:00:07Z",
        "1995-8-01T04:00:07Z", "9999-01-01T00:00:00Z"}) {
    EXPECT_FALSE(parse_iso_time(each)) << each;
  }
}

}  // namespace
}  // namespace foliot::program
