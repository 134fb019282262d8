// How many connections a server may have within the system's limit of open files. More would leave the store without
// descriptors, and a store that cannot open a file ends the server.
//
// Thread safety: one thread; the limit is the process's.
#pragma once

#include <cstddef>

#include "server_log.hpp"

namespace foliot::program {

/// Allows as many open files as so many connections need, if the system lets it. Returns how many connections there may
/// be; warns where these are fewer. To be called before the store is opened.
[[nodiscard]] std::size_t allow_open_files(std::size_t connections, const server_log& log);

/// How many of so many connections there may be, now that the store and the listener are open; warns where these are
/// fewer. Throws failure if there may be none: such a server would live and serve nobody.
[[nodiscard]] std::size_t connections_that_fit(std::size_t connections, const server_log& log);

}  // namespace foliot::program
