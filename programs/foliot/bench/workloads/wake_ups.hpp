// Counts how often the threads of what was just made wake up: a thread that gives up its core by itself, a voluntary
// context switch, has woken up once before.
//
//   const std::set<int> before = threads_alive();
//   … make it …
//   return count_wake_ups(before, asked);
//
// Thread safety: any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include <foliot/core/duration.hpp>

#include "../contestant.hpp"

namespace foliot::program::bench {

/// The numbers of all threads of this process.
[[nodiscard]] std::set<int> threads_alive();

/// The voluntary context switches of threads in their lives so far, by their numbers.
using thread_switches = std::map<int, std::uint64_t>;

/// Without those threads that have ended; empty where the system does not report them.
[[nodiscard]] thread_switches voluntary_switches(const std::set<int>& threads);

/// The switches of all threads together that are in both; nothing if no thread is.
[[nodiscard]] std::optional<std::uint64_t> switches_between(const thread_switches& first, const thread_switches& last);

/// From one hour to two: no such timer becomes due while it is measured.
[[nodiscard]] duration far_from(std::uint64_t draw);

/// The wake-ups a second of the threads that are not in `before`, for as long as the request asks, once they have come
/// to rest. Throws failure where the system does not report them.
[[nodiscard]] samples count_wake_ups(const std::set<int>& before, const request& asked);

inline const std::vector<workload> all_idle = {workload::idle, workload::idle_ticker};

}  // namespace foliot::program::bench
