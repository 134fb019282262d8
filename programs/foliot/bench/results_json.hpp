// The figures for programs. docs/bench.md describes the fields.
#pragma once

#include <string>

#include "record.hpp"

namespace foliot::program::bench {

[[nodiscard]] std::string results_json(const results& all);

}  // namespace foliot::program::bench
