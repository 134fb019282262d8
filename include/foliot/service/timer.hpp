// A timer: runs a callback once, when its deadline has come.
//
//   foliot::timer idle{timers, 30min, [&session] { session.close(); }};
//   idle.reset(30min);        // the session was used: 30 minutes from now
//   idle.stop();              // the callback stays, for the next reset
//
// A callback that uses the handle of its own timer must find the timer there: make the timer idle, and then reset it.
// In `idle = timer{timers, 1s, [&] { idle.reset(1s); }}` it may fire before it is assigned.
//
// Thread safety: reset, reset_at, stop, stop_and_wait, pending and name from any thread, also at once, and from inside
// callbacks. No other thread may use the handle while it is moved, assigned, detached or destroyed. Callbacks of one
// shard of a service never overlap, unless it has an executor. Lifetime: see timer_handle.hpp. Locations: `here` is the
// source location of the call, which reports of callbacks show; callers leave it out. Time: durations are rounded up to
// nanoseconds; zero or less means now; past the end of time means never.
#pragma once

#include <source_location>
#include <utility>

#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/core/timer_deadline.hpp>
#include <foliot/service/detail/engine.hpp>
#include <foliot/service/firing.hpp>
#include <foliot/service/timer_handle.hpp>
#include <foliot/service/timer_service.hpp>

namespace foliot::inline service {

/// A callback that runs once for each start. A move-only handle.
class timer : public timer_handle {
 public:
  /// An empty handle, for assignment. `stop`, `stop_and_wait`, `pending` and `detach` may be called, and find nothing
  /// to do.
  timer() noexcept = default;

  /// Makes an idle timer, to be started later. The function takes nothing or a `const firing&`. Allocates the timer's
  /// record. Throws std::invalid_argument for a null function, std::bad_alloc.
  template <timer_function Function>
  [[nodiscard("the timer ends with its handle")]] timer(timer_service& service, Function&& function,
                                                        std::source_location here = std::source_location::current())
      : timer_handle(service.home().make(detail::to_callback(std::forward<Function>(function)), duration::zero())) {
    static_cast<void>(armed(here));
  }

  /// Makes a timer that fires `delay` from now. Throws as the constructor above and `reset` do; there is no timer then.
  template <timer_function Function>
  [[nodiscard("the timer ends with its handle")]] timer(timer_service& service, duration delay, Function&& function,
                                                        std::source_location here = std::source_location::current())
      : timer(service, std::forward<Function>(function), here) {
    reset(delay, here);
  }

  /// Makes a timer that fires when the service's clock shows `deadline`: an instant, or a time point of std::chrono
  /// where that is the service's clock. Throws as the constructor above and `reset_at` do; there is no timer then.
  template <timer_function Function>
  [[nodiscard("the timer ends with its handle")]] timer(timer_service& service, timer_deadline deadline,
                                                        Function&& function,
                                                        std::source_location here = std::source_location::current())
      : timer(service, std::forward<Function>(function), here) {
    reset_at(deadline, here);
  }

  /// Arms the timer to fire `delay` from now, whether it is idle, pending or running; the result says which. A timer
  /// that was closed by stop_and_wait or by the end of its service is not armed: the result is `closed`. Any thread.
  /// Costs what a start costs in the engine's queue; O(1) in `foliot`, which takes no lock where it postpones a pending
  /// timer, or starts one that was just stopped for no earlier than it is queued. Throws std::logic_error on an empty
  /// handle, std::bad_alloc, and std::system_error when the service's thread cannot be started or gets no file
  /// descriptor to sleep on; the timer is then as it was.
  reset_result reset(duration delay, std::source_location here = std::source_location::current()) {
    return reset(delay, duration::zero(), here);
  }
  /// The same, with some lateness allowed: the timer fires at the roundest instant from `delay` to `delay + slack` from
  /// now, so that timers share wake-ups. `firing::deadline` is that instant. A slack of zero or less means exact.
  reset_result reset(duration delay, duration slack, std::source_location here = std::source_location::current()) {
    detail::timer_record& r = armed(here);
    return r.owner().reset(r, delay, slack);
  }
  /// Arms the timer to fire when the service's clock shows `deadline`; one that has passed means now. Otherwise as
  /// `reset`. Throws std::invalid_argument for a time point of another clock (timer_deadline.hpp); the timer is then as
  /// it was.
  reset_result reset_at(timer_deadline deadline, std::source_location here = std::source_location::current()) {
    detail::timer_record& r = record();
    const instant due = deadline.on([&r]() -> const clock& { return r.owner().time(); });
    static_cast<void>(armed(here));
    return r.owner().reset(r, due);
  }

  /// Gives the handle up: a pending timer fires, unless the service ends first, and is freed then; an idle one is freed
  /// at once. The handle is empty afterwards.
  void detach() noexcept {
    if (detail::timer_record* record = std::exchange(record_, nullptr)) record->owner().detach(record);
  }

 private:
  friend class timer_ref;
};

/// Runs `function` once, `delay` from now. Keep the handle to stop or reset the timer; `after_func(…).detach()` lets it
/// run without one. Throws as timer's constructor does.
template <timer_function Function>
[[nodiscard]] timer after_func(timer_service& service, duration delay, Function&& function,
                               std::source_location here = std::source_location::current()) {
  return timer(service, delay, std::forward<Function>(function), here);
}

}  // namespace foliot::inline service
