// A timer of an event loop: runs a callback once, when its time has come.
//
//   foliot::loop_timer idle{timers, [&] { session.close(); }};
//   idle.start(30s);
//   idle.reset(30s);        // somebody spoke
//   idle.stop();            // the callback stays for the next start
//
// From its own callback a timer may be started, stopped and destroyed; the callback's captures last until it
// returns. Durations are rounded up to nanoseconds; zero or less means now; past the end of time, never.
//
// Thread safety and lifetime: see loop_timers.hpp. Destroying a timer stops it.
#pragma once

#include <concepts>
#include <type_traits>
#include <utility>

#include <foliot/adapters/loop_timers.hpp>
#include <foliot/core/callable.hpp>
#include <foliot/core/duration.hpp>
#include <foliot/core/export.h>
#include <foliot/core/instant.hpp>

namespace foliot::inline adapters {

class FOLIOT_EXPORT loop_timer final : public loop_node {
 public:
  /// An idle timer. The function takes nothing; up to 24 bytes of captures need no allocation. Throws
  /// std::invalid_argument for a null function, std::bad_alloc.
  template <class Function>
    requires std::invocable<std::decay_t<Function>&>
  loop_timer(loop_timers& timers, Function&& function) : timers_(timers), callback_(std::forward<Function>(function)) {}
  loop_timer(const loop_timer&) = delete;
  loop_timer& operator=(const loop_timer&) = delete;
  ~loop_timer() {
    if (pending()) timers_.stop(*this);
    if (running_ != nullptr) running_->timer = nullptr;
  }

  /// Arms the timer, wherever it was; returns whether it was pending. Throws std::bad_alloc; the timer is then as
  /// it was.
  bool reset(duration delay) { return reset_at(deadline_after(timers_.now(), delay)); }
  bool reset_at(instant deadline) { return timers_.reset(*this, deadline); }
  /// The same under the name that reads better the first time.
  bool start(duration delay) { return reset(delay); }
  bool start_at(instant deadline) { return reset_at(deadline); }

  /// Takes the start back; returns whether there was one.
  bool stop() noexcept { return pending() && timers_.stop(*this); }

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
    loop_timer* timer;
    callable<void()> callback;
  };

  void fire() override {
    call now(*this);
    now.callback();
  }

  loop_timers& timers_;
  callable<void()> callback_;
  call* running_ = nullptr;
};

}  // namespace foliot::inline adapters
