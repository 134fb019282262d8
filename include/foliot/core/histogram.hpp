// A histogram of lengths of time, with HdrHistogram's buckets: as fine at a microsecond as at a minute.
//
// Up to 63 ns each nanosecond has a bucket; from there on each power of two has 32 of the same width, so that a
// bucket is at most 1/32 of the values in it wide. What is below zero counts as zero, what is past the last bucket
// (some 73 min) in the last. Sum and maximum are exact.
//
//   foliot::histogram_recorder taken;                    // whoever measures records
//   taken.record(length);
//   const foliot::histogram so_far = taken.snapshot();   // whoever wants to know looks, at any time
//   so_far.percentile(99);
//
// Thread safety: a histogram is a plain value. A recorder has one writer at a time, whose records come one after the
// other; snapshots are from any thread, also while it records.
// Complexity: record, a few loads and stores; snapshot, merge and percentile, one pass. Memory: 9.5 KiB.
//
// (Gil Tene, HdrHistogram: http://hdrhistogram.org)
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <foliot/core/duration.hpp>
#include <foliot/core/seam/sync.hpp>

namespace foliot::inline core {

class histogram {
 public:
  /// Each power of two has 2^5 buckets.
  static constexpr int precision_bits = 5;
  /// Values from 2^42 ns on are in the last bucket.
  static constexpr int range_bits = 42;
  static constexpr std::size_t buckets = static_cast<std::size_t>(range_bits - precision_bits + 1)
                                         << static_cast<unsigned>(precision_bits);

  /// The bucket of a value.
  [[nodiscard]] static constexpr std::size_t bucket_of(duration value) noexcept {
    const auto v = static_cast<std::uint64_t>(std::clamp<std::int64_t>(value.count(), 0, greatest));
    // 0 for the first two rows of buckets, one more for each power of two after them.
    const int shift = std::max(static_cast<int>(std::bit_width(v)) - precision_bits - 1, 0);
    return (static_cast<std::size_t>(shift) << precision_bits) + static_cast<std::size_t>(v >> shift);
  }
  /// The least value of a bucket, and the greatest. The last one also holds all that is greater.
  [[nodiscard]] static constexpr duration least_of(std::size_t bucket) noexcept {
    const std::size_t row = bucket >> precision_bits;
    const std::size_t shift = row < 2 ? 0 : row - 1;
    return duration::nanoseconds(static_cast<std::int64_t>((bucket - (shift << precision_bits)) << shift));
  }
  [[nodiscard]] static constexpr duration greatest_of(std::size_t bucket) noexcept {
    return duration::nanoseconds(least_of(bucket + 1).count() - 1);
  }

  /// `times` values of that length.
  void add(duration value, std::uint64_t times = 1) noexcept {
    if (times == 0) return;
    const duration counted = std::max(value, duration::zero());
    counts_[bucket_of(counted)] += times;
    sum_ += static_cast<std::uint64_t>(counted.count()) * times;
    max_ = std::max(max_, counted);
  }

  /// All that the other one has counted too.
  histogram& operator+=(const histogram& other) noexcept {
    for (std::size_t i = 0; i < buckets; ++i) counts_[i] += other.counts_[i];
    sum_ += other.sum_;
    max_ = std::max(max_, other.max_);
    return *this;
  }

  /// How many values there are.
  [[nodiscard]] std::uint64_t count() const noexcept {
    std::uint64_t total = 0;
    for (const std::uint64_t each : counts_) total += each;
    return total;
  }
  /// How many values a bucket has. Precondition: bucket < buckets.
  [[nodiscard]] std::uint64_t count_in(std::size_t bucket) const noexcept { return counts_[bucket]; }
  /// How many values are at most that. Exact where that is greatest_of() a bucket, as 2^k - 1 is; else the values of
  /// the bucket that it falls into are left out.
  [[nodiscard]] std::uint64_t count_up_to(duration value) const noexcept {
    std::uint64_t total = 0;
    for (std::size_t i = 0; i + 1 < buckets && greatest_of(i) <= value; ++i) total += counts_[i];
    return total;
  }
  /// The sum of all values in nanoseconds; it starts again at zero past 584 years.
  [[nodiscard]] std::uint64_t sum_nanoseconds() const noexcept { return sum_; }
  /// The greatest value; zero without any.
  [[nodiscard]] duration max() const noexcept { return max_; }

  /// The value that this percentage of all values does not exceed: the greatest that it may be. Never less than the
  /// exact one, and at most 1/32 more; in the last bucket, the maximum. 100 is the maximum; zero without any value.
  [[nodiscard]] duration percentile(double percent) const noexcept {
    const std::uint64_t all = count();
    if (all == 0) return duration::zero();
    const double wanted = std::clamp(percent, 0.0, 100.0) * static_cast<double>(all) / 100;
    auto rank = static_cast<std::uint64_t>(wanted);
    if (static_cast<double>(rank) < wanted) ++rank;
    rank = std::clamp<std::uint64_t>(rank, 1, all);
    std::uint64_t passed = 0;
    for (std::size_t i = 0; i + 1 < buckets; ++i) {
      passed += counts_[i];
      if (passed >= rank) return std::min(greatest_of(i), max_);
    }
    return max_;
  }

  friend bool operator==(const histogram&, const histogram&) = default;

  /// For those who keep one elsewhere: what add() would have made of values with these counts, sum and maximum.
  void restore(std::size_t bucket, std::uint64_t times) noexcept { counts_[bucket] += times; }
  void restore_sum(std::uint64_t sum, duration max) noexcept {
    sum_ = sum;
    max_ = max;
  }

 private:
  static constexpr std::int64_t greatest = (std::int64_t{1} << range_bits) - 1;

  std::array<std::uint64_t, buckets> counts_{};
  std::uint64_t sum_ = 0;
  duration max_;
};

/// The histogram that one writer records into while others look.
class histogram_recorder {
 public:
  void record(duration value) noexcept {
    const duration counted = std::max(value, duration::zero());
    // relaxed, here and below: each is a number by itself that publishes nothing. Only the writer changes them.
    add(counts_[histogram::bucket_of(counted)], 1);
    add(sum_, static_cast<std::uint64_t>(counted.count()));
    if (counted.count() > max_.load(seam::relaxed)) max_.store(counted.count(), seam::relaxed);
  }

  /// What has been recorded. A value that is being recorded may be in the counts and not yet in the sum.
  [[nodiscard]] histogram snapshot() const noexcept {
    histogram seen;
    for (std::size_t i = 0; i < histogram::buckets; ++i) seen.restore(i, counts_[i].load(seam::relaxed));
    seen.restore_sum(sum_.load(seam::relaxed), duration::nanoseconds(max_.load(seam::relaxed)));
    return seen;
  }

 private:
  using number = seam::atomic<std::uint64_t>;

  static void add(number& to, std::uint64_t more) noexcept { to.store(to.load(seam::relaxed) + more, seam::relaxed); }

  std::array<number, histogram::buckets> counts_{};
  number sum_{0};
  seam::atomic<std::int64_t> max_{0};
};

}  // namespace foliot::inline core
