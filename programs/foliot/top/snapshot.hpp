// Reads the statistics that a running process shows with a foliot::statistics_socket or a
// foliot::runtime_statistics_socket.
//
// Thread safety: any thread.
#pragma once

#include <chrono>
#include <string>
#include <variant>

#include <foliot/core/duration.hpp>
#include <foliot/runtime/statistics_text.hpp>
#include <foliot/service/statistics.hpp>

namespace foliot::program {

inline constexpr duration patience = std::chrono::seconds(5);

/// What the two kinds of sockets answer.
using snapshot = std::variant<service_snapshot, runtime_snapshot>;

/// The statistics now. Throws failure where no process listens at that path, or its whole answer has not come within
/// `limit`, or is longer than a MiB.
[[nodiscard]] snapshot read_snapshot(const std::string& path, duration limit = patience);

}  // namespace foliot::program
