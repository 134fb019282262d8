// A histogram of durations with HdrHistogram's buckets: the relative precision is the same at a microsecond as at a
// minute.
//
// Up to 63 ns each nanosecond has a bucket; above, each power of two has 32 buckets of equal width, so a bucket is at
// most 1/32 of its values wide. Negative values count as zero, values beyond the last bucket (some 73 min) count in the
// last. Sum and maximum are exact.
//
//   foliot::histogram_recorder taken;
//   taken.record(length);                                // one writer
//   const foliot::histogram so_far = taken.snapshot();   // any thread, at any time
//   so_far.percentile(99);
//
// Thread safety: a histogram is a plain value. A recorder has at most one writer at a time; any thread may take a
// snapshot, also during a record().
// Complexity: record, O(1), a few loads and stores; snapshot, += and percentile, one pass over the buckets. Memory:
// 9.5 KiB.
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

/// Counts of durations by bucket, with their exact sum and maximum. A plain value.
class histogram {
 public:
  /// Each power of two has 2^5 buckets.
  static constexpr int precision_bits = 5;
  /// Values from 2^42 ns on are in the last bucket.
  static constexpr int range_bits = 42;
  /// How many buckets there are.
  static constexpr std::size_t buckets = static_cast<std::size_t>(range_bits - precision_bits + 1)
                                         << static_cast<unsigned>(precision_bits);

  /// The index of the bucket that counts this value.
  [[nodiscard]] static constexpr std::size_t bucket_of(duration value) noexcept {
    const auto v = static_cast<std::uint64_t>(std::clamp<std::int64_t>(value.count(), 0, greatest));
    // 0 for the first two rows of buckets, one more for each power of two after them.
    const int shift = std::max(static_cast<int>(std::bit_width(v)) - precision_bits - 1, 0);
    return (static_cast<std::size_t>(shift) << precision_bits) + static_cast<std::size_t>(v >> shift);
  }
  /// The least value of a bucket.
  [[nodiscard]] static constexpr duration least_of(std::size_t bucket) noexcept {
    const std::size_t row = bucket >> precision_bits;
    const std::size_t shift = row < 2 ? 0 : row - 1;
    return duration::nanoseconds(static_cast<std::int64_t>((bucket - (shift << precision_bits)) << shift));
  }
  /// The greatest value of a bucket. The last bucket also counts all greater values.
  [[nodiscard]] static constexpr duration greatest_of(std::size_t bucket) noexcept {
    return duration::nanoseconds(least_of(bucket + 1).count() - 1);
  }

  /// Counts `value`, `times` times.
  void add(duration value, std::uint64_t times = 1) noexcept {
    if (times == 0) return;
    const duration counted = std::max(value, duration::zero());
    counts_[bucket_of(counted)] += times;
    sum_ += static_cast<std::uint64_t>(counted.count()) * times;
    max_ = std::max(max_, counted);
  }

  /// Adds all counts of `other`.
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
  /// How many values are in a bucket. Precondition: bucket < buckets.
  [[nodiscard]] std::uint64_t count_in(std::size_t bucket) const noexcept { return counts_[bucket]; }
  /// How many values are at most `value`. Exact if `value` is the greatest_of() a bucket, as each 2^k - 1 ns is; else
  /// the bucket that contains `value` is left out.
  [[nodiscard]] std::uint64_t count_up_to(duration value) const noexcept {
    std::uint64_t total = 0;
    for (std::size_t i = 0; i + 1 < buckets && greatest_of(i) <= value; ++i) total += counts_[i];
    return total;
  }
  /// The sum of all values in nanoseconds, modulo 2^64 (584 years).
  [[nodiscard]] std::uint64_t sum_nanoseconds() const noexcept { return sum_; }
  /// The greatest value; zero if there is none.
  [[nodiscard]] duration max() const noexcept { return max_; }

  /// An upper bound of the value that `percent` per cent of all values do not exceed: at least the exact percentile,
  /// and at most 1/32 more; the maximum, if the percentile is in the last bucket. percentile(100) is the maximum. Zero
  /// if there is no value.
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

  /// Rebuilds a histogram that was stored elsewhere: adds `times` to a bucket's count, without the sum and the maximum.
  void restore(std::size_t bucket, std::uint64_t times) noexcept { counts_[bucket] += times; }
  /// Sets the sum (in nanoseconds) and the maximum of a histogram that is rebuilt.
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

/// A histogram into which one thread at a time records, while any thread takes snapshots.
class histogram_recorder {
 public:
  /// Counts `value`. At most one thread at a time; not atomic with respect to snapshot(). O(1).
  void record(duration value) noexcept {
    const duration counted = std::max(value, duration::zero());
    // relaxed, here and below: each counter stands for itself and publishes nothing. Only the writer changes them.
    add(counts_[histogram::bucket_of(counted)], 1);
    add(sum_, static_cast<std::uint64_t>(counted.count()));
    if (counted.count() > max_.load(seam::relaxed)) max_.store(counted.count(), seam::relaxed);
  }

  /// A copy of the present state, from any thread. A value that is being recorded may already be in the counts and not
  /// yet in the sum.
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
