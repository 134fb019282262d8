// The histogram of lengths of time with bounds that people write.
#include <foliot/jobs/time_histogram.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

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

TEST(TimeHistogram, FindsTheBucketOfAPercentile) {
  time_histogram::counts some;
  EXPECT_FALSE(some.bucket_of(500));
  some.in[3] = 1;
  for (const std::uint32_t each : {0U, 1U, 500U, 1000U}) EXPECT_EQ(some.bucket_of(each), 3U) << each;
  some.in[3] = 98;
  some.in[7] = 1;
  some.in[time_histogram::buckets - 1] = 1;
  EXPECT_EQ(some.bucket_of(500), 3U);
  EXPECT_EQ(some.bucket_of(980), 3U) << "98 of 100 do not exceed the bound";
  EXPECT_EQ(some.bucket_of(981), 7U);
  EXPECT_EQ(some.bucket_of(990), 7U);
  EXPECT_EQ(some.bucket_of(991), time_histogram::buckets - 1);
  EXPECT_EQ(some.bucket_of(1000), time_histogram::buckets - 1);
}

/// Against the definition, with sorted lengths.
TEST(TimeHistogram, ABucketOfAPercentileIsThatOfTheLengthAtItsRank) {
  for (std::size_t count = 1; count <= 40; ++count) {
    time_histogram one;
    std::vector<std::size_t> buckets;
    for (std::size_t i = 0; i < count; ++i) {
      const duration length = std::chrono::microseconds(std::int64_t{90} << (i * 7 % 30));
      one.record(length);
      buckets.push_back(bucket_of(length));
    }
    std::ranges::sort(buckets);
    for (std::uint32_t share = 1; share <= 1000; ++share) {
      const std::size_t rank = (count * share + 999) / 1000;
      ASSERT_EQ(one.seen().bucket_of(share), buckets[rank - 1]) << count << " lengths, " << share;
    }
  }
}

TEST(TimeHistogram, APercentileOfVeryManyLengthsDoesNotOverflow) {
  time_histogram::counts some;
  some.in[2] = std::uint64_t{1} << 62;
  some.in[9] = std::uint64_t{1} << 62;
  EXPECT_EQ(some.bucket_of(500), 2U);
  EXPECT_EQ(some.bucket_of(501), 9U);
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
