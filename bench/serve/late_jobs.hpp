// The figures of a set of latenesses.
//
// Thread safety: pure functions.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "serve_workload.hpp"

namespace foliot::program::bench {

/// p50, p90, p99, p99.9 and max in milliseconds, by nearest rank; the table shows the first, third and last, with
/// `head` in front of their names. `nanoseconds` must not be empty, and is sorted by this.
inline std::vector<serve_figure> late_figures(std::vector<std::int64_t>& nanoseconds, std::string_view head) {
  std::ranges::sort(nanoseconds);
  constexpr std::array<std::pair<std::string_view, std::size_t>, 5> ranks{
      {{"p50", 500}, {"p90", 900}, {"p99", 990}, {"p99.9", 999}, {"max", 1000}}};
  std::vector<serve_figure> made;
  for (const auto& [name, per_mille] : ranks) {
    const std::size_t rank = std::max<std::size_t>((nanoseconds.size() * per_mille + 999) / 1000, 1);
    const bool in_table = name != "p90" && name != "p99.9";
    made.push_back({.name = std::string(name),
                    .unit = "ms",
                    .head = in_table ? std::string(head) + std::string(name) : std::string(),
                    .amount = static_cast<double>(nanoseconds[rank - 1]) / 1e6});
  }
  return made;
}

}  // namespace foliot::program::bench
