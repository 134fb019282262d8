// Compiled with -ffast-math, with which compilers assume that there is neither NaN nor infinity.
#include <foliot/core/duration.hpp>

#include <gtest/gtest.h>

#include <bit>
#include <chrono>
#include <cstdint>
#include <stdexcept>

namespace foliot {
namespace {

constexpr std::uint64_t infinity = std::uint64_t{0x7ff} << 52;
constexpr std::uint64_t negative = std::uint64_t{1} << 63;

/// Not a constant, so that the compiler cannot compute the result: a program's input is not constant, either.
double read(std::uint64_t bits) {
  const volatile std::uint64_t hidden = bits;
  return std::bit_cast<double>(hidden + 0);
}

template <class Rep>
class FastMath : public ::testing::Test {};
using counted = ::testing::Types<float, double, long double>;
TYPED_TEST_SUITE(FastMath, counted);

TYPED_TEST(FastMath, NaNIsNotNow) {
  using seconds = std::chrono::duration<TypeParam>;
  for (const std::uint64_t bits : {infinity | std::uint64_t{1} << 51, infinity | negative | std::uint64_t{1} << 51}) {
    const seconds length(static_cast<TypeParam>(read(bits)));
    EXPECT_THROW(static_cast<void>(duration(length)), std::invalid_argument);
  }
}

TYPED_TEST(FastMath, InfinitiesAreTheEnds) {
  using seconds = std::chrono::duration<TypeParam>;
  EXPECT_EQ(duration(seconds(static_cast<TypeParam>(read(infinity)))), duration::forever());
  EXPECT_EQ(duration(seconds(static_cast<TypeParam>(read(infinity | negative)))), duration::lowest());
}

TYPED_TEST(FastMath, FiniteLengthsAreWhatTheyAre) {
  using seconds = std::chrono::duration<TypeParam>;
  const auto of = [](double number) { return static_cast<TypeParam>(read(std::bit_cast<std::uint64_t>(number))); };
  EXPECT_EQ(duration(seconds(of(0.5))), duration::nanoseconds(500'000'000));
  EXPECT_EQ(duration(seconds(of(-2))), duration::nanoseconds(-2'000'000'000));
  EXPECT_EQ(duration(seconds(of(0))), duration::zero());
  EXPECT_EQ(duration(seconds(of(1e30))), duration::forever());
  EXPECT_EQ(duration(seconds(of(-1e30))), duration::lowest());
}

}  // namespace
}  // namespace foliot
