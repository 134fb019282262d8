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

#include <concepts>
#include <type_traits>
#include <utility>

#include <foliot/adapters/loop_timers.hpp>
#include <foliot/core/callable.hpp>
#include <foliot/core/duration.hpp>
#include <foliot/core/export.h>
#include <foliot/core/instant.hpp>
#include <foliot/core/outcome.hpp>

namespace foliot::inline adapters {

/// A one-shot timer with a callback. Belongs to the thread of its loop; neither copied nor moved.
class FOLIOT_EXPORT loop_timer final : public loop_node {
 public:
  /// An idle timer; reset() starts it. The function takes no arguments; up to 24 bytes of captures need no allocation.
  /// Throws std::invalid_argument for a null function, and std::bad_alloc.
  template <class Function>
    requires std::invocable<std::decay_t<Function>&>
  loop_timer(loop_timers& timers, Function&& function) : timers_(timers), callback_(std::forward<Function>(function)) {}
  loop_timer(const loop_timer&) = delete;
  loop_timer& operator=(const loop_timer&) = delete;
  /// Stops the timer. Allowed in its own callback.
  ~loop_timer() {
    if (pending()) timers_.stop(*this);
    if (running_ != nullptr) running_->timer = nullptr;
  }

  /// Starts the timer, or gives a pending timer a new deadline, `delay` from now. Returns its state before, never
  /// `closed`. Throws std::bad_alloc with nothing changed. O(1).
  reset_result reset(duration delay) { return reset_at(deadline_after(timers_.now(), delay)); }
  /// As reset(), with the deadline itself; an instant that has passed means now.
  reset_result reset_at(instant deadline) {
    if (timers_.reset(*this, deadline)) return reset_result::superseded;
    return running_ != nullptr ? reset_result::running : reset_result::idle;
  }

  /// Stops the timer and returns its state before; the callback stays for the next reset. O(1).
  stop_result stop() noexcept {
    if (pending() && timers_.stop(*this)) return stop_result::stopped;
    return running_ != nullptr ? stop_result::running : stop_result::idle;
  }

 private:
  /// The callback while it runs: on the stack, because it may destroy the timer.
  struct call {
    explicit call(loop_timer& due) noexcept : timer(&due), callback(std::move(due.callback_)) { due.running_ = this; }
    call(const call&) = delete;
    call& operator=(const call&) = delete;
    ~call() {
      if (timer == nullptr) return;
      timer->callback_ = std::move(callback);
      timer->running_ = nullptr;
    }
    loop_timer* timer;  // null once the callback has destroyed it
    callable<void()> callback;
  };

  void fire() override {
    call now(*this);
    now.callback();
  }

  loop_timers& timers_;
  callable<void()> callback_;
  call* running_ = nullptr;  // null unless the callback is running
};

}  // namespace foliot::inline adapters
