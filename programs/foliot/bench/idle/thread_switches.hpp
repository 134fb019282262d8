// How often threads of this process have given up their core by themselves, which is once for each time
// that they were woken.
//
// Thread safety: any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <set>

namespace foliot::program::bench {

/// The numbers of all threads of this process.
[[nodiscard]] std::set<int> threads_alive();

/// The voluntary context switches of these threads together, in their lives so far; those that have ended
/// count as none. Nothing where the system does not tell.
[[nodiscard]] std::optional<std::uint64_t> voluntary_switches(const std::set<int>& threads);

}  // namespace foliot::program::bench
