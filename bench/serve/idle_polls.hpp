// The memory of a server for clients that wait for a job, each on a connection of its own.
//
// Thread safety: none, one thread.
#pragma once

#include <cstddef>
#include <vector>

#include "serve_target.hpp"
#include "serve_workload.hpp"

namespace foliot::program::bench {

/// Starts a server, lets so many clients wait, and notes how much its resident memory has grown for each of them.
/// Throws failure.
[[nodiscard]] std::vector<serve_figure> measure_idle_polls(std::size_t polls, const server_ground& ground);

void add_idle_polls(serve_workloads& to, const serve_scale& scale);
/// The targets of these workloads.
void add_idle_polls_targets(serve_targets& to);

}  // namespace foliot::program::bench
