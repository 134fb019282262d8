// The figures for people, as tables for a terminal: one a workload, a line for each contestant, a column
// for each number of timers, with half the range of the repetitions and the ratio to the reference.
#pragma once

#include <string>

#include "record.hpp"

namespace foliot::program::bench {

[[nodiscard]] std::string results_text(const results& all);

}  // namespace foliot::program::bench
