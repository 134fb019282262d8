// A timer of an event loop: runs a callback once, when its deadline has come.
//
//   foliot::loop_timer idle{timers, [&] { session.close(); }};
//   idle.reset(30s);
//   idle.reset(30s);        // the peer has sent something: not yet
//   idle.stop();            // the callback stays for the next reset
//
// A timer's callback may reset, stop and destroy its own timer; its captures live until it returns. Durations are
// rounded up to nanoseconds; zero or less means now, and a deadline past the end of time means never.
//
// Thread safety and lifetime: see loop_timers.hpp.
#pragma once

#include <utility>

#include <foliot/adapters/detail/loop_callback.hpp>
#include <foliot/adapters/loop_timers.hpp>
#include <foliot/core/duration.hpp>
#include <foliot/core/export.h>
#include <foliot/core/firing.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/core/outcome.hpp>

namespace foliot::inline adapters {

/// A one-shot timer with a callback. Belongs to the thread of its loop; neither copied nor moved.
class FOLIOT_EXPORT loop_timer final : public detail::loop_callback {
 public:
  /// An idle timer; reset() starts it. The function takes nothing or a `const firing&`; up to 24 bytes of captures need
  /// no allocation. Throws std::invalid_argument for a null function, and std::bad_alloc.
  template <timer_function Function>
  loop_timer(loop_timers& timers, Function&& function)
      : loop_callback(timers, detail::to_callback(std::forward<Function>(function))) {}
  loop_timer(const loop_timer&) = delete;
  loop_timer& operator=(const loop_timer&) = delete;
  /// Stops the timer. Allowed in its own callback.
  ~loop_timer() = default;

  /// Starts the timer, or gives a pending timer a new deadline, `delay` from now. Returns its state before, never
  /// `closed`. Throws std::bad_alloc with nothing changed. O(1).
  reset_result reset(duration delay) { return reset_at(timers().deadline_after_now(delay)); }
  /// As reset(), with the deadline itself; an instant that has passed means now.
  reset_result reset_at(instant deadline) { return start_at(deadline); }

  /// Stops the timer and returns its state before; the callback stays for the next reset. O(1).
  stop_result stop() noexcept { return end_start(); }

 private:
  void fire() override { call(firing{deadline(), timers().now_of_turn()}); }
};

}  // namespace foliot::inline adapters
