// What foliot should reach in `foliot bench serve`: a ratio to another server in the same run, or an amount.
//
// Thread safety: plain values.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace foliot::program::bench {

struct serve_target {
  std::string what{};  ///< "puts, 64 connections"
  std::string family{};
  std::vector<std::pair<std::string, std::uint64_t>> parameters{};
  std::string figure{};
  std::string contestant{};
  std::string against{};  ///< the server that `contestant` is compared with; empty: the amount itself counts
  /// The workload in which `against` was measured; empty: the same.
  std::string against_family{};
  std::vector<std::pair<std::string, std::uint64_t>> against_parameters{};
  double bound = 1;      ///< of the ratio contestant / against, or of the amount
  bool at_least = true;  ///< else at most
};

using serve_targets = std::vector<serve_target>;

// The targets of the workloads of these names, beside them.
void add_throughput_targets(serve_targets& to);
void add_batches_targets(serve_targets& to);
void add_heartbeats_targets(serve_targets& to);
void add_idle_polls_targets(serve_targets& to);
void add_lateness_targets(serve_targets& to);
void add_flood_targets(serve_targets& to);
void add_stored_jobs_targets(serve_targets& to);

/// All targets, in the order of the report.
[[nodiscard]] serve_targets all_serve_targets();

}  // namespace foliot::program::bench
