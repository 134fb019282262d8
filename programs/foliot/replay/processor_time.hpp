// How long the calling thread has been running on a processor.
#pragma once

#include <foliot/core/duration.hpp>

namespace foliot::program {

/// Since the thread began. What it was kept waiting for, by the system or by other programs, does not
/// count: the measure for what work costs on a machine that is not one's own. Some 0.5 us a call.
[[nodiscard]] duration processor_time() noexcept;

}  // namespace foliot::program
