#include <foliot/core/timer_deadline.hpp>

#include <stdexcept>

namespace foliot::inline core {

void timer_deadline::check(const clock& timers) const {
  if (source_ == source::steady && &timers != &monotonic_clock::instance()) {
    throw std::invalid_argument(
        "foliot: a time point of std::chrono::steady_clock is no deadline here, because these timers go by another "
        "clock: compute the deadline from their now()");
  }
  if (source_ == source::system && &timers != &wall_clock::instance()) {
    throw std::invalid_argument(
        "foliot: a time point of std::chrono::system_clock is no deadline here, because these timers do not go by the "
        "wall clock: compute the deadline from their now(), or use a service on service_clock::wall");
  }
}

}  // namespace foliot::inline core
