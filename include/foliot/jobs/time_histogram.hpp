// A histogram of lengths of time with few buckets, for metrics. Their bounds are round numbers from 100 us to a day.
//
//   jobs::time_histogram late;
//   late.record(length);                                      // one writer
//   const jobs::time_histogram::counts seen = late.seen();    // any thread, at any time
//
// The bounds are exact: a length that equals a bound counts in the bucket that ends there. A negative length counts as
// zero.
//
// Thread safety: one thread at a time may record; any thread may call seen(), also during a record(), which may then be
// in the buckets and not yet in the sum. Complexity: record() is O(1), some ten comparisons. Memory: 200 bytes.
// For the precision of percentiles foliot::histogram is the better one; it takes 9.5 KiB.
#pragma once

#include <foliot/core/language.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

#include <foliot/core/duration.hpp>
#include <foliot/core/seam/sync.hpp>

namespace foliot::jobs {

/// Counts lengths of time in fixed buckets.
class time_histogram {
 public:
  /// The greatest length of each bucket but the last, in microseconds. The last bucket has no bound.
  static constexpr std::array<std::int64_t, 23> bounds_us{
      100,        250,        500,         1'000,         2'500,         5'000,          10'000,        25'000,
      50'000,     100'000,    250'000,     500'000,       1'000'000,     2'500'000,      5'000'000,     10'000'000,
      30'000'000, 60'000'000, 300'000'000, 1'800'000'000, 3'600'000'000, 21'600'000'000, 86'400'000'000};
  static constexpr std::size_t buckets = bounds_us.size() + 1;

  /// A copy of the counts. A plain value.
  struct counts {
    std::array<std::uint64_t, buckets> in{};  ///< of each bucket alone
    std::uint64_t sum_us = 0;                 ///< in microseconds, each length rounded up; stays at the greatest value

    /// How many lengths there are.
    [[nodiscard]] std::uint64_t all() const noexcept {
      std::uint64_t total = 0;
      for (const std::uint64_t each : in) total += each;
      return total;
    }
    /// The bucket that has the shortest length which at least so many thousandths of all do not exceed: with 990 that
    /// of the 99th percentile, with 1000 that of the greatest one. None: nothing was counted.
    [[nodiscard]] std::optional<std::size_t> bucket_of(std::uint32_t thousandths) const noexcept {
      const std::uint64_t total = all();
      if (total == 0) return std::nullopt;
      // Rounded up, in two parts: the product could be too large.
      const std::uint64_t part = (total % 1000) * thousandths;
      const std::uint64_t rank = std::max<std::uint64_t>(1, total / 1000 * thousandths + (part + 999) / 1000);
      std::uint64_t so_far = 0;
      for (std::size_t i = 0; i + 1 < buckets; ++i) {
        so_far += in[i];
        if (so_far >= rank) return i;
      }
      return buckets - 1;
    }
    /// Adds those of another histogram.
    counts& operator+=(const counts& other) noexcept {
      for (std::size_t i = 0; i < buckets; ++i) in[i] += other.in[i];
      sum_us = sum(sum_us, other.sum_us);
      return *this;
    }
    friend bool operator==(const counts&, const counts&) = default;
  };

  /// Counts a length. At most one thread at a time.
  void record(duration length) noexcept {
    const std::int64_t counted = std::max<std::int64_t>(0, length.count());
    const std::int64_t microseconds = counted / 1000 + (counted % 1000 != 0 ? 1 : 0);
    const auto bucket = std::ranges::lower_bound(bounds_us, microseconds) - bounds_us.begin();
    add(in_[static_cast<std::size_t>(bucket)], 1);
    add(sum_us_, static_cast<std::uint64_t>(microseconds));
  }
  /// What was counted so far. Any thread.
  [[nodiscard]] counts seen() const noexcept {
    counts now;
    for (std::size_t i = 0; i < buckets; ++i) now.in[i] = in_[i].load(seam::relaxed);
    now.sum_us = sum_us_.load(seam::relaxed);
    return now;
  }

 private:
  using number = seam::atomic<std::uint64_t>;
  /// Relaxed, as in seen(): each number stands for itself and publishes nothing. Only the writer changes them.
  static void add(number& to, std::uint64_t more) noexcept {
    to.store(sum(to.load(seam::relaxed), more), seam::relaxed);
  }
  /// Saturates: a counter that began again would be taken for that of another process.
  static constexpr std::uint64_t sum(std::uint64_t a, std::uint64_t b) noexcept {
    constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
    return b > most - a ? most : a + b;
  }

  std::array<number, buckets> in_{};
  number sum_us_{0};
};

}  // namespace foliot::jobs
