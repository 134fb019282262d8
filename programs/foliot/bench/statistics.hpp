// Medians, spreads and percentiles of a few or of many figures.
//
// All functions may reorder their argument. Precondition of all: it is not empty.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <span>

namespace foliot::program::bench {

struct spread {
  double median = 0;
  double min = 0;
  double max = 0;
};

/// Of an even number of figures: the mean of the two in the middle.
[[nodiscard]] double median(std::span<double> figures);
[[nodiscard]] spread spread_of(std::span<double> figures);

struct percentiles {
  double p50 = 0;
  double p99 = 0;
  double p999 = 0;
  double max = 0;
};

/// Nearest rank: the smallest figure that the given share of all figures does not exceed.
[[nodiscard]] percentiles percentiles_of(std::span<std::uint32_t> figures);

}  // namespace foliot::program::bench
