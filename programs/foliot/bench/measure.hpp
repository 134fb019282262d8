// Measures the benchmarks. Each contestant is measured once in each repetition of a benchmark, in an order that is
// shuffled each time, so that what happens to the machine meanwhile happens to all of them.
//
// A measurement makes its timers anew, warms up, and lasts some 0.1 s: less where there is much to measure, more where
// there is little. Waiting and single calls take their time, and are repeated at most three times.
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

/// Called before each measurement: which one is next, how many are done, and how many there are.
using progress_sink = std::function<void(const std::string& what, std::uint64_t done, std::uint64_t all)>;

/// Throws failure if a contestant does not do what a workload asks of it. A contestant that may be left out is left out
/// of that workload instead, by name and with the reason, and its figures with it.
[[nodiscard]] results measure(const bench_options& options, roster chosen, const progress_sink& progress);

}  // namespace foliot::program::bench
