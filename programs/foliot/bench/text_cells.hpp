// Figures as the tables show them, and cells of a width.
//
// Thread safety: functions without a state.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "../replay/grouped.hpp"
#include "statistics.hpp"

namespace foliot::program::bench {

/// Three figures that count: 3.21, 32.1, 321, 3,210.
[[nodiscard]] inline std::string figure(double number) {
  if (number < 10) return fmt::format("{:.2f}", number);
  if (number < 100) return fmt::format("{:.1f}", number);
  return grouped(static_cast<std::uint64_t>(number + 0.5));
}

/// Half the range of the repetitions, in percent of their median.
[[nodiscard]] inline double half_range(const spread& cost) noexcept {
  return cost.median > 0 ? 50 * (cost.max - cost.min) / cost.median : 0;
}
[[nodiscard]] inline std::string percent_text(double percent) { return fmt::format("±{:.0f}%", percent); }

/// How many characters it has: fmt counts ± and µ as one each too, but not in every locale.
[[nodiscard]] inline std::size_t characters(std::string_view text) noexcept {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char byte) { return (byte & 0xc0) != 0x80; }));
}

/// Padded to this many characters, on the left or on the right.
[[nodiscard]] inline std::string right(std::string_view text, std::size_t width) {
  return std::string(width - std::min(width, characters(text)), ' ') + std::string(text);
}
[[nodiscard]] inline std::string left(std::string_view text, std::size_t width) {
  return std::string(text) + std::string(width - std::min(width, characters(text)), ' ');
}

}  // namespace foliot::program::bench
