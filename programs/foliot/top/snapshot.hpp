// The statistics that a running process shows with a foliot::statistics_socket.
#pragma once

#include <chrono>
#include <string>

#include <foliot/core/duration.hpp>
#include <foliot/service/statistics.hpp>

namespace foliot::program {

inline constexpr duration patience = std::chrono::seconds(5);

/// As they are now. Throws failure where nobody shows any at that path, or the whole of the answer is not here within
/// `limit`, however slowly it comes, or is longer than a MiB.
[[nodiscard]] service_statistics read_snapshot(const std::string& path, duration limit = patience);

}  // namespace foliot::program
