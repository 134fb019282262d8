// Sorts the timers of a window into firing order: a counting sort into about as many buckets as there are timers, then
// one insertion sort over all. O(n) where deadlines are spread evenly, else O(n log n). Thread safety: none.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include <foliot/queue/detail/deadline_heap.hpp>

namespace foliot::detail {

/// Insertion sort: for few entries, or for entries that are almost in order.
inline void insertion_sort(std::span<deadline_entry> entries) noexcept {
  for (std::size_t i = 1; i < entries.size(); ++i) {
    const deadline_entry moved = entries[i];
    std::size_t to = i;
    for (; to > 0 && fires_before(moved, entries[to - 1]); --to) entries[to] = entries[to - 1];
    entries[to] = moved;
  }
}

/// A bucket with more entries is sorted by std::sort first.
inline constexpr std::size_t most_in_bucket = 16;

/// The bucket of a deadline: one of 2^bits that divide the 2^width ns from `start`; the last one for all other
/// deadlines.
class deadline_buckets {
 public:
  deadline_buckets(instant start, int width, int bits) noexcept
      : start_(static_cast<std::uint64_t>(start.nanoseconds())),
        shift_(std::max(0, width - bits)),
        last_((std::uint64_t{1} << bits) - 1) {}
  std::size_t operator()(const deadline_entry& entry) const noexcept {
    const std::uint64_t ahead = static_cast<std::uint64_t>(entry.deadline.nanoseconds()) - start_;
    return static_cast<std::size_t>(std::min(ahead >> shift_, last_));
  }

 private:
  std::uint64_t start_;
  int shift_;
  std::uint64_t last_;
};

/// sort_into for at most 255 entries: the counters are bytes, of which a word adds up eight. It uses more buckets than
/// entries, which costs little here and leaves little to the insertion sort, whose branches are unpredictable.
template <int Bits>
void sort_few_into(std::span<deadline_entry> to, std::span<const deadline_entry> from, instant start,
                   int width) noexcept {
  const deadline_buckets bucket_of(start, width, Bits);
  std::array<std::uint8_t, 1 << Bits> ends{};
  bool crowded = false;
  for (const deadline_entry& each : from) crowded |= ++ends[bucket_of(each)] > most_in_bucket;
  static_assert(std::endian::native == std::endian::little, "foliot: the first byte of a word is its lowest");
  constexpr std::uint64_t each_byte = 0x0101010101010101;
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < ends.size(); i += sizeof(std::uint64_t)) {
    std::uint64_t counts;
    std::memcpy(&counts, &ends[i], sizeof counts);
    const std::uint64_t sums = counts * each_byte;  // in each byte the sum of it and of those below
    const std::uint64_t begins = sums - counts + before * each_byte;
    std::memcpy(&ends[i], &begins, sizeof begins);
    before += sums >> 56;
  }
  for (const deadline_entry& each : from) to[ends[bucket_of(each)]++] = each;
  if (crowded) [[unlikely]]
    std::ranges::sort(to, fires_before);
  insertion_sort(to);  // each entry is already in its bucket
}

/// Writes `from` to `to` in firing order. Precondition: the spans have the same size and do not overlap. The deadlines
/// should lie in the 2^width ns from `start`; others are sorted as well, but more slowly.
inline void sort_into(std::span<deadline_entry> to, std::span<const deadline_entry> from, instant start,
                      int width) noexcept {
  constexpr int most_bits = 11;
  // By measurement: for fewer entries the counting costs more than it saves.
  if (from.size() <= 4) {
    std::ranges::copy(from, to.begin());
    return insertion_sort(to);
  }
  if (from.size() <= 32) return sort_few_into<6>(to, from, start, width);
  if (from.size() <= 255) return sort_few_into<8>(to, from, start, width);
  const int bits = std::min(static_cast<int>(std::bit_width(from.size() - 1)), most_bits);
  const std::size_t buckets = std::size_t{1} << bits;
  const deadline_buckets bucket_of(start, width, bits);
  std::array<std::uint32_t, 1 << most_bits> ends;  // the end of each bucket, once the entries are in their buckets
  std::fill_n(ends.begin(), buckets, 0);
  for (const deadline_entry& each : from) ++ends[bucket_of(each)];
  std::uint32_t begin = 0;
  std::uint32_t largest = 0;
  for (std::size_t i = 0; i < buckets; ++i) {
    const std::uint32_t count = ends[i];
    largest = std::max(largest, count);
    ends[i] = begin;
    begin += count;
  }
  for (const deadline_entry& each : from) to[ends[bucket_of(each)]++] = each;
  if (largest > most_in_bucket) [[unlikely]] {
    for (std::size_t i = 0, first = 0; i < buckets; first = ends[i++]) {
      if (ends[i] - first > most_in_bucket) std::ranges::sort(to.subspan(first, ends[i] - first), fires_before);
    }
  }
  insertion_sort(to);  // each entry is already in its bucket
}

}  // namespace foliot::detail
