// How often threads of this process have given up their core by themselves, which is once for each time
// that they were woken.
//
// Thread safety: any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>

namespace foliot::program::bench {

/// The numbers of all threads of this process.
[[nodiscard]] std::set<int> threads_alive();

/// The voluntary context switches of threads in their lives so far, by their numbers.
using thread_switches = std::map<int, std::uint64_t>;

/// Without those that have ended, and empty where the system does not tell.
[[nodiscard]] thread_switches voluntary_switches(const std::set<int>& threads);

/// Of all threads together that were there both times; nothing where there are none.
[[nodiscard]] std::optional<std::uint64_t> switches_between(const thread_switches& first, const thread_switches& last);

}  // namespace foliot::program::bench
