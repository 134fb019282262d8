#include "text/duration_text.hpp"

#include <chrono>

#include <foliot/core/seam/random.hpp>
#include <gtest/gtest.h>

namespace foliot::program {
namespace {

using namespace std::chrono_literals;

TEST(DurationText, ReadsEveryUnit) {
  EXPECT_EQ(parse_duration("2d"), duration(48h));
  EXPECT_EQ(parse_duration("3h"), duration(3h));
  EXPECT_EQ(parse_duration("30m"), duration(30min));
  EXPECT_EQ(parse_duration("90s"), duration(90s));
  EXPECT_EQ(parse_duration("500ms"), duration(500ms));
  EXPECT_EQ(parse_duration("250us"), duration(250us));
  EXPECT_EQ(parse_duration("10ns"), duration(10ns));
}

TEST(DurationText, AddsUpAndTakesFractions) {
  EXPECT_EQ(parse_duration("1h30m"), duration(90min));
  EXPECT_EQ(parse_duration("1.5h"), duration(90min));
  EXPECT_EQ(parse_duration("1m1ms"), duration(60001ms));
  EXPECT_EQ(parse_duration("0.001s"), duration(1ms));
  EXPECT_EQ(parse_duration("0h5s"), duration(5s));
  EXPECT_EQ(parse_duration("0.123456789012345678s"), duration(123456790ns));
}

TEST(DurationText, RoundsUpToANanosecond) {
  EXPECT_EQ(parse_duration("0.1ns"), duration(1ns));
  EXPECT_EQ(parse_duration("1.0001us"), duration(1001ns));
}

TEST(DurationText, ReadsTheLongestAndRefusesLonger) {
  EXPECT_EQ(parse_duration("9223372036854775806ns"), duration::nanoseconds(9223372036854775806));
  for (const char* text : {"9223372036854775807ns", "106752d", "99999999999999999999999s", "106751d1d"}) {
    const auto refused = parse_duration(text);
    ASSERT_FALSE(refused) << text;
    EXPECT_NE(refused.error().find("is too long"), std::string::npos) << refused.error();
  }
}

TEST(DurationText, RefusesWhatIsNoDuration) {
  const auto expect = [](std::string_view text, std::string_view reason) {
    const auto refused = parse_duration(text);
    ASSERT_FALSE(refused) << text;
    EXPECT_NE(refused.error().find(reason), std::string::npos) << refused.error();
    EXPECT_EQ(refused.error().find('\n'), std::string::npos);
  };
  expect("", "is no duration");
  expect("m", "is no duration");
  expect("half", "is no duration");
  expect(".5h", "is no duration");
  expect("1.h", "is no duration");
  expect("+5m", "is no duration");
  expect("30m ", "unit that does not exist");
  expect("30", "without a unit: write numbers with d, h, m, s, ms, us or ns");
  expect("1h30", "without a unit");
  expect("30x", "unit that does not exist");
  expect("30M", "unit that does not exist");
  expect("1.2.3s", "without a unit");
  expect("0.1234567890123456789s", "18 digits");
  expect("-5m", "must be positive");
  expect("0s", "must be positive");
  expect("0.0h0m", "must be positive");
}

TEST(DurationText, ReadsWhatIsWritten) {
  random_stream random(1);
  for (int i = 0; i < 10'000; ++i) {
    // As many short ones as long ones.
    const auto length = duration::nanoseconds(static_cast<std::int64_t>((random.next() >> 1) >> random.below(63)));
    if (length == duration::zero() || length.is_forever()) continue;
    ASSERT_EQ(parse_duration(to_string(length)), length) << length;
  }
}

}  // namespace
}  // namespace foliot::program
