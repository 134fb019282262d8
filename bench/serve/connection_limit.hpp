// How many connections to one server this process may have.
//
// Thread safety: the limit of open files is the process's.
#pragma once

#include <cstddef>

#include "server_process.hpp"

namespace foliot::program::bench {

/// Raises the limit of open files as far as the system lets it, and returns how many connections fit, at most `wanted`:
/// in this process and in the server, which has the same limit, and where there are as many ports.
[[nodiscard]] std::size_t connections_to_server(std::size_t wanted, transport way);

}  // namespace foliot::program::bench
