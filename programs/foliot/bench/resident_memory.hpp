// How much memory N timers take: what is resident afterwards, less what was before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "contestant.hpp"

namespace foliot::program::bench {

/// The memory of this process that is resident and no file's, in KiB; -1 where the system does not tell. (Not statm:
/// its counters are kept for each core, and are some hundred KiB behind.) Allocates nothing, so as not to count itself.
[[nodiscard]] std::int64_t resident_kibibytes();

/// Bytes a timer, for `count` timers made and started by a process of its own, so that nothing is served
/// from what an earlier contestant gave back. Counts whole pages, so that few timers seem to take
/// more, and what the contestant allocates for itself. Nothing where the process could not be made or the system does
/// not tell. Precondition: this process has one thread.
[[nodiscard]] std::optional<double> bytes_per_timer(const contestant& who, std::size_t count);

}  // namespace foliot::program::bench
