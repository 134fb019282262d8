// A ticker: periodic instants on a grid that does not drift. (Go's time.Ticker.)
//
//   foliot::runtime::ticker beat{1s};
//   for (;;) {
//     const foliot::instant scheduled = co_await beat;
//     …
//   }
//
// c() is the same wait as a case of a select:
//
//   auto chosen = co_await select(beat.c(), jobs.receive());
//
// It may also begin at an instant of the runtime's clock, which is then on its grid:
//
//   foliot::runtime::ticker beat{start, 1s};
//
// The k-th tick is due k periods after the start, and a wait gives that instant, however late it is. At most one tick
// is kept until it is received. A task that comes late receives the first tick that it missed; the further ticks that
// have passed are skipped and counted, and the next one is on the grid again.
//
// Thread safety, lifetime, cost, and the effect of a stop on waiting tasks: as timer's. Each tick is received by one
// task.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include <foliot/core/grid.hpp>
#include <foliot/runtime/runtime_deadline.hpp>
#include <foliot/runtime/timer.hpp>

namespace foliot::runtime {

/// When a ticker's first tick is due: one period after the start, or at once.
enum class first_tick : std::uint8_t { after_a_period, at_once };

/// A handle to a periodic timer. Move-only.
class ticker : public detail::timer_channel_handle {
 public:
  /// An empty handle: only assignment, destruction and stop() mean anything.
  ticker() noexcept = default;
  /// A ticker that starts now. Throws std::invalid_argument for a period that is not positive, std::logic_error outside
  /// of a runtime, std::bad_alloc.
  [[nodiscard("the ticker ends with its handle")]] explicit ticker(duration period,
                                                                   first_tick first = first_tick::after_a_period)
      : ticker(detail::this_scheduler("a ticker"), checked_period(period), first) {}

  /// A ticker whose ticks are due at `first`, one period later, and so on. If `first` has passed, the next tick of that
  /// grid is its first one; the earlier ones do not count as skipped. Throws as the constructor above does.
  [[nodiscard("the ticker ends with its handle")]] ticker(runtime_deadline first, duration period)
      : ticker(detail::this_scheduler("a ticker"), first, checked_period(period)) {}

  /// Begins a new grid: the next tick is due one period from now, also after a stop. Returns `superseded` if the ticker
  /// was running, `idle` after a stop, and `closed` after the end of the runtime: then nothing was started. Throws
  /// std::invalid_argument for a period that is not positive, std::logic_error on an empty handle, and std::bad_alloc:
  /// the ticker is then as it was.
  reset_result reset(duration period) { return checked().reset_grid(checked_period(period)); }
  /// The same with a grid that begins at an instant of the runtime's clock, as the constructor's does.
  reset_result reset_at(runtime_deadline first, duration period) {
    return checked().reset_grid(first, checked_period(period));
  }

  /// How many ticks the ticker has skipped since it was made.
  [[nodiscard]] std::uint64_t skipped() const noexcept { return channel_ == nullptr ? 0 : channel_->skipped(); }

 private:
  ticker(detail::scheduler& owner, duration period, first_tick first)
      : timer_channel_handle(new detail::timer_channel(
            owner, detail::deadline_in(owner, first == first_tick::at_once ? duration::zero() : period), period)) {}
  ticker(detail::scheduler& owner, runtime_deadline first, duration period)
      : timer_channel_handle(new detail::timer_channel(
            owner, next_on_grid(detail::instant_on(owner, first), period, detail::now(owner)), period)) {}

  static duration checked_period(duration period) {
    if (period <= duration::zero()) [[unlikely]] {
      throw std::invalid_argument("foliot: a ticker's period must be positive, not " + std::to_string(period.count()) +
                                  " ns");
    }
    return period;
  }
};

}  // namespace foliot::runtime
