// The story of the generations as text: one table, whose columns go on below where they are too many for a line, then
// what the columns are, and a sentence for each generation.
//
// Thread safety: a function without a state.
#pragma once

#include <string>

#include "record.hpp"

namespace foliot::program::bench {

/// A line for each generation that was measured, in the order of their years, and for each other contestant; empty
/// where no workload of the story was measured.
[[nodiscard]] std::string generations_text(const results& all);

}  // namespace foliot::program::bench
