#include <foliot/core/histogram.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <thread>
#include <vector>

#include <foliot/core/seam/random.hpp>

namespace foliot {
namespace {

duration ns(std::int64_t count) { return duration::nanoseconds(count); }

TEST(Histogram, EachValueIsInTheBucketWhoseEndsHoldIt) {
  for (std::size_t bucket = 0; bucket < histogram::buckets; ++bucket) {
    const std::int64_t least = histogram::least_of(bucket).count();
    const std::int64_t greatest = histogram::greatest_of(bucket).count();
    ASSERT_LE(least, greatest);
    for (const std::int64_t value : {least, least + (greatest - least) / 2, greatest}) {
      ASSERT_EQ(histogram::bucket_of(ns(value)), bucket) << value;
    }
    ASSERT_LE((greatest - least) * 32, least) << "a bucket is at most 1/32 of its least value wide";
    if (bucket > 0) {
      ASSERT_EQ(least, histogram::greatest_of(bucket - 1).count() + 1)
          << "there must be no gap before bucket " << bucket;
    }
  }
}

TEST(Histogram, TheBucketsReachFromOneNanosecondToPastAnHour) {
  EXPECT_EQ(histogram::bucket_of(ns(0)), 0u);
  EXPECT_EQ(histogram::bucket_of(ns(1)), 1u);
  EXPECT_EQ(histogram::bucket_of(ns(63)), 63u);
  EXPECT_EQ(histogram::bucket_of(ns(64)), 64u);
  EXPECT_EQ(histogram::bucket_of(ns(65)), 64u);
  EXPECT_EQ(histogram::bucket_of(ns(66)), 65u);
  EXPECT_LT(histogram::bucket_of(ns(3'600'000'000'000)), histogram::buckets - 1);
  EXPECT_EQ(histogram::bucket_of(ns((std::int64_t{1} << 42) - 1)), histogram::buckets - 1);
}

TEST(Histogram, WhatIsOutOfRangeIsInTheFirstOrTheLastBucket) {
  EXPECT_EQ(histogram::bucket_of(ns(-1)), 0u);
  EXPECT_EQ(histogram::bucket_of(ns(std::numeric_limits<std::int64_t>::min())), 0u);
  EXPECT_EQ(histogram::bucket_of(ns(std::int64_t{1} << 42)), histogram::buckets - 1);
  EXPECT_EQ(histogram::bucket_of(duration::forever()), histogram::buckets - 1);
  histogram h;
  h.add(ns(-5));
  EXPECT_EQ(h.sum_nanoseconds(), 0u);
  h.add(ns(std::int64_t{1} << 50));
  EXPECT_EQ(h.count(), 2u);
  EXPECT_EQ(h.percentile(100), ns(std::int64_t{1} << 50)) << "the maximum is exact";
  EXPECT_EQ(h.percentile(50), ns(0));
}

TEST(Histogram, WithoutValuesAllIsZero) {
  const histogram h;
  EXPECT_EQ(h.count(), 0u);
  EXPECT_EQ(h.max(), duration::zero());
  EXPECT_EQ(h.percentile(99), duration::zero());
  EXPECT_EQ(h.count_up_to(duration::forever()), 0u);
}

/// Lengths as services have them: many short, few long, and all the edges.
std::vector<std::int64_t> drawn(std::uint64_t seed, std::size_t count) {
  random_stream random{seed};
  std::vector<std::int64_t> values;
  values.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t power = random.below(43);
    const std::uint64_t edge = std::uint64_t{1} << power;
    const std::uint64_t value = i % 3 == 0 ? edge - random.below(2) : random.below(edge) + 1;
    values.push_back(static_cast<std::int64_t>(std::min<std::uint64_t>(value, (std::uint64_t{1} << 42) - 1)));
  }
  return values;
}

TEST(Histogram, PercentilesAreTheSortedOnesOrAtMostOne32ndMore) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    std::vector<std::int64_t> values = drawn(seed, seed * 37);
    histogram h;
    for (const std::int64_t each : values) h.add(ns(each));
    std::ranges::sort(values);
    const double count = static_cast<double>(values.size());
    for (const double percent : {0.0, 0.1, 1.0, 25.0, 50.0, 75.0, 90.0, 99.0, 99.9, 99.99, 100.0}) {
      const double rank = std::max(1.0, std::ceil(percent * count / 100));
      const std::int64_t exact = values[static_cast<std::size_t>(rank) - 1];
      const std::int64_t reported = h.percentile(percent).count();
      ASSERT_GE(reported, exact) << "seed " << seed << ", percent " << percent;
      ASSERT_LE(reported - exact, exact / 32) << "seed " << seed << ", percent " << percent;
    }
    ASSERT_EQ(h.max().count(), values.back());
    ASSERT_EQ(h.count(), values.size());
  }
}

TEST(Histogram, CountsUpToPowersOfTwoAreExact) {
  const std::vector<std::int64_t> values = drawn(7, 5000);
  histogram h;
  for (const std::int64_t each : values) h.add(ns(each));
  for (int bits = 1; bits < 42; ++bits) {
    const std::int64_t bound = (std::int64_t{1} << bits) - 1;
    const auto exact = std::ranges::count_if(values, [bound](std::int64_t each) { return each <= bound; });
    ASSERT_EQ(h.count_up_to(ns(bound)), static_cast<std::uint64_t>(exact)) << bits;
  }
}

TEST(Histogram, MergedIsAsIfAllHadBeenInOne) {
  histogram one;
  histogram other;
  histogram both;
  std::uint64_t sum = 0;
  for (const std::int64_t each : drawn(1, 1000)) one.add(ns(each)), both.add(ns(each)), sum += std::uint64_t(each);
  for (const std::int64_t each : drawn(2, 500)) other.add(ns(each)), both.add(ns(each)), sum += std::uint64_t(each);
  one += other;
  EXPECT_EQ(one, both);
  EXPECT_EQ(one.sum_nanoseconds(), sum);
  EXPECT_NE(one, other);
}

TEST(HistogramRecorder, ASnapshotIsWhatWasRecorded) {
  histogram_recorder recorder;
  histogram reference;
  for (const std::int64_t each : drawn(3, 2000)) {
    recorder.record(ns(each));
    reference.add(ns(each));
  }
  recorder.record(ns(-1));
  reference.add(ns(-1));
  recorder.record(duration::forever());
  reference.add(duration::forever());
  EXPECT_EQ(recorder.snapshot(), reference);
}

TEST(HistogramRecorder, SnapshotsWhileItRecordsNeverLoseAValue) {
  histogram_recorder recorder;
  std::atomic<bool> done{false};
  std::thread writer([&] {
    for (int i = 0; i < 20'000; ++i) recorder.record(ns(i));
    done = true;
  });
  std::uint64_t seen = 0;
  while (!done) {
    const std::uint64_t now = recorder.snapshot().count();
    EXPECT_GE(now, seen);
    seen = now;
  }
  writer.join();
  EXPECT_EQ(recorder.snapshot().count(), 20'000u);
}

}  // namespace
}  // namespace foliot
