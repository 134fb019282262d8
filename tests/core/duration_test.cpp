#include <foliot/core/duration.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <ratio>
#include <stdexcept>

#include "core/nanoseconds.hpp"

namespace foliot {
namespace {

using namespace std::chrono_literals;
using test::least;
using test::most;

template <class Rep, class Period>
std::int64_t count_of(std::chrono::duration<Rep, Period> length) {
  return duration(length).count();
}

TEST(Duration, TakesEveryUnitExactly) {
  static_assert(duration(1h).count() == 3'600'000'000'000);
  EXPECT_EQ(count_of(3ns), 3);
  EXPECT_EQ(count_of(-2us), -2'000);
  EXPECT_EQ(count_of(std::chrono::days(1)), 86'400'000'000'000);
  EXPECT_EQ(count_of(std::chrono::duration<std::uint8_t>(200)), 200'000'000'000);
}

TEST(Duration, RoundsUpNeverDown) {
  using picoseconds = std::chrono::duration<std::int64_t, std::pico>;
  EXPECT_EQ(count_of(picoseconds(0)), 0);
  EXPECT_EQ(count_of(picoseconds(1)), 1);
  EXPECT_EQ(count_of(picoseconds(1000)), 1);
  EXPECT_EQ(count_of(picoseconds(1001)), 2);
  EXPECT_EQ(count_of(picoseconds(-1)), 0);
  EXPECT_EQ(count_of(picoseconds(-1001)), -1);
  EXPECT_EQ(count_of(picoseconds(most)), most / 1000 + 1);
  using thirds = std::chrono::duration<std::int64_t, std::ratio<1, 3>>;
  EXPECT_EQ(count_of(thirds(1)), 333'333'334);
  EXPECT_EQ(count_of(thirds(3)), 1'000'000'000);
}

TEST(Duration, TakesFloatingPointRoundedUp) {
  using seconds = std::chrono::duration<double>;
  EXPECT_EQ(count_of(seconds(0.5)), 500'000'000);
  EXPECT_EQ(count_of(std::chrono::duration<double, std::nano>(1.0001)), 2);
  EXPECT_EQ(count_of(std::chrono::duration<double, std::nano>(-1.9)), -1);
  EXPECT_EQ(count_of(std::chrono::duration<float, std::nano>(7.0F)), 7);
  EXPECT_EQ(count_of(seconds(1e300)), most);
  EXPECT_EQ(count_of(seconds(-1e300)), least);
  EXPECT_EQ(count_of(seconds(std::numeric_limits<double>::infinity())), most);
  EXPECT_THROW(static_cast<void>(duration(seconds(std::nan("")))), std::invalid_argument);
}

TEST(Duration, SaturatesAtItsEnds) {
  EXPECT_TRUE(duration(std::chrono::hours::max()).is_forever());
  EXPECT_EQ(duration(std::chrono::hours::min()), duration::lowest());
  EXPECT_TRUE(duration(std::chrono::duration<std::uint64_t, std::nano>(std::numeric_limits<std::uint64_t>::max()))
                  .is_forever());
  EXPECT_EQ(duration::nanoseconds(most - 1) + 1h, duration::forever());
  EXPECT_EQ(duration::lowest() - 1ns, duration::lowest());
  EXPECT_EQ(-duration::lowest(), duration::forever());
  EXPECT_EQ(duration(1h) * most, duration::forever());
  EXPECT_EQ(duration(1h) * least, duration::lowest());
  EXPECT_EQ(duration(-1h) * least, duration::forever());
  EXPECT_EQ(duration::lowest() / duration::nanoseconds(-1), most);
  EXPECT_EQ(duration::lowest() / std::int64_t{-1}, duration::forever());
}

TEST(Duration, TakesFloatingPointFactorsAndDivisors) {
  const duration tenth = 100ms;
  static_assert(duration(100ms) * 1.5 == duration(150ms));
  EXPECT_EQ(tenth * 1.5, duration(150ms));
  EXPECT_EQ(0.7 * tenth, duration(70ms));
  EXPECT_EQ(tenth * 1.5F, duration(150ms));
  EXPECT_EQ(tenth * 1.1, duration(110ms)) << "to the nearest nanosecond, not up";
  EXPECT_EQ(duration::nanoseconds(3) * 0.5, duration::nanoseconds(2));
  EXPECT_EQ(duration::nanoseconds(-3) * 0.5, duration::nanoseconds(-2));
  EXPECT_EQ(duration::nanoseconds(3) * 0.4, duration::nanoseconds(1));
  EXPECT_EQ(tenth / 0.5, duration(200ms));
  EXPECT_EQ(tenth / 2.5, duration(40ms));
  EXPECT_EQ(tenth * 2, duration(200ms)) << "whole factors are exact";
  EXPECT_EQ(tenth / 3, duration::nanoseconds(33'333'333));
}

TEST(Duration, FloatingPointFactorsSaturate) {
  const duration tenth = 100ms;
  const double endless = std::numeric_limits<double>::infinity();
  EXPECT_EQ(tenth * 1e30, duration::forever());
  EXPECT_EQ(tenth * -1e30, duration::lowest());
  EXPECT_EQ(tenth * endless, duration::forever());
  EXPECT_EQ(tenth * -endless, duration::lowest());
  EXPECT_EQ(tenth / endless, duration::zero());
  EXPECT_EQ(duration::forever() * 1.0, duration::forever());
  EXPECT_THROW(static_cast<void>(tenth * std::nan("")), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(duration::zero() / 0.0), std::invalid_argument);
}

TEST(Duration, NothingShortensForever) {
  EXPECT_EQ(duration::forever() - 1h, duration::forever());
  EXPECT_EQ(duration::forever() + duration::lowest(), duration::forever());
  EXPECT_EQ(duration(1h) + duration::forever(), duration::forever());
}

TEST(Duration, Arithmetic) {
  duration d = 90min;
  d += 30min;
  EXPECT_EQ(d, duration(2h));
  d -= 1h;
  EXPECT_EQ(d, duration(1h));
  EXPECT_EQ(duration(1h) / duration(25min), 2);
  EXPECT_EQ(duration(1h) / 4, duration(15min));
  EXPECT_EQ(3 * duration(20min), duration(1h));
  EXPECT_LT(-duration(1ns), duration::zero());
  EXPECT_EQ(duration(5us).to_chrono(), 5us);
}

}  // namespace
}  // namespace foliot
