// The micro-benchmarks of `foliot bench micro`: what single operations cost, in loops of Google Benchmark.
//
// A source adds its own under names of the form FAMILY/LINE or FAMILY/LINE/COLUMN; an argument is the column of a name
// without one.
//
// Thread safety: none, one thread.
#pragma once

#include <string>
#include <vector>

#include "bench/outputs.hpp"

namespace foliot::program::bench {

void add_channel_costs();
void add_json_costs();
void add_replay_costs();
void add_service_costs();

struct micro_options {
  std::vector<std::string> only{};  ///< FAMILY, FAMILY/LINE or FAMILY/LINE/COLUMN; all if empty
  int repetitions = 3;
  double seconds = 0.5;  ///< the least that a repetition measures
  output_names files{};
};

/// The names of the families; none if the program was built without them.
[[nodiscard]] const std::vector<std::string>& micro_families();

/// Throws failure if the program was built without them.
void require_micro();

/// Measures, and writes the figures. Throws failure, also if there are no families, and for names in `only` that there
/// are not.
void run_micro(const micro_options& options);

}  // namespace foliot::program::bench
