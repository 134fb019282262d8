// Durations that count in more than 64 bits with a sign: also compiled in GNU's dialect, in which __int128 is an
// integer to the standard library.
#include <foliot/core/duration.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <ratio>

#include "core/nanoseconds.hpp"

namespace foliot {
namespace {

using detail::int128;
using detail::uint128;
using test::least;
using test::most;

constexpr int128 greatest = static_cast<int128>(~uint128{0} >> 1);

template <class Period, class Rep>
constexpr std::int64_t count_of(Rep count) {
  return duration(std::chrono::duration<Rep, Period>(count)).count();
}

TEST(WideDuration, IsNotCutToItsLowerHalf) {
  EXPECT_EQ(count_of<std::nano>(int128{1} << 64), most);
  EXPECT_EQ(count_of<std::nano>(uint128{5} << 64), most);
  EXPECT_EQ(count_of<std::nano>(-(int128{1} << 64)), least);
  static_assert(count_of<std::ratio<1>>((int128{1} << 64) + 1) == most);
}

TEST(WideDuration, IsExactWhereItFits) {
  for (const std::int64_t value :
       {std::int64_t{0}, std::int64_t{1}, std::int64_t{-1}, most, most - 1, least, least + 1}) {
    EXPECT_EQ(count_of<std::nano>(int128{value}), value);
  }
  EXPECT_EQ(count_of<std::nano>(int128{most} + 1), most);
  EXPECT_EQ(count_of<std::nano>(int128{least} - 1), least);
  EXPECT_EQ(count_of<std::nano>(uint128{7}), 7);
  EXPECT_EQ(count_of<std::ratio<60>>(int128{2}), 120'000'000'000);
  static_assert(count_of<std::nano>(uint128{7}) == 7);
}

TEST(WideDuration, IsRoundedUpNeverDown) {
  EXPECT_EQ(count_of<std::pico>(int128{1}), 1);
  EXPECT_EQ(count_of<std::pico>(int128{1001}), 2);
  EXPECT_EQ(count_of<std::pico>(int128{-1999}), -1);
  EXPECT_EQ(count_of<std::pico>(int128{most} * 1000), most);
  EXPECT_EQ(count_of<std::pico>((int128{most} - 1) * 1000), most - 1);
  EXPECT_EQ(count_of<std::pico>((int128{most} - 2) * 1000 + 1), most - 1);
  EXPECT_EQ(count_of<std::atto>(uint128{1} << 80), 1'208'925'819'614'630);
  using thirds = std::ratio<1, 3>;
  EXPECT_EQ(count_of<thirds>(uint128{1}), 333'333'334);
  EXPECT_EQ(count_of<thirds>(int128{-1}), -333'333'333);
}

TEST(WideDuration, StopsAtTheEndsOfTheWidestCounts) {
  EXPECT_EQ(count_of<std::nano>(greatest), most);
  EXPECT_EQ(count_of<std::nano>(-greatest - 1), least);
  EXPECT_EQ(count_of<std::nano>(~uint128{0}), most);
  EXPECT_EQ(count_of<std::atto>(~uint128{0}), most);
  EXPECT_EQ(count_of<std::atto>(-greatest - 1), least);
  using years = std::chrono::years::period;
  EXPECT_EQ(count_of<years>(greatest), most);
  EXPECT_EQ(count_of<years>(-greatest - 1), least);
  EXPECT_EQ(count_of<years>(int128{292}), 292 * 31'556'952'000'000'000);
  EXPECT_EQ(count_of<years>(int128{-293}), least);
}

TEST(WideDuration, UnsignedPicosecondsOfMoreThanASignedCountAreExact) {
  constexpr std::uint64_t picoseconds = 10'000'000'000'000'000'001U;  // 115 days; more than INT64_MAX
  EXPECT_EQ(count_of<std::pico>(picoseconds), 10'000'000'000'000'001);
  EXPECT_EQ(count_of<std::nano>(picoseconds), most);
  EXPECT_EQ(count_of<std::nano>(static_cast<unsigned long>(picoseconds)), most);
  EXPECT_EQ(count_of<std::nano>(static_cast<unsigned long long>(picoseconds)), most);
}

}  // namespace
}  // namespace foliot
