#include "spin_stretch.hpp"

#include <gtest/gtest.h>

namespace foliot::test {
namespace {

using namespace std::chrono_literals;
using detail::spin_stretch;

TEST(SpinStretch, GrowsAtOnceAndShrinksSlowly) {
  spin_stretch stretch;
  for (int i = 0; i < 2000; ++i) stretch.slept_late(20us);
  EXPECT_LT(stretch.length(), 27us);
  EXPECT_GE(stretch.length(), 25us);
  stretch.slept_late(80us);
  EXPECT_EQ(stretch.length(), 100us);
  stretch.slept_late(20us);
  EXPECT_GT(stretch.length(), 95us);
}

TEST(SpinStretch, IsBounded) {
  spin_stretch stretch;
  stretch.slept_late(1s);
  EXPECT_EQ(stretch.length(), spin_stretch::longest);
  for (int i = 0; i < 10'000; ++i) stretch.slept_late(duration::zero());
  EXPECT_EQ(stretch.length(), spin_stretch::shortest);
}

}  // namespace
}  // namespace foliot::test
