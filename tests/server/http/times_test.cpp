// Times of RFC 3339 and reservation tokens as text.
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "server/http/times.hpp"
#include "server/http/work_requests.hpp"

namespace foliot::program::http {
namespace {

std::string time_in(std::string_view text) {
  const std::optional<jobs::utc_time> time = parse_time(text);
  return time ? time_text(*time) : "none";
}

TEST(Rfc3339, IsRead) {
  EXPECT_EQ(time_in("2026-11-29T05:40:00Z"), "2026-11-29T05:40:00.000Z");
  EXPECT_EQ(time_in("2026-11-29t05:40:00.5z"), "2026-11-29T05:40:00.500Z");
  EXPECT_EQ(time_in("2026-11-29T05:40:00.123+01:30"), "2026-11-29T04:10:00.123Z");
  EXPECT_EQ(time_in("2026-12-31T23:59:59-00:01"), "2027-01-01T00:00:59.000Z");
  EXPECT_EQ(time_in("2024-02-29T00:00:00Z"), "2024-02-29T00:00:00.000Z");
  EXPECT_EQ(time_in("2016-12-31T23:59:60Z"), "2017-01-01T00:00:00.000Z") << "a leap second";
}

TEST(Rfc3339, IsNeverEarly) {
  EXPECT_EQ(time_in("2026-11-29T05:40:00.0001Z"), "2026-11-29T05:40:00.001Z");
  EXPECT_EQ(time_in("2026-11-29T05:40:00.9990001Z"), "2026-11-29T05:40:01.000Z");
  EXPECT_EQ(time_in("2026-11-29T05:40:00.99900000000000000000Z"), "2026-11-29T05:40:00.999Z");
  EXPECT_EQ(time_in("2026-11-29T05:40:00.00000000000000000001Z"), "2026-11-29T05:40:00.001Z");
}

TEST(Rfc3339, RefusesOtherTexts) {
  for (const std::string_view text : {"",
                                      "2026-11-29",
                                      "2026-11-29T05:40:00",
                                      "2026-11-29T05:40Z",
                                      "2026-11-29T05:40:00.Z",
                                      "2026-13-01T00:00:00Z",
                                      "2026-02-29T00:00:00Z",
                                      "2026-11-29T24:00:00Z",
                                      "2026-11-29T05:60:00Z",
                                      "2026-11-29T05:40:61Z",
                                      "2026-11-29T05:40:00+24:00",
                                      "2026-11-29T05:40:00+0100",
                                      "2026-11-29T05:40:00Zx",
                                      " 2026-11-29T05:40:00Z",
                                      "26-11-29T05:40:00Z",
                                      "2026-1-29T05:40:00Z",
                                      "-026-11-29T05:40:00Z",
                                      "2026-11-00T05:40:00Z",
                                      "+2026-11-29T05:40:00Z",
                                      "9999-12-31T23:59:60Z",
                                      "9999-12-31T23:59:59-00:01",
                                      "0000-01-01T00:00:00+00:01"}) {
    EXPECT_EQ(time_in(text), "none") << text;
  }
}

TEST(ReservationText, IsReadAsItIsWritten) {
  const jobs::reservation token{17, 0x5f3a9c0e11d2b847, 2};
  EXPECT_EQ(text_of(token), "17-5f3a9c0e11d2b847-2");
  EXPECT_EQ(parse_reservation(text_of(token)), token);
  const jobs::reservation largest{~0ULL, ~0ULL, ~0ULL};
  EXPECT_EQ(parse_reservation(text_of(largest)), largest);
  for (const std::string_view text :
       {"", "17", "17-5", "17-5-", "17-5-2-", "17-5-2-3", "017-5-2", "17-05-2", "17-G-2", "17-A-2", "-17-5-2",
        "17--5-2", "18446744073709551616-1-1", "17 -5-2", "+17-5-2"}) {
    EXPECT_EQ(parse_reservation(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace foliot::program::http
