// The statistics that a running process shows with a foliot::statistics_socket.
#pragma once

#include <string>

#include <foliot/service/statistics.hpp>

namespace foliot::program {

/// As they are now. Throws failure where nobody shows any at that path, or does not answer within 5 s.
[[nodiscard]] service_statistics read_snapshot(const std::string& path);

}  // namespace foliot::program
