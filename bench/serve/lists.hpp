// How long a page of each list over HTTP takes, and what it costs, of a server that stores many tubes and jobs.
//
// Thread safety: none, one thread.
#pragma once

#include <cstddef>
#include <vector>

#include "serve_workload.hpp"

namespace foliot::program::bench {

/// Half of the jobs are in one tube, the others are spread evenly over the other tubes. Of each tube half are ready,
/// and half are due within a day.
struct stored_tubes {
  std::size_t tubes = 0;  ///< at least 3
  std::size_t jobs = 0;   ///< at least 16, and 2 for each tube: so no list is empty
};

/// What the workload stores. Throws failure if there are too few jobs for the tubes.
[[nodiscard]] stored_tubes size_of_lists(const serve_scale& scale);

/// Starts a server, puts the jobs, reserves some, and asks for pages of each list, one after the other. Throws failure.
[[nodiscard]] std::vector<serve_figure> measure_lists(const stored_tubes& stored, const server_ground& ground);

void add_lists(serve_workloads& to, const serve_scale& scale);

}  // namespace foliot::program::bench
