#include "job/time_words.hpp"

#include <chrono>
#include <string>

#include <gtest/gtest.h>

namespace foliot::program::terminal {
namespace {

using namespace std::chrono_literals;

std::string ahead(jobs::milliseconds length) {
  const jobs::utc_time now(std::chrono::seconds(1'800'000'000));
  return time_words(now + length, now);
}

TEST(TimeWords, SayHowFarAway) {
  EXPECT_EQ(ahead(0ms), "now");
  EXPECT_EQ(ahead(999ms), "now");
  EXPECT_EQ(ahead(-999ms), "now");
  EXPECT_EQ(ahead(1s), "in 1 s");
  EXPECT_EQ(ahead(-1s), "1 s ago");
  EXPECT_EQ(ahead(89s), "in 89 s");
  EXPECT_EQ(ahead(90s), "in 2 min");
  EXPECT_EQ(ahead(3min), "in 3 min");
  EXPECT_EQ(ahead(-90min), "2 h ago");
  EXPECT_EQ(ahead(2h - 40s), "in 2 h");
  EXPECT_EQ(ahead(35h), "in 35 h");
  EXPECT_EQ(ahead(36h), "in 2 days");
  EXPECT_EQ(ahead(24h * 400), "in 400 days");
}

TEST(TimeWords, HoldAnyTime) {
  const jobs::utc_time first{};
  const jobs::utc_time last(std::chrono::sys_days(std::chrono::year(2262) / 4 / 11));
  EXPECT_EQ(time_words(last, first), "in 106751 days");
  EXPECT_EQ(time_words(first, last), "106751 days ago");
}

}  // namespace
}  // namespace foliot::program::terminal
