// Reads the statistics that a running process shows with a foliot::statistics_socket.
//
// Thread safety: any thread.
#pragma once

#include <chrono>
#include <string>

#include <foliot/core/duration.hpp>
#include <foliot/service/statistics.hpp>

namespace foliot::program {

inline constexpr duration patience = std::chrono::seconds(5);

/// The statistics now. Throws failure where no process listens at that path, or its whole answer has not come within
/// `limit`, or is longer than a MiB.
[[nodiscard]] service_statistics read_snapshot(const std::string& path, duration limit = patience);

}  // namespace foliot::program
