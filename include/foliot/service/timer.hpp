// A timer: runs a callback once, when its time has come.
//
//   foliot::timer idle{timers, 30min, [&session] { session.close(); }};
//   idle.reset(30min);        // not yet: somebody spoke
//   idle.stop();              // the callback stays for the next reset
//
// Thread safety: start, stop, reset, stop_and_wait and pending from any thread, also at once, and from
// inside callbacks. Callbacks of one shard of a service never overlap. Lifetime: see timer_handle.
// Places: `here`, which nobody passes, is where the call is: for service_options::slow_callback.
// Time: durations are rounded up to nanoseconds; zero or less means now; past the end of time, never.
#pragma once

#include <source_location>
#include <utility>

#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/service/engine.hpp>
#include <foliot/service/firing.hpp>
#include <foliot/service/timer_handle.hpp>
#include <foliot/service/timer_service.hpp>

namespace foliot::inline service {

class timer : public timer_handle {
 public:
  /// Empty: only assignment, destruction, `stop` and `pending` mean anything.
  timer() noexcept = default;

  /// An idle timer: start it later. The function takes nothing or a `const firing&`. Throws
  /// std::invalid_argument if it is null, std::bad_alloc.
  template <timer_function Function>
  timer(timer_service& service, Function&& function, std::source_location here = std::source_location::current())
      : timer_handle(service.home().make(detail::to_callback(std::forward<Function>(function)), duration::zero())) {
    static_cast<void>(armed(here));
  }

  /// A timer that fires `delay` from now. Throws as the one above and `reset` do; then there is none.
  template <timer_function Function>
  timer(timer_service& service, duration delay, Function&& function,
        std::source_location here = std::source_location::current())
      : timer(service, std::forward<Function>(function), here) {
    reset(delay, here);
  }

  /// A timer that fires at `deadline` of the service's clock.
  template <timer_function Function>
  timer(timer_service& service, instant deadline, Function&& function,
        std::source_location here = std::source_location::current())
      : timer(service, std::forward<Function>(function), here) {
    reset_at(deadline, here);
  }

  /// Arms the timer to fire `delay` from now, whether it is idle, pending or running, and says which. In `foliot` it
  /// takes no lock where it postpones a timer that is pending, or starts one that was just stopped for no earlier than
  /// it was queued. The queue's cost; O(1) in `foliot`. Throws std::logic_error on
  /// an empty handle, std::bad_alloc, and std::system_error when the service's thread cannot be started, or has no file
  /// descriptor to sleep on: the timer is then as it was.
  reset_result reset(duration delay, std::source_location here = std::source_location::current()) {
    return reset(delay, duration::zero(), here);
  }
  /// The same, where some lateness does no harm: it fires within `slack` after that, at the roundest instant there
  /// is, so that timers share wake-ups. `firing::deadline` is that instant. No slack, or a negative one: exact.
  reset_result reset(duration delay, duration slack, std::source_location here = std::source_location::current()) {
    timer_record& r = armed(here);
    return r.owner().reset(r, delay, slack);
  }
  /// The same for a point in time: one that has passed means now.
  reset_result reset_at(instant deadline, std::source_location here = std::source_location::current()) {
    timer_record& r = armed(here);
    return r.owner().reset(r, deadline);
  }

  /// The same under the name that reads better the first time.
  reset_result start(duration delay, std::source_location here = std::source_location::current()) {
    return reset(delay, here);
  }
  reset_result start(duration delay, duration slack, std::source_location here = std::source_location::current()) {
    return reset(delay, slack, here);
  }
  reset_result start_at(instant deadline, std::source_location here = std::source_location::current()) {
    return reset_at(deadline, here);
  }

  /// Lets the timer run without a handle: it fires, unless the service ends first, and its memory comes
  /// back then. A timer that is not pending goes at once.
  void detach() noexcept {
    if (timer_record* record = std::exchange(record_, nullptr)) record->owner().detach(record);
  }
};

/// Runs `function` once, `delay` from now. The handle decides: keep it to stop or reset the timer, or
/// say `after_func(…).detach()` to let it go its way.
template <timer_function Function>
[[nodiscard]] timer after_func(timer_service& service, duration delay, Function&& function,
                               std::source_location here = std::source_location::current()) {
  return timer(service, delay, std::forward<Function>(function), here);
}

}  // namespace foliot::inline service
