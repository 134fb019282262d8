// Sorts the timers of a window into firing order: one counting pass into about as many buckets as there
// are timers, then a small sort in each. Linear, where deadlines are spread; n log n where they are not.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include <foliot/queue/detail/deadline_heap.hpp>

namespace foliot::detail {

/// Sorts by moving each entry back to its place: for few, or for what is almost in order.
inline void insertion_sort(std::span<deadline_entry> entries) noexcept {
  for (std::size_t i = 1; i < entries.size(); ++i) {
    const deadline_entry moved = entries[i];
    std::size_t to = i;
    for (; to > 0 && fires_before(moved, entries[to - 1]); --to) entries[to] = entries[to - 1];
    entries[to] = moved;
  }
}

/// Writes `from` to `to`, of the same size and apart from it, in firing order. The deadlines should lie in
/// the 2^width ns from `start`; those that do not are sorted too.
inline void sort_into(std::span<deadline_entry> to, std::span<const deadline_entry> from, instant start,
                      int width) noexcept {
  constexpr int most_bits = 11;
  constexpr std::size_t few = 16;  // measured: below, the counting costs more than it saves
  if (from.size() <= few) {
    std::ranges::copy(from, to.begin());
    return insertion_sort(to);
  }
  const int bits = std::min({static_cast<int>(std::bit_width(from.size() - 1)), most_bits, width});
  const std::size_t buckets = std::size_t{1} << bits;
  const int shift = width - bits;
  const auto bucket_of = [&](const deadline_entry& entry) {
    const auto ahead =
        static_cast<std::uint64_t>(entry.deadline.nanoseconds()) - static_cast<std::uint64_t>(start.nanoseconds());
    return static_cast<std::size_t>(std::min<std::uint64_t>(ahead >> shift, buckets - 1));
  };
  std::array<std::uint32_t, 1 << most_bits> ends;  // of each bucket, once the entries are in place
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
  if (largest > few) [[unlikely]] {
    for (std::size_t i = 0, first = 0; i < buckets; first = ends[i++]) {
      if (ends[i] - first > few) std::ranges::sort(to.subspan(first, ends[i] - first), fires_before);
    }
  }
  insertion_sort(to);  // nothing is farther from its place than its bucket is long
}

}  // namespace foliot::detail
