// Counts how often the threads of what was just made wake up.
//
//   const std::set<int> before = threads_alive();
//   … make it …
//   return count_wake_ups(before, asked);
#pragma once

#include <cstdint>
#include <set>

#include <foliot/core/duration.hpp>

#include "../trials/trial.hpp"
#include "thread_switches.hpp"

namespace foliot::program::bench {

/// From one hour to two: none comes near while it is measured.
[[nodiscard]] duration far_from(std::uint64_t draw);

/// The wake-ups a second of the threads that were not there before, for as long as the trial asks, once they have come
/// to rest.
[[nodiscard]] finding count_wake_ups(const std::set<int>& before, const trial& asked);

}  // namespace foliot::program::bench
