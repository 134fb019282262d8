// How many connections a server may have within the system's limit of open files. More would leave the store without
// descriptors, and a store that cannot open a file ends the server.
//
// Thread safety: one thread; the limit is the process's.
#pragma once

#include <cstddef>

#include "server_log.hpp"

namespace foliot::program {

/// Raises the process's limit of open files to what this many connections need, and `others` that are not bounded by
/// the result, as far as the system allows it. Returns how many connections there may be; warns if these are fewer. To
/// be called before the store is opened.
[[nodiscard]] std::size_t allow_open_files(std::size_t connections, std::size_t others, const server_log& log);

/// How many connections, at most `connections`, the open files that are left allow besides `others`; warns if these are
/// fewer. To be called when the store and the listener are open. Throws failure if no connection fits.
[[nodiscard]] std::size_t connections_that_fit(std::size_t connections, std::size_t others, const server_log& log);

}  // namespace foliot::program
