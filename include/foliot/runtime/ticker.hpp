// A ticker: instants again and again, on a grid that does not drift. (Go's time.Ticker.)
//
//   foliot::runtime::ticker beat{1s};
//   for (;;) {
//     const foliot::instant scheduled = co_await beat;
//     …
//   }
//
// It may also begin at an instant of the runtime's clock, on whose grid it then is:
//
//   foliot::runtime::ticker beat{start, 1s};
//
// The k-th beat is due k periods after the start, and that is the instant received, however late. At most one beat
// waits to be received: for who comes late that is the first that was missed; those that have passed by then too are
// skipped, and counted, and the next one is on the grid again.
//
// Thread safety, lifetime and cost: as timer's, and so is what a stop does to tasks that wait. Each beat is received by
// one task.
#pragma once

#include <cstdint>
#include <stdexcept>

#include <foliot/core/grid.hpp>
#include <foliot/runtime/timer.hpp>

namespace foliot::runtime {

enum class first_tick : std::uint8_t { after_a_period, at_once };

class ticker : public detail::timer_channel_handle {
 public:
  /// Empty: only assignment, destruction and stop mean anything.
  ticker() noexcept = default;
  /// Throws std::invalid_argument for a period that is not positive, std::logic_error outside of a runtime,
  /// std::bad_alloc: then there is none.
  explicit ticker(duration period, first_tick first = first_tick::after_a_period)
      : ticker(detail::this_scheduler("a ticker"), checked_period(period), first) {}

  /// The beats are `first`, one period later, and so on. If `first` has passed, the next one of that grid comes first;
  /// those before it never were this ticker's, and are not counted as skipped. Throws as the one above.
  ticker(instant first, duration period) : ticker(detail::this_scheduler("a ticker"), first, checked_period(period)) {}

  /// A new grid begins: the next beat is one period from now. Also after a stop, but not after the end of the runtime:
  /// `closed`. Throws std::invalid_argument for a
  /// period that is not positive, std::logic_error on an empty handle, std::bad_alloc: it is then as it was.
  reset_result reset(duration period) { return checked().reset_grid(checked_period(period)); }
  /// A new grid that begins at an instant of the runtime's clock, or where it has got to if that has passed: as the
  /// constructor's. Throws as reset does.
  reset_result reset_at(instant first, duration period) { return checked().reset_grid(first, checked_period(period)); }

  /// How many beats it has skipped in its life.
  [[nodiscard]] std::uint64_t skipped() const noexcept { return channel_ == nullptr ? 0 : channel_->skipped(); }

 private:
  ticker(detail::scheduler& owner, duration period, first_tick first)
      : timer_channel_handle(new detail::timer_channel(
            owner, detail::deadline_in(owner, first == first_tick::at_once ? duration::zero() : period), period)) {}
  ticker(detail::scheduler& owner, instant first, duration period)
      : timer_channel_handle(
            new detail::timer_channel(owner, next_on_grid(first, period, detail::now(owner)), period)) {}

  static duration checked_period(duration period) {
    if (period <= duration::zero()) throw std::invalid_argument("foliot: a ticker's period must be positive");
    return period;
  }
};

}  // namespace foliot::runtime
