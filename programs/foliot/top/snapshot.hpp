// Reads the statistics that a running process shows with a foliot::statistics_socket or a
// foliot::runtime_statistics_socket, or `foliot serve` with --statistics.
//
// Thread safety: any thread.
#pragma once

#include <chrono>
#include <string>
#include <variant>

#include <foliot/core/duration.hpp>
#include <foliot/runtime/statistics_text.hpp>
#include <foliot/service/statistics.hpp>

#include "text/failure.hpp"
#include "text/job_figures.hpp"

namespace foliot::program {

inline constexpr duration patience = std::chrono::seconds(5);

/// What a server answers: its runtime, and its jobs.
struct server_snapshot : runtime_snapshot {
  job_figures jobs{};
};

/// What the kinds of sockets answer.
using snapshot = std::variant<service_snapshot, runtime_snapshot, server_snapshot>;

/// Nothing is shown at the path any more, or not yet: there is no such file, or the answer is empty.
class shows_nothing : public failure {
 public:
  using failure::failure;
};

/// The statistics now. Throws shows_nothing, and failure where no process listens at that path, or its whole answer has
/// not come within `limit`, or is longer than a MiB.
[[nodiscard]] snapshot read_snapshot(const std::string& path, duration limit = patience);

}  // namespace foliot::program
