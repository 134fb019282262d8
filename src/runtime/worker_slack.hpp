// How late the kernel may end the sleep of a thread of the runtime: the least that it takes. The default of 50 us would
// make each timer that much later.
#pragma once

#include <foliot/core/duration.hpp>

namespace foliot::runtime::detail {

inline constexpr duration worker_slack = duration::nanoseconds(1);

}  // namespace foliot::runtime::detail
