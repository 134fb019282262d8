// How much memory N timers take: what is resident afterwards, less what was before.
#pragma once

#include <cstddef>
#include <optional>

#include "contestant.hpp"

namespace foliot::program::bench {

/// Bytes a timer, for `count` timers made and started by a process of its own, so that nothing is served
/// from what an earlier contestant gave back. Counts whole pages, so that few timers seem to take
/// more, and what the contestant allocates for itself. Nothing where the process could not be made or the system does
/// not tell. Precondition: this process has one thread.
[[nodiscard]] std::optional<double> bytes_per_timer(const contestant& who, std::size_t count);

}  // namespace foliot::program::bench
