// Go, Rust and Erlang: programs in bench/peers that do what the threads of this program do. They are built when they
// are first wanted, and run once for each measurement:
//
//   peer WORKLOAD N THREADS MILLISECONDS SEED
//
// N is the number of timers, or of sleeps. They answer with one line of JSON on standard output:
//
//   {"version": "go1.22.1", "ns": 31.4}
//   {"version": "go1.22.1", "lateness_ns": [812, 790]}
//   {"version": "go1.22.1", "ns": 812.5, "worst_ns": 9120}
//   {"version": "go1.22.1", "ns": 812.5, "bytes": 2610}
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "bench/roster.hpp"

namespace foliot::program::bench {

/// The figures in `output`. Throws failure where it is not JSON, has no figure or an impossible one, or not as many
/// sleeps as were asked for.
[[nodiscard]] samples samples_in(std::string_view output, const request& asked);

/// The version in `output`; empty if there is none.
[[nodiscard]] std::string version_in(std::string_view output);

}  // namespace foliot::program::bench
