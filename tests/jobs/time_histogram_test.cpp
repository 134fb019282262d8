// The histogram of lengths of time with bounds that people write.
#include <foliot/jobs/time_histogram.hpp>

#include <chrono>
#include <cstddef>
#include <limits>

#include <gtest/gtest.h>

namespace foliot::jobs {
namespace {

using namespace std::chrono_literals;

/// The bucket of a length.
std::size_t bucket_of(duration length) {
  time_histogram one;
  one.record(length);
  const time_histogram::counts seen = one.seen();
  for (std::size_t i = 0; i < time_histogram::buckets; ++i) {
    if (seen.in[i] == 1) return i;
  }
  return time_histogram::buckets;
}

TEST(TimeHistogram, ALengthThatEqualsABoundIsInTheBucketThatEndsThere) {
  for (std::size_t i = 0; i < time_histogram::bounds_us.size(); ++i) {
    const duration bound = std::chrono::microseconds(time_histogram::bounds_us[i]);
    EXPECT_EQ(bucket_of(bound), i);
    EXPECT_EQ(bucket_of(bound + 1ns), i + 1);
    EXPECT_EQ(bucket_of(bound - 1ns), i);
  }
  EXPECT_EQ(bucket_of(0ns), 0U);
  EXPECT_EQ(bucket_of(-1h), 0U);
  EXPECT_EQ(bucket_of(duration::nanoseconds(std::numeric_limits<std::int64_t>::max())), time_histogram::buckets - 1);
}

TEST(TimeHistogram, CountsAndSumsAddUp) {
  time_histogram one;
  one.record(3ms);
  one.record(4s);
  one.record(-1s);
  time_histogram other;
  other.record(3ms);
  time_histogram::counts both = one.seen();
  both += other.seen();
  EXPECT_EQ(both.all(), 4U);
  EXPECT_EQ(both.sum_us, 4'006'000U) << "a negative length is zero";
  EXPECT_EQ(both.in[bucket_of(3ms)], 2U);
}

TEST(TimeHistogram, ASumStaysAtTheGreatestValue) {
  time_histogram::counts some;
  some.sum_us = std::numeric_limits<std::uint64_t>::max() - 1;
  time_histogram one;
  one.record(3ms);
  some += one.seen();
  EXPECT_EQ(some.sum_us, std::numeric_limits<std::uint64_t>::max());
}

}  // namespace
}  // namespace foliot::jobs
