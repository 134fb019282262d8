// How much memory this process may use, by the limits that the system shows.
//
// Thread safety: any thread. It reads some small files.
#pragma once

#include <cstdint>
#include <string>

namespace foliot::program {

/// The least of the machine's memory, the limits of the control groups that this process is in (both versions), and
/// RLIMIT_AS and RLIMIT_DATA. The control groups are those below `root`, where `proc` and `sys` are; empty: the
/// system's.
[[nodiscard]] std::uint64_t usable_memory(const std::string& root = "");

/// The default of --max-buffered: an eighth of that memory, at least 16 MiB and at most 4 GiB.
[[nodiscard]] std::uint64_t default_max_buffered(std::uint64_t usable) noexcept;

}  // namespace foliot::program
