// How long one client waits while others have asked for the list of all tubes and do not read it.
//
// Thread safety: none, one thread.
#pragma once

#include <cstddef>
#include <vector>

#include <foliot/core/duration.hpp>

#include "serve_workload.hpp"

namespace foliot::program::bench {

struct unread_lists {
  std::size_t tubes = 10'000;  ///< with names of 200 bytes
  std::size_t readers = 100;   ///< connections that each ask for the list, and do not read it
  duration length{};           ///< for so long one more connection puts, reserves and deletes a job
};

/// Starts a server in a folder of its own in that of `ground`. The figures are those of the time from a put to the
/// answer of the delete: `lists-p50` and so on. Throws failure.
[[nodiscard]] std::vector<serve_figure> measure_unread_lists(const unread_lists& asked, const server_ground& ground);

}  // namespace foliot::program::bench
