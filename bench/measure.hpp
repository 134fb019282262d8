// Measures the benchmarks. Each contestant is measured once in each repetition of a benchmark, in an order that is
// shuffled each time, so that a disturbance of the machine meets all of them alike.
//
// A measurement makes its timers anew, warms up, and lasts from 50 ms, if there is much to measure, to 300 ms. Sleeps,
// single calls and wake-ups last longer, and are repeated at most three times.
//
// Thread safety: none, one thread. It is pinned to a core while it measures the benchmarks of one thread, and free to
// move in all others, since threads and processes inherit its cores.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "bench_options.hpp"
#include "record.hpp"
#include "roster.hpp"

namespace foliot::program::bench {

/// Called before each measurement, with its title, the number of measurements done, and the number of all.
using progress_sink = std::function<void(const std::string& what, std::uint64_t done, std::uint64_t all)>;

/// Throws failure if a contestant does not do what a workload asks of it. A contestant that may be left out is left out
/// of that workload instead, by name and with the reason, and its figures with it.
[[nodiscard]] results measure(const bench_options& options, roster chosen, const progress_sink& progress);

}  // namespace foliot::program::bench
