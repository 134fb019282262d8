// The seeds of the fuzzer: scripts with names that say what they reach. `fuzz_seeds DIRECTORY` writes
// them as bytes; tests/fuzz/corpus is what it writes.
#pragma once

#include <string>
#include <vector>

#include "queue/conformance/script.hpp"

namespace foliot::conformance {

struct seed {
  std::string name;
  script what;
};

/// All of them, each with a name of its own.
[[nodiscard]] std::vector<seed> seeds();

}  // namespace foliot::conformance
