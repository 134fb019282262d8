// Handles: the errors that they throw.
#include <stdexcept>
#include <string>

#include <foliot/service/ticker.hpp>
#include <foliot/service/timer_handle.hpp>

#include "shard_base.hpp"

namespace foliot::detail {

void refuse_pinned_timer(const char* reason) {
  throw std::invalid_argument(std::string("foliot: a pinned timer cannot be made: ") + reason);
}

}  // namespace foliot::detail

namespace foliot::inline service {

void timer_handle::refuse_empty() {
  throw std::logic_error(
      "foliot: this timer is empty (default-constructed, moved from or detached): assign one that has a service and a "
      "callback first");
}

duration ticker::checked(duration period) {
  if (period <= duration::zero()) {
    throw std::invalid_argument("foliot: a ticker's period must be positive, got " + std::to_string(period.count()) +
                                " ns");
  }
  return period;
}

}  // namespace foliot::inline service
