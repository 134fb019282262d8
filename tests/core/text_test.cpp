#include <chrono>
#include <cstdint>
#include <iomanip>
#include <limits>
#include <sstream>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <foliot/adapters/fmt.hpp>
#include <foliot/core/duration.hpp>
#include <foliot/core/format.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/core/seam/random.hpp>

namespace foliot {
namespace {

using namespace std::chrono_literals;

TEST(DurationText, HasTheLargestUnits) {
  EXPECT_EQ(to_string(duration::zero()), "0s");
  EXPECT_EQ(to_string(1ns), "1ns");
  EXPECT_EQ(to_string(999ns), "999ns");
  EXPECT_EQ(to_string(1us), "1us");
  EXPECT_EQ(to_string(1500ns), "1.5us");
  EXPECT_EQ(to_string(20ms), "20ms");
  EXPECT_EQ(to_string(999'999'999ns), "999.999999ms");
  EXPECT_EQ(to_string(1s), "1s");
  EXPECT_EQ(to_string(1'000'000'001ns), "1.000000001s");
  EXPECT_EQ(to_string(2500ms), "2.5s");
  EXPECT_EQ(to_string(30min), "30m");
  EXPECT_EQ(to_string(90min), "1h30m");
  EXPECT_EQ(to_string(60s + 1ms), "1m0.001s");
  EXPECT_EQ(to_string(24h), "1d");
  EXPECT_EQ(to_string(49h + 5s), "2d1h5s");
}

TEST(DurationText, HasASignAndAnEnd) {
  EXPECT_EQ(to_string(duration(-3ms)), "-3ms");
  EXPECT_EQ(to_string(duration(-90min)), "-1h30m");
  EXPECT_EQ(to_string(duration::forever()), "forever");
  EXPECT_EQ(to_string(duration::nanoseconds(std::numeric_limits<std::int64_t>::max() - 1)),
            "106751d23h47m16.854775806s");
  EXPECT_EQ(to_string(duration::lowest()), "-106751d23h47m16.854775808s");
}

TEST(InstantText, IsTheTimeSinceTheOrigin) {
  EXPECT_EQ(to_string(instant()), "+0s");
  EXPECT_EQ(to_string(instant() + 90min), "+1h30m");
  EXPECT_EQ(to_string(instant() - 2500ms), "-2.5s");
  EXPECT_EQ(to_string(instant::never()), "never");
  EXPECT_EQ(to_string(instant::latest()), "+106751d23h47m16.854775806s");
  EXPECT_EQ(to_string(instant::earliest()), "-106751d23h47m16.854775808s");
}

/// Reads the text by its definition.
std::int64_t nanoseconds_in(const std::string& text) {
  std::istringstream in(text);
  std::int64_t sum = 0;
  std::int64_t whole = 0;
  while (in >> whole) {
    std::string fraction;
    if (in.peek() == '.') {
      in.get();
      while (in.peek() >= '0' && in.peek() <= '9') fraction += static_cast<char>(in.get());
    }
    std::string name;
    while (in.peek() >= 'a' && in.peek() <= 'z') name += static_cast<char>(in.get());
    const std::int64_t unit = name == "d"    ? 86'400'000'000'000
                              : name == "h"  ? 3'600'000'000'000
                              : name == "m"  ? 60'000'000'000
                              : name == "s"  ? 1'000'000'000
                              : name == "ms" ? 1'000'000
                              : name == "us" ? 1'000
                                             : 1;
    sum += whole * unit;
    std::int64_t place = unit;
    for (const char digit : fraction) sum += (digit - '0') * (place /= 10);
  }
  return sum;
}

TEST(DurationText, IsExact) {
  random_stream random(1);
  for (int i = 0; i < 10'000; ++i) {
    // As many short ones as long ones.
    const auto count = static_cast<std::int64_t>((random.next() >> 1) >> random.below(63));
    if (count == std::numeric_limits<std::int64_t>::max()) continue;
    ASSERT_EQ(nanoseconds_in(to_string(duration::nanoseconds(count))), count);
  }
}

TEST(DurationText, IsStreamedAndFormatted) {
  std::ostringstream out;
  out << duration(90s) << ' ' << std::setw(6) << duration(5ms) << ' ' << (instant() + 1s);
  EXPECT_EQ(out.str(), "1m30s    5ms +1s");
  EXPECT_EQ(fmt::format("{}|{:>6}|{:<4}|{}", duration(90s), duration(5ms), instant() + 1s, instant::never()),
            "1m30s|   5ms|+1s |never");
#ifdef __cpp_lib_format
  EXPECT_EQ(std::format("{}|{:>6}|{:<4}|{}", duration(90s), duration(5ms), instant() + 1s, instant::never()),
            "1m30s|   5ms|+1s |never");
#endif
}

}  // namespace
}  // namespace foliot
