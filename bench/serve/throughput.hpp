// How many commands a server answers in a second: puts, and cycles of put, reserve and delete, from one connection to
// many, with bodies of several sizes, with several puts in flight on a connection, and with many puts in a batch.
//
// Thread safety: none, one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <foliot/core/duration.hpp>

#include "serve_target.hpp"
#include "serve_workload.hpp"

namespace foliot::program::bench {

enum class load_shape : std::uint8_t {
  puts,
  cycles,  ///< put a job, reserve one, delete that one
};

struct load {
  load_shape shape = load_shape::puts;
  std::size_t connections = 1;
  std::size_t in_flight = 1;  ///< puts of a connection that are not answered yet; 1 for cycles
  std::size_t body = 100;     ///< bytes
  std::size_t batch = 1;      ///< puts that are sent at once, and count as one in flight; 1 for cycles
};

/// Loads the server for a fifth of `length`, then measures for `length`, or until some hundred megabytes were put.
/// Leaves no job in the tube of a server that the user has started. Throws failure.
[[nodiscard]] std::vector<serve_figure> measure_load(const load& asked, duration length,
                                                     const server_under_load& server);

void add_throughput(serve_workloads& to, const serve_scale& scale);
/// The targets of these workloads.
void add_throughput_targets(serve_targets& to);

void add_batches(serve_workloads& to, const serve_scale& scale);
void add_batches_targets(serve_targets& to);

}  // namespace foliot::program::bench
