// Runs the contest. For each number of timers and each workload, every contestant is measured once in
// each repetition, in an order that is shuffled each time, so that what happens to the machine meanwhile
// happens to all of them.
//
// A measurement makes its timers anew, warms up until each timer has been touched about once (in W2 three
// times), or for 0.3 s, and lasts some 0.1 s: less where there is much to measure, more where there is
// little.
//
// Throws failure if a contestant does not do what the workload asks of it: such figures would be wrong.
// Then the trials (trials/trial.hpp), the same way.
// Thread safety: none, one thread, which is pinned to a core while it measures queues itself.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bench_options.hpp"
#include "record.hpp"
#include "roster.hpp"

namespace foliot::program::bench {

/// Told before each measurement: what comes, how many are done, and how many there are.
using measurement_watcher = std::function<void(const std::string& what, std::uint64_t done, std::uint64_t all)>;

[[nodiscard]] results measure(const bench_options& options, const roster& who, const measurement_watcher& watcher);

}  // namespace foliot::program::bench
