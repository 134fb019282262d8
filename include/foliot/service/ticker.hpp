// A ticker: runs a callback again and again, on a grid that does not drift.
//
//   foliot::ticker beat{timers, 1s, [](const foliot::firing& tick) { … tick.skipped … }};
//
// The k-th tick is due exactly k periods after the start. A callback that runs late, or takes longer than a period,
// does not shift the grid: the first tick that it missed fires late, further ticks that have passed by then are skipped
// and counted.
//
// If there is no memory for a ticker's next tick, the ticker is idle from then on, and std::bad_alloc goes to
// service_options::on_exception: reset the ticker to go on.
//
// Thread safety: stop, reset, stop_and_wait, pending and skipped from any thread, also at once, and from inside
// callbacks. No other thread may use the handle while it is moved, assigned or destroyed.
// Lifetime: see timer_handle.hpp. Locations (`here`): as in timer.hpp.
#pragma once

#include <cstdint>
#include <source_location>
#include <utility>

#include <foliot/core/duration.hpp>
#include <foliot/core/export.h>
#include <foliot/service/detail/engine.hpp>
#include <foliot/service/firing.hpp>
#include <foliot/service/timer_handle.hpp>
#include <foliot/service/timer_service.hpp>

namespace foliot::inline service {

/// A callback that repeats with a fixed period. A move-only handle.
class FOLIOT_EXPORT ticker : public timer_handle {
 public:
  /// An empty handle, for assignment. `stop`, `stop_and_wait` and `pending` may be called, and find nothing to do.
  ticker() noexcept = default;

  /// Ticks every `period`, for the first time one period from now; the function takes nothing or a `const firing&`.
  /// Throws std::invalid_argument for a period that is not positive or a null function, std::bad_alloc, and
  /// std::system_error when the service's thread cannot be started; nothing is armed then.
  template <timer_function Function>
  [[nodiscard("the ticker ends with its handle")]] ticker(timer_service& service, duration period, Function&& function,
                                                          std::source_location here = std::source_location::current())
      : ticker(service.home().make(detail::to_callback(std::forward<Function>(function)), checked(period))) {
    reset(period, here);
  }

  /// Begins a new grid: the next tick is one `period` from now, whether the ticker was pending, running or stopped, and
  /// the result says which. Any thread. Costs what one start costs in the engine's queue. Throws std::invalid_argument
  /// for a period that is not positive, std::logic_error on an empty handle, std::bad_alloc, and std::system_error when
  /// the service's thread cannot be started; the ticker is then as it was.
  reset_result reset(duration period, std::source_location here = std::source_location::current()) {
    detail::timer_record& r = record();
    const duration wanted = checked(period);
    static_cast<void>(armed(here));
    return r.owner().restart(r, wanted);
  }

  /// How many ticks the ticker has skipped since it was made; 0 for an empty handle. Any thread; takes the shard's
  /// lock.
  [[nodiscard]] std::uint64_t skipped() const noexcept {
    return record_ == nullptr ? 0 : record_->owner().skipped(*record_);
  }

 private:
  explicit ticker(detail::timer_record* record) noexcept : timer_handle(record) {}

  /// Returns `period`, or throws std::invalid_argument if it is not positive.
  static duration checked(duration period);
};

}  // namespace foliot::inline service
