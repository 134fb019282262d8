#include "processor_timers.hpp"

#include "core/seam/probes.hpp"

namespace foliot::runtime::detail {

void processor_timers::count_fired(instant deadline, instant now) noexcept {
  fired_.store(fired() + 1, seam::relaxed);  // one thread at a time writes it
  if (lateness_ != nullptr) [[unlikely]]
    lateness_->record(now - deadline);
  foliot::detail::probes::due(processor_, deadline, now);
}

}  // namespace foliot::runtime::detail
