#include "statistics.hpp"

#include <algorithm>
#include <cstddef>

#include <foliot/core/contract.hpp>

namespace foliot::program::bench {

double median(std::span<double> figures) {
  FOLIOT_ASSERT(!figures.empty(), "the median needs at least one figure");
  const auto middle = figures.begin() + static_cast<std::ptrdiff_t>(figures.size() / 2);
  std::ranges::nth_element(figures, middle);
  if (figures.size() % 2 == 1) return *middle;
  return (*std::max_element(figures.begin(), middle) + *middle) / 2;
}

spread spread_of(std::span<double> figures) {
  const auto [min, max] = std::ranges::minmax(figures);
  return {.median = median(figures), .min = min, .max = max};
}

percentiles percentiles_of(std::span<std::uint32_t> figures) {
  FOLIOT_ASSERT(!figures.empty(), "percentiles need at least one figure");
  std::ranges::sort(figures);
  const auto per_mille = [figures](std::size_t share) {
    const std::size_t rank = (figures.size() * share + 999) / 1000;
    return static_cast<double>(figures[std::max<std::size_t>(rank, 1) - 1]);
  };
  return {.p50 = per_mille(500), .p99 = per_mille(990), .p999 = per_mille(999), .max = per_mille(1000)};
}

}  // namespace foliot::program::bench
