// A ticker: runs a callback again and again, on a grid that does not drift.
//
//   foliot::ticker beat{timers, 1s, [](const foliot::firing& tick) { … tick.skipped … }};
//
// The k-th beat is due exactly k periods after the start. A callback that comes late, or takes longer
// than a period, does not shift the grid: the first beat it missed is delivered late, those that have
// passed by then too are skipped, and counted.
//
// A ticker that finds no memory for its next beat is idle from then on, and std::bad_alloc goes to the service's
// on_exception: reset it to go on.
//
// Thread safety, lifetime and places: as a timer's.
#pragma once

#include <cstdint>
#include <source_location>
#include <utility>

#include <foliot/core/duration.hpp>
#include <foliot/core/export.h>
#include <foliot/service/engine.hpp>
#include <foliot/service/firing.hpp>
#include <foliot/service/timer_handle.hpp>
#include <foliot/service/timer_service.hpp>

namespace foliot::inline service {

class FOLIOT_EXPORT ticker : public timer_handle {
 public:
  /// Empty: only assignment, destruction, `stop` and `pending` mean anything.
  ticker() noexcept = default;

  /// Ticks every `period`, the first time one period from now. Throws std::invalid_argument, with
  /// nothing armed, for a period that is not positive or a null function; std::bad_alloc;
  /// std::system_error when the service's thread cannot be started.
  template <timer_function Function>
  ticker(timer_service& service, duration period, Function&& function,
         std::source_location here = std::source_location::current())
      : ticker(service.home().make(detail::to_callback(std::forward<Function>(function)), checked(period))) {
    reset(period, here);
  }

  /// Begins a new grid: the next beat is `period` from now, whether the ticker was stopped or not.
  /// Throws std::invalid_argument for a period that is not positive (it then ticks on as before),
  /// std::logic_error on an empty handle, std::bad_alloc.
  reset_result reset(duration period, std::source_location here = std::source_location::current()) {
    timer_record& r = record();
    const duration wanted = checked(period);
    static_cast<void>(armed(here));
    return r.owner().restart(r, wanted);
  }

  /// How many beats it has skipped in its life.
  [[nodiscard]] std::uint64_t skipped() const noexcept {
    return record_ == nullptr ? 0 : record_->owner().skipped(*record_);
  }

 private:
  explicit ticker(timer_record* record) noexcept : timer_handle(record) {}

  /// `period`, or std::invalid_argument if it is not positive.
  static duration checked(duration period);
};

}  // namespace foliot::inline service
