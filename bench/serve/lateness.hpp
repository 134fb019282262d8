// How late a server hands out delayed jobs that become due evenly, so many in a second, while workers wait for them.
//
// Thread safety: none, one thread.
#pragma once

#include <cstddef>
#include <vector>

#include "serve_target.hpp"
#include "serve_workload.hpp"

namespace foliot::program::bench {

struct due_rate {
  std::size_t per_second = 1000;
  std::size_t seconds = 10;
  std::size_t workers = 64;  ///< connections that reserve a job, delete it, and reserve the next one
};

/// Starts a server, puts the jobs at that rate, and measures until workers have deleted all of them. Each job becomes
/// due `seconds` + 1 seconds after its put, so no put disturbs the deliveries. Throws failure.
[[nodiscard]] std::vector<serve_figure> measure_lateness(const due_rate& asked, const server_ground& ground);

void add_lateness(serve_workloads& to, const serve_scale& scale);
/// The targets of these workloads.
void add_lateness_targets(serve_targets& to);

}  // namespace foliot::program::bench
