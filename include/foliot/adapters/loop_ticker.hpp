// A ticker of an event loop: runs a callback again and again, on a grid that does not drift.
//
//   foliot::loop_ticker beat{timers, 1s, [](const foliot::firing& tick) { … tick.skipped … }};
//   beat.stop();
//   beat.reset(5s);         // a new grid, from now on
//
// The k-th tick is due exactly k periods after the start. A turn of the loop that comes late does not shift the grid:
// the first tick that was missed fires late, further ticks that have passed by the turn's instant are skipped and
// counted. So a ticker fires at most once a turn.
//
// A tick makes the next one pending and then calls the callback, which may stop, reset and destroy its own ticker. If
// the callback throws, expire throws the same exception, and the ticker goes on.
//
// A tick allocates nothing once the queue has its memory: after the first ticks, or after loop_timers::reserve. If
// there is no memory for a ticker's next tick, its callback is called all the same, expire throws std::bad_alloc, and
// the ticker is idle from then on: reset it to go on.
//
// Thread safety and lifetime: see loop_timers.hpp.
#pragma once

#include <cstdint>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include <foliot/adapters/detail/loop_callback.hpp>
#include <foliot/adapters/loop_timers.hpp>
#include <foliot/core/duration.hpp>
#include <foliot/core/export.h>
#include <foliot/core/firing.hpp>
#include <foliot/core/grid.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/core/outcome.hpp>

namespace foliot::inline adapters {

/// A callback that repeats with a fixed period. Belongs to the thread of its loop; neither copied nor moved.
class FOLIOT_EXPORT loop_ticker final : public detail::loop_callback {
 public:
  /// Ticks every `period`, for the first time one period from now. The function takes nothing or a `const firing&`; up
  /// to 24 bytes of captures need no allocation. Throws std::invalid_argument for a period that is not positive or a
  /// null function, and std::bad_alloc; nothing is pending then.
  template <timer_function Function>
  loop_ticker(loop_timers& timers, duration period, Function&& function)
      : loop_callback(timers, detail::to_callback(std::forward<Function>(function))) {
    reset(period);
  }
  loop_ticker(const loop_ticker&) = delete;
  loop_ticker& operator=(const loop_ticker&) = delete;
  /// Stops the ticker. Allowed in its own callback.
  ~loop_ticker() = default;

  /// Begins a new grid: the next tick is due one `period` from now. Returns the ticker's state before, never `closed`;
  /// in its own callback `superseded`, since the next tick is pending. Throws std::invalid_argument for a period that
  /// is not positive, and std::bad_alloc; the ticker is then as it was. O(1).
  reset_result reset(duration period) { return begin(timers().deadline_after_now(checked(period)), period); }
  /// The same with an instant at which the grid begins: the first tick is due at `first`, or, if that has passed, at
  /// the next instant of the grid; the earlier ones do not count as skipped.
  reset_result reset_at(instant first, duration period) {
    return begin(next_on_grid(first, checked(period), timers().now()), period);
  }

  /// Stops the ticker and returns its state before, in its own callback `stopped`; the callback stays for the next
  /// reset. O(1).
  stop_result stop() noexcept { return end_start(); }

  /// How many ticks the ticker has skipped since it was made.
  [[nodiscard]] std::uint64_t skipped() const noexcept { return skipped_; }

 private:
  reset_result begin(instant next, duration period) {
    const reset_result before = start_at(next);
    period_ = period;
    return before;
  }
  static duration checked(duration period) {
    if (period <= duration::zero()) [[unlikely]] {
      throw std::invalid_argument("foliot: a ticker's period must be positive, got " + std::to_string(period.count()) +
                                  " ns");
    }
    return period;
  }

  void fire() override {
    firing tick{deadline(), timers().now_of_turn()};
    const std::int64_t passed = tick.lateness() / period_;
    tick.skipped = static_cast<std::uint64_t>(passed);
    skipped_ += tick.skipped;
    bool memory = true;
    try {
      start_at(tick.deadline + period_ * passed + period_);
    } catch (const std::bad_alloc&) {
      memory = false;
    }
    call(tick);  // from here on the ticker may not exist any more
    if (!memory) throw std::bad_alloc();
  }

  duration period_;
  std::uint64_t skipped_ = 0;
};

}  // namespace foliot::inline adapters
