// What devices cost that say now and then that they live: each has a job with a key, which it replaces before the job
// becomes due.
//
// Thread safety: none, one thread.
#pragma once

#include <cstddef>
#include <vector>

#include <foliot/core/duration.hpp>

#include "serve_target.hpp"
#include "serve_workload.hpp"

namespace foliot::program::bench {

struct heartbeats {
  std::size_t keys = 100'000;
  duration period{};               ///< in which each key is replaced once
  duration length{};               ///< for so long this is measured
  std::size_t batch = 100;         ///< of a gateway
  std::size_t gateways = 4;        ///< connections that send the beats of all devices
  std::uint64_t delay = 3600;      ///< seconds after which a device counts as lost
  std::size_t most_connections{};  ///< of devices; 0: a connection for each key, where the system allows as many
};

/// Starts a server, puts a job for each key, and replaces all evenly: over connections of the devices, then by
/// gateways, with a server of its own. Throws failure.
[[nodiscard]] std::vector<serve_figure> measure_heartbeats(const heartbeats& asked, const server_ground& ground);

void add_heartbeats(serve_workloads& to, const serve_scale& scale);
/// The targets of these workloads.
void add_heartbeats_targets(serve_targets& to);

}  // namespace foliot::program::bench
