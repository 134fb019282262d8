// Which tubes have metrics of their own: a plain value, and a pure function.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace foliot::program {

/// Which tubes get series of their own.
struct tube_choice {
  static constexpr std::size_t most_patterns = 10;
  static constexpr std::size_t most_shown = 200;

  std::size_t shown = 20;                  ///< so many, those with the most jobs; most_shown at the most
  std::vector<std::string> patterns = {};  ///< of those whose names match one of these; none: of all
};

/// Whether a name matches a pattern, in which `*` stands for any characters, or none. O(product of the lengths).
[[nodiscard]] bool matches_pattern(std::string_view name, std::string_view pattern) noexcept;

}  // namespace foliot::program
