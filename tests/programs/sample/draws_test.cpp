#include "sample/draws.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace foliot::program {
namespace {

using namespace std::chrono_literals;

TEST(Draws, ExponentialIsExponential) {
  random_stream random(9);
  constexpr int count = 200'000;
  const duration mean = 1s;
  double sum = 0;
  std::vector<double> all;
  for (int i = 0; i < count; ++i) {
    const duration drawn = exponential(random, mean);
    ASSERT_GE(drawn, duration::zero());
    all.push_back(static_cast<double>(drawn.count()) * 1e-9);
    sum += all.back();
  }
  EXPECT_NEAR(sum / count, 1, 0.01);
  for (const double x : {0.01, 0.1, 0.5, 1.0, 2.0, 4.0}) {
    const auto below = std::ranges::count_if(all, [x](double each) { return each <= x; });
    EXPECT_NEAR(static_cast<double>(below) / count, 1 - std::exp(-x), 0.005) << x;
  }
}

TEST(Draws, ExponentialIsTheSameEverywhere) {
  random_stream random(1);
  EXPECT_EQ(exponential(random, 1h).count(), 481'955'918'445);
  EXPECT_EQ(exponential(random, 1h).count(), 6'880'888'972'480);
}

TEST(Draws, GeometricHasItsMeanAndIsAtLeastOne) {
  random_stream random(10);
  double sum = 0;
  for (int i = 0; i < 100'000; ++i) {
    const unsigned drawn = geometric(random, 5);
    ASSERT_GE(drawn, 1U);
    sum += drawn;
  }
  EXPECT_NEAR(sum / 100'000, 5, 0.1);
  EXPECT_EQ(geometric(random, 1), 1U);
}

TEST(Draws, ChanceIsInAThousand) {
  random_stream random(11);
  int yes = 0;
  for (int i = 0; i < 100'000; ++i) yes += chance(random, 250) ? 1 : 0;
  EXPECT_NEAR(yes, 25'000, 700);
  EXPECT_FALSE(chance(random, 0));
  EXPECT_TRUE(chance(random, 1000));
}

}  // namespace
}  // namespace foliot::program
