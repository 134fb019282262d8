// How late the jobs of one tube reach their workers while a flood of jobs in another tube has become due at one
// instant, and workers drain it.
//
// Thread safety: none, one thread.
#pragma once

#include <cstddef>
#include <vector>

#include "serve_target.hpp"
#include "serve_workload.hpp"

namespace foliot::program::bench {

struct flood {
  std::size_t jobs = 1'000'000;     ///< of the flood
  std::size_t per_second = 100;     ///< due in the other tube, evenly, from the flood on
  std::size_t seconds = 10;         ///< for so long
  std::size_t flood_workers = 32;   ///< connections that drain the flood
  std::size_t steady_workers = 16;  ///< connections that wait for the other tube's jobs
};

/// Starts a server, puts all jobs, and measures until workers have deleted those of the other tube. Where the puts took
/// longer than planned, begins again with another server and more time. Throws failure.
[[nodiscard]] std::vector<serve_figure> measure_flood(const flood& asked, const server_ground& ground);

void add_flood(serve_workloads& to, const serve_scale& scale);
/// The targets of these workloads.
void add_flood_targets(serve_targets& to);

}  // namespace foliot::program::bench
