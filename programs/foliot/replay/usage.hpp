// The processor time and the memory of a replay.
//
// Thread safety: any thread.
#pragma once

#include <cstddef>

#include <foliot/core/duration.hpp>

namespace foliot::program {

/// The most memory of this process that was resident at once, in bytes. getrusage would include what the parent had
/// when it forked, so this reads /proc first.
[[nodiscard]] std::size_t peak_memory_bytes();

/// How long the calling thread has been running on a processor. Time that it waited, for the system or for other
/// programs, does not count: so the cost of work can be measured on a shared machine. A call takes some 0.5 us.
[[nodiscard]] duration processor_time() noexcept;

}  // namespace foliot::program
