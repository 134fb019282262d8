// Retry-After: seconds, the three forms of a date, and the cap.
#include "server/webhooks/retry_after.hpp"

#include <gtest/gtest.h>

namespace foliot::program::webhooks {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::sys_seconds now = std::chrono::sys_days{2026y / 10 / 21} + 7h + 27min;

std::optional<std::chrono::seconds> read(std::string_view text) { return parse_retry_after(text, now, 3600s); }

// W059 and W062 of the reference.
TEST(RetryAfter, ReadsSecondsUpToTheCap) {
  EXPECT_EQ(read("120"), 120s);
  EXPECT_EQ(read(" 120\t"), 120s);
  EXPECT_EQ(read("0"), 0s);
  EXPECT_EQ(read("3600"), 3600s);
  EXPECT_EQ(read("30000"), 3600s);
  EXPECT_EQ(read("99999999999999999999999"), 3600s);
}

// W060.
TEST(RetryAfter, ReadsTheThreeFormsOfADate) {
  EXPECT_EQ(read("Wed, 21 Oct 2026 07:28:00 GMT"), 60s);
  EXPECT_EQ(read("Wednesday, 21-Oct-26 07:28:00 GMT"), 60s);
  EXPECT_EQ(read("Wed Oct 21 07:28:00 2026"), 60s);
  EXPECT_EQ(read("Sun Nov  1 00:00:00 2026"), 3600s);
  EXPECT_EQ(read("Wed, 21 Oct 2026 07:26:59 GMT"), 0s) << "in the past";
  EXPECT_EQ(read("Sunday, 06-Nov-94 08:49:37 GMT"), 0s) << "1994, since 2094 is more than 50 years ahead";
  EXPECT_EQ(read("Thursday, 21-Oct-76 07:28:00 GMT"), 3600s) << "2076";
  EXPECT_EQ(read("Thu, 31 Dec 9999 23:59:60 GMT"), 3600s);
}

TEST(RetryAfter, IgnoresOtherTexts) {
  for (const std::string_view text : {"",
                                      " ",
                                      "-1",
                                      "+5",
                                      "1.5",
                                      "5s",
                                      "0x10",
                                      "tomorrow",
                                      "Wed, 21 Oct 2026 07:28:00",
                                      "Wed, 21 Oct 2026 07:28:00 UTC",
                                      "Wed, 32 Oct 2026 07:28:00 GMT",
                                      "Wed, 31 Feb 2026 07:28:00 GMT",
                                      "Wed, 21 Okt 2026 07:28:00 GMT",
                                      "Wed, 21 Oct 2026 24:28:00 GMT",
                                      "Wed, 21 Oct 2026 07:60:00 GMT",
                                      "Wed, 1 Oct 2026 07:28:00 GMT",
                                      "Wed,21 Oct 2026 07:28:00 GMT",
                                      "Wed, 21 Oct 2026 07:28:00 GMT x",
                                      "Wed Oct 21 07:28:00 26",
                                      "21-Oct-26 07:28:00 GMT",
                                      "2026-10-21T07:28:00Z"})
    EXPECT_FALSE(read(text)) << text;
}

// Every text with one character changed or cut off is read or ignored, and nothing else happens.
TEST(RetryAfter, TakesAnyBytes) {
  for (const std::string whole :
       {"Wed, 21 Oct 2026 07:28:00 GMT", "Wednesday, 21-Oct-26 07:28:00 GMT", "Wed Oct 21 07:28:00 2026"}) {
    for (std::size_t i = 0; i < whole.size(); ++i) {
      static_cast<void>(read(std::string_view(whole).substr(0, i)));
      for (int c = 0; c < 256; ++c) {
        std::string changed = whole;
        changed[i] = static_cast<char>(c);
        const auto length = read(changed);
        EXPECT_LE(length.value_or(0s), 3600s);
      }
    }
  }
}

}  // namespace
}  // namespace foliot::program::webhooks
