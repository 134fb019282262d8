// Medians, spreads and percentiles of a few or of many figures.
//
// All functions may reorder their argument. Precondition of all: it is not empty.
//
// Thread safety: pure functions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include <foliot/core/contract.hpp>

namespace foliot::program::bench {

/// Of an even number of figures: the mean of the two in the middle.
[[nodiscard]] inline double median(std::span<double> figures) {
  FOLIOT_ASSERT(!figures.empty(), "the median needs at least one figure");
  const auto middle = figures.begin() + static_cast<std::ptrdiff_t>(figures.size() / 2);
  std::ranges::nth_element(figures, middle);
  if (figures.size() % 2 == 1) return *middle;
  return (*std::max_element(figures.begin(), middle) + *middle) / 2;
}

struct spread {
  double median = 0;
  double min = 0;
  double max = 0;
};
[[nodiscard]] inline spread spread_of(std::span<double> figures) {
  const auto [min, max] = std::ranges::minmax(figures);
  return {.median = median(figures), .min = min, .max = max};
}

struct percentiles {
  double p50 = 0;
  double p99 = 0;
  double p999 = 0;
  double max = 0;
};
/// Nearest rank: the smallest figure that the given share of all figures does not exceed.
[[nodiscard]] inline percentiles percentiles_of(std::span<std::uint32_t> figures) {
  FOLIOT_ASSERT(!figures.empty(), "percentiles need at least one figure");
  std::ranges::sort(figures);
  const auto per_mille = [figures](std::size_t share) {
    const std::size_t rank = (figures.size() * share + 999) / 1000;
    return static_cast<double>(figures[std::max<std::size_t>(rank, 1) - 1]);
  };
  return {.p50 = per_mille(500), .p99 = per_mille(990), .p999 = per_mille(999), .max = per_mille(1000)};
}

}  // namespace foliot::program::bench
