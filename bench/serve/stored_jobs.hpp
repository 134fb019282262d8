// The memory of a server that stores many delayed jobs, and how long it takes to start with them.
//
// Thread safety: none, one thread.
#pragma once

#include <cstddef>
#include <vector>

#include "serve_target.hpp"
#include "serve_workload.hpp"

namespace foliot::program::bench {

/// Starts a server, puts that many jobs, which are due at random times within a day, and notes its memory; ends it in
/// order, starts it, kills it, and starts it again. Throws failure.
[[nodiscard]] std::vector<serve_figure> measure_stored_jobs(std::size_t jobs, const server_ground& ground);

void add_stored_jobs(serve_workloads& to, const serve_scale& scale);
/// The targets of these workloads.
void add_stored_jobs_targets(serve_targets& to);

}  // namespace foliot::program::bench
