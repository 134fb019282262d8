// Zones: what the files of the system say, what is wrong with others, and data that change.
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gmock/gmock.h>

#include "programs/temporary_directory.hpp"
#include "schedule/kit.hpp"

namespace foliot::schedule {

namespace {

using std::chrono::hours;
using testing::HasSubstr;

std::string bytes_of(const std::filesystem::path& file) {
  std::ifstream opened(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(opened), {}};
}

std::string bytes_of_zone(const std::string& name) {
  return bytes_of(std::filesystem::path(test_zones().folder()) / name);
}

/// A file of the format without transitions, whose rule is the given one.
std::string zone_file(const std::string& rule) {
  std::string header("TZif2");
  header.append(15, '\0');
  const auto add = [](std::string& to, int number) {
    for (int shift = 24; shift >= 0; shift -= 8) to += static_cast<char>(number >> shift & 255);
  };
  for (const int each : {0, 0, 0, 0, 1, 4}) add(header, each);
  const std::string block("\0\0\0\0\0\0UTC\0", 10);
  return header + block + header + block + "\n" + rule + "\n";
}

zone zone_by(const std::string& rule) {
  auto made = zone::read("Test/Zone", "1", zone_file(rule));
  if (!made) throw std::runtime_error(made.error());
  return *std::move(made);
}

TEST(Zone, HasThePeriodsOfItsFile) {
  const zone berlin = zone_named("Europe/Berlin");
  EXPECT_EQ(berlin.name(), "Europe/Berlin");
  const zone_period summer = berlin.period_at(instant_of("2026-07-01T00:00:00Z"));
  EXPECT_EQ(summer.offset, hours(2));
  EXPECT_EQ(summer.abbreviation, "CEST");
  EXPECT_EQ(text_of(summer.begin), "2026-03-29T01:00:00Z");
  EXPECT_EQ(text_of(summer.end), "2026-10-25T01:00:00Z");
  EXPECT_EQ(berlin.period_at(summer.begin - seconds(1)).offset, hours(1));
  // Behind the last transition of the file its rule holds; before the first one, local mean time.
  EXPECT_EQ(text_of(berlin.period_at(instant_of("9000-07-01T00:00:00Z")).begin), "9000-03-30T01:00:00Z");
  EXPECT_EQ(berlin.period_at(instant_of("1800-01-01T00:00:00Z")).abbreviation, "LMT");
}

TEST(Zone, PeriodsFollowOneAnother) {
  for (const char* const name : {"Europe/Berlin", "Africa/Casablanca", "America/Santiago", "Asia/Tokyo",
                                 "Europe/Dublin", "Etc/GMT+5", "Pacific/Apia", "Antarctica/Troll"}) {
    const zone where = zone_named(name);
    zone_period period = where.period_at(earliest);
    int count = 1;
    while (period.end < latest) {
      const zone_period next = where.period_at(period.end);
      ASSERT_EQ(next.begin, period.end) << name << " " << text_of(period.end);
      ASSERT_EQ(where.period_at(next.end - seconds(1)).begin, next.begin) << name;
      period = next;
      ++count;
    }
    EXPECT_LT(count, 17'000) << name;
  }
}

TEST(Zone, RulesOfPosix) {
  const auto offset = [](const zone& where, const char* at) { return where.period_at(instant_of(at)).offset; };
  const zone kathmandu = zone_by("<+0545>-5:45");
  EXPECT_EQ(offset(kathmandu, "2026-01-01T00:00:00Z"), std::chrono::minutes(345));
  const zone eastern = zone_by("EST5EDT,M3.2.0,M11.1.0");
  EXPECT_EQ(offset(eastern, "2026-03-08T06:59:59Z"), -hours(5));
  EXPECT_EQ(offset(eastern, "2026-03-08T07:00:00Z"), -hours(4));
  EXPECT_EQ(offset(eastern, "2026-11-01T05:59:59Z"), -hours(4));
  EXPECT_EQ(offset(eastern, "2026-11-01T06:00:00Z"), -hours(5));
  const zone south = zone_by("AAA3BBB,J60/0,59/0");  // 1 March, and the 60th day of the year
  EXPECT_EQ(offset(south, "2028-02-29T12:00:00Z"), -hours(3));
  const zone always = zone_by("AAA5BBB,0/0,J365/25");
  for (const char* const at : {"2026-01-01T03:59:59Z", "2026-01-01T04:00:00Z", "2026-07-01T00:00:00Z"})
    EXPECT_EQ(offset(always, at), -hours(4));
  for (const char* const wrong : {"A5", "EST", "EST5EDT", "EST5EDT,M13.1.0,M11.1.0", "EST5EDT,M3.2.0",
                                  "EST5EDT,M3.2.0,J0", "<+05-5", "EST5EDT,M3.2.0,M11.1.0x", "EST999"})
    EXPECT_FALSE(zone::read("Test/Zone", "1", zone_file(wrong))) << wrong;
}

TEST(Zone, ChangesMayLieInAnotherYear) {
  for (const char* const rule :
       {"AAA0BBB,J365/160,J365/167", "AAA0BBB,J1/-167,J2/-167", "AAA25BBB-26,J365/167,0/-167",
        "AAA-26BBB25,0/-167,365/167", "AAA0BBB,M12.5.0/167,M1.1.0/-167", "AAA0BBB,J1/-167,J365/167"}) {
    const zone where = zone_by(rule);
    for (const int year : {1, 1600, 2023, 2024, 2025, 2026, 9999}) {
      for (const std::chrono::month_day day :
           {std::chrono::January / 1, std::chrono::January / 9, std::chrono::July / 1, std::chrono::December / 22,
            std::chrono::December / 31}) {
        const sys_seconds at = std::chrono::sys_days(std::chrono::year(year) / day) + hours(12);
        const zone_period period = where.period_at(at);
        ASSERT_LE(period.begin, at) << rule << " " << text_of(at);
        ASSERT_LT(at, period.end) << rule << " " << text_of(at);
        ASSERT_EQ(where.period_at(period.begin).end, period.end) << rule << " " << text_of(at);
        if (period.begin > earliest) {
          ASSERT_EQ(where.period_at(period.begin - seconds(1)).end, period.begin) << rule << " " << text_of(at);
        }
        if (period.end < latest) {
          ASSERT_EQ(where.period_at(period.end).begin, period.end) << rule << " " << text_of(at);
        }
      }
    }
  }
  EXPECT_EQ(text_of(zone_by("AAA0BBB,J365/160,J365/167").period_at(instant_of("2026-01-01T12:00:00Z")).end),
            "2026-01-06T16:00:00Z");
  for (const char* const wrong : {"AAA27", "AAA-27", "AAA0BBB-27,J1,J2", "AAA0BBB26,J1,J2"})
    EXPECT_FALSE(zone::read("Test/Zone", "1", zone_file(wrong))) << wrong;
}

/// A file with types whose abbreviations all begin at the first letter.
std::string file_of_types(int types, const std::string& letters) {
  const std::string plain = zone_file("UTC0");
  const std::size_t size_of_block = 10;
  std::string header = plain.substr(0, 44);
  for (int i = 0; i < 4; ++i) {
    header[static_cast<std::size_t>(36 + i)] = static_cast<char>(types >> (24 - 8 * i) & 255);
    header[static_cast<std::size_t>(40 + i)] = static_cast<char>(letters.size() >> (24 - 8 * i) & 255);
  }
  const std::string all(static_cast<std::size_t>(6 * types), '\0');
  return plain.substr(0, 44 + size_of_block) + header + all + letters + "\n\n";
}

TEST(Zone, RefusesTypesThatGrowInMemory) {
  const std::string utc("UTC\0", 4);
  EXPECT_TRUE(zone::read("X", "", file_of_types(256, utc)));
  EXPECT_THAT(zone::read("X", "", file_of_types(257, utc)).error(), HasSubstr("more than 256 types"));
  EXPECT_TRUE(zone::read("X", "", file_of_types(1, std::string(32, 'A') + '\0')));
  EXPECT_THAT(zone::read("X", "", file_of_types(1, std::string(33, 'A') + '\0')).error(),
              HasSubstr("an abbreviation has no end, or more than 32 characters"));
  EXPECT_THAT(zone::read("X", "", file_of_types(1, "UTC")).error(), HasSubstr("an abbreviation has no end"));
  EXPECT_FALSE(zone::read("X", "", zone_file("<" + std::string(33, '1') + ">0")));
}

TEST(Zone, RefusesFilesThatAreDamaged) {
  const std::string whole = bytes_of_zone("Europe/Berlin");
  ASSERT_TRUE(zone::read("Europe/Berlin", "", whole));
  for (std::size_t size = 0; size < whole.size(); ++size)
    ASSERT_FALSE(zone::read("Europe/Berlin", "", whole.substr(0, size))) << size;
  // Whatever else is changed, it is read, or refused.
  for (std::size_t i = 0; i < whole.size(); ++i) {
    for (const char wrong : {'\0', '\x7f', '\xff'}) {
      std::string damaged = whole;
      damaged[i] = wrong;
      if (const auto read = zone::read("Europe/Berlin", "", damaged)) {
        const zone_period period = read->period_at(instant_of("2026-07-01T00:00:00Z"));
        ASSERT_LT(period.begin, period.end) << i;
      }
    }
  }
  EXPECT_THAT(zone::read("X", "", "TZif").error(), HasSubstr("the data of the time zone 'X' are not of use"));
}

TEST(Zone, DirectoryKnowsItsNames) {
  const zone_directory zones = test_zones();
  EXPECT_EQ(zones.find("Europe/Berln").error(), "there is no time zone 'Europe/Berln': the nearest is 'Europe/Berlin'");
  EXPECT_EQ(zones.find("europe/berlin").error(),
            "there is no time zone 'europe/berlin': the nearest is 'Europe/Berlin'");
  EXPECT_EQ(zones.find("Berlin").error(), "there is no time zone 'Berlin': the nearest is 'Europe/Berlin'");
  for (const char* const wrong : {"", "/etc/passwd", "../zoneinfo/UTC", "Europe//Berlin", "Europe/", "Europe",
                                  "tzdata.zi", "localtime", "right/UTC", "posix/UTC", "a\nb", "Europe/Berlin "})
    EXPECT_FALSE(zones.find(wrong)) << wrong;
  EXPECT_THAT(zones.find("qqqqqqqqqqqq").error(), HasSubstr("names are such as Europe/Berlin"));
  EXPECT_TRUE(zones.find("UTC"));
  EXPECT_THAT(zone_directory("/nowhere").find("Europe/Berlin").error(), HasSubstr("there are no data of time zones"));
}

TEST(Zone, NewDataAreSeen) {
  const program::temporary_directory here;
  const std::filesystem::path folder(here / "");
  const auto write = [](const std::filesystem::path& file, const std::string& bytes) {
    std::ofstream(file, std::ios::binary) << bytes;
  };
  std::filesystem::create_directory(folder / "Test");
  write(folder / "tzdata.zi", "# version 2026a\n# ...\n");
  write(folder / "Test/Zone", zone_file("AAA5"));
  write(folder / "Test/Other", zone_file("BBB5"));
  const zone_directory zones(folder.string());
  const auto old = zones.find("Test/Zone");
  const auto other = zones.find("Test/Other");
  ASSERT_TRUE(old && other);
  EXPECT_EQ(old->version(), "2026a");
  EXPECT_FALSE(*old == *other);
  write(folder / "tzdata.zi", "# version 2026b\n# ...\n");
  write(folder / "Test/Zone", zone_file("AAA6"));
  EXPECT_EQ(zones.version(), "2026b");
  const auto changed = zones.find("Test/Zone");
  ASSERT_TRUE(changed);
  EXPECT_EQ(changed->version(), "2026b");
  EXPECT_FALSE(*changed == *old);
  EXPECT_TRUE(*zones.find("Test/Other") == *other);
  EXPECT_EQ(old->period_at(earliest).offset, -hours(5));
  EXPECT_EQ(changed->period_at(earliest).offset, -hours(6));
  std::filesystem::remove(folder / "tzdata.zi");
  EXPECT_EQ(zones.version(), "");
  write(folder / "+VERSION", "2026c\n");
  EXPECT_EQ(zones.version(), "2026c");
}

}  // namespace

}  // namespace foliot::schedule
