// `foliot top`: shows the statistics of a running process' timers or of its runtime, once or repeatedly.
//
// Thread safety: none, one thread.
#pragma once

#include <string>

#include <foliot/core/duration.hpp>

namespace foliot::program {

struct top_options {
  std::string path;  ///< of its statistics_socket or runtime_statistics_socket
  bool once = false;
  bool prometheus = false;  ///< in Prometheus' text format, once
  duration interval;        ///< positive
};

/// Writes to standard output until the process ends, or until it is interrupted; a terminal shows the latest table
/// only. Throws failure: also where the process ends and leaves its socket, as one that is killed does.
void top(const top_options& options);

}  // namespace foliot::program
