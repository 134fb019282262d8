#include "bench/record.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <numeric>
#include <vector>

namespace foliot::program::bench {

namespace {

TEST(Statistics, TheMedianOfAnOddNumberIsTheOneInTheMiddle) {
  std::array figures = {9.0, 1.0, 5.0};
  EXPECT_EQ(median(figures), 5);
}

TEST(Statistics, TheMedianOfAnEvenNumberIsTheMeanOfTwo) {
  std::array figures = {9.0, 1.0, 5.0, 2.0};
  EXPECT_EQ(median(figures), 3.5);
}

TEST(Statistics, ASpreadHasTheSmallestAndTheLargest) {
  std::array figures = {9.0, 1.0, 5.0};
  const spread made = spread_of(figures);
  EXPECT_EQ(made.median, 5);
  EXPECT_EQ(made.min, 1);
  EXPECT_EQ(made.max, 9);
}

TEST(Statistics, PercentilesAreByNearestRank) {
  std::vector<std::uint32_t> figures(1000);
  std::iota(figures.rbegin(), figures.rend(), 1u);
  const percentiles made = percentiles_of(figures);
  EXPECT_EQ(made.p50, 500);
  EXPECT_EQ(made.p99, 990);
  EXPECT_EQ(made.p999, 999);
  EXPECT_EQ(made.max, 1000);
}

TEST(Statistics, OneFigureIsEveryPercentile) {
  std::array<std::uint32_t, 1> figures = {7};
  const percentiles made = percentiles_of(figures);
  EXPECT_EQ(made.p50, 7);
  EXPECT_EQ(made.p999, 7);
  EXPECT_EQ(made.max, 7);
}

}  // namespace

}  // namespace foliot::program::bench
