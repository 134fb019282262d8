// The search for a world that shows what is wrong on purpose.
#pragma once

#include <cstdint>
#include <functional>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "foliot_simulation/world.hpp"
#include "support/leaks.hpp"

namespace foliot::program::worlds {

/// The first world that shows it ends the search.
inline constexpr std::uint64_t worlds_of_a_canary = 2000;

/// Whether one of so many worlds breaks this rule: a breach that begins with it. The search begins with the world
/// `first`, and prints the one that it has found.
[[nodiscard]] inline bool shows(std::string_view rule, const std::function<std::vector<std::string>()>& live,
                                std::uint64_t first = 0, std::uint64_t count = worlds_of_a_canary) {
  const support::leaks_ignored of_what_is_abandoned;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const auto failure = simulation::run(seed, {}, [&] {
      for (const std::string& each : live()) simulation::require(!each.starts_with(rule), each);
    });
    if (!failure || !failure->starts_with(rule)) continue;
    std::cout << "world " << seed << ": " << *failure << '\n';
    return true;
  }
  return false;
}

}  // namespace foliot::program::worlds
