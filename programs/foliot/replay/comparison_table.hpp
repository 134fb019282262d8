// Engines side by side, for people.
#pragma once

#include <span>
#include <string>

#include "engine_result.hpp"

namespace foliot::program {

/// A line of titles and one for each engine; the first is the reference. Precondition: there is one.
[[nodiscard]] std::string comparison_table(std::span<const engine_result> results);

}  // namespace foliot::program
