// Timers that call a function on the runtime's processors.
//
//   auto idle = foliot::runtime::after_func(30s, [&session] { session.close(); });
//   idle.reset(30s);                 // the session was used: 30 s from now
//   idle.stop();                     // the timer keeps the function for the next reset
//   co_await idle.stop_and_wait();   // the function does not run, and never will
//
// A worker calls the function between two tasks; while the worker is stuck in a task, the monitor's thread calls it.
// The function must not block, and should be short: work that waits belongs in a task (after_spawn). The function may
// start tasks, and may stop, reset or destroy any timer, its own included. Calls of one timer never overlap. Exceptions
// that the function throws go to run_options::on_failure.
//
// Thread safety: any thread, and the function itself, may call reset, stop and stop_and_wait, also concurrently.
// A handle that is moved or destroyed must not be used by another thread meanwhile. A handle may outlive its runtime,
// but no other thread may use it while the runtime ends. After that the function is no longer called, reset() returns
// `closed`, and stop() returns `idle`.
// Lifetime: the destructor of a handle stops the timer for good. When it returns, the function does not run and never
// will, and its captures have been destroyed. If another thread is running the function, the destructor blocks until
// the function returns. Inside the function itself the destructor does not block, and the captures are destroyed when
// the function returns. Two functions must not destroy each other's timers: they would deadlock.
// Time: a delay of zero or less means now; a deadline past the end of time means never.
// Cost: one record when the timer is made, with room for a small closure. A reset allocates nothing unless the
// processor's timers have to grow, and a reset that postpones a pending timer takes no lock.
#pragma once

#include <foliot/core/language.hpp>

#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include <foliot/runtime/detail/callback_record.hpp>
#include <foliot/runtime/detail/stop_and_wait.hpp>
#include <foliot/runtime/runtime_deadline.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/task.hpp>

namespace foliot::runtime {

/// A handle to a timer that calls a function. Move-only. The timer lives as long as its handle.
class callback_timer {
 public:
  /// An empty handle: only assignment, destruction and stopping mean anything.
  callback_timer() noexcept = default;
  /// `other` is empty afterwards.
  callback_timer(callback_timer&& other) noexcept : record_(std::exchange(other.record_, nullptr)) {}
  /// Ends this handle's timer as the destructor does, then takes over the timer of `other`.
  callback_timer& operator=(callback_timer&& other) noexcept {
    if (this != &other) {
      drop();
      record_ = std::exchange(other.record_, nullptr);
    }
    return *this;
  }
  /// Stops the timer for good: see the file head.
  ~callback_timer() { drop(); }

  /// An idle timer of the caller's runtime: reset() starts it. Throws std::logic_error outside of a runtime,
  /// std::invalid_argument for a null function, std::bad_alloc.
  template <class Function>
    requires std::is_invocable_r_v<void, std::decay_t<Function>&>
  explicit callback_timer(Function&& function)
      : record_(new detail::callback_record(detail::this_scheduler("a timer"),
                                            detail::callback(std::forward<Function>(function)))) {}

  /// Whether the handle has a timer.
  [[nodiscard]] explicit operator bool() const noexcept { return record_ != nullptr; }

  /// Arms the timer to call the function `delay` from now, whether the timer is idle, pending or running; returns
  /// which it was. Returns `closed`, and starts nothing, after stop_and_wait() and after the end of the runtime. Throws
  /// std::logic_error on an empty handle, and std::bad_alloc: the timer is then as it was.
  reset_result reset(duration delay) { return checked().reset(delay); }
  /// The same for a deadline (runtime_deadline.hpp); one that has passed means now. Throws std::invalid_argument for a
  /// time point of another clock; the timer is then as it was.
  reset_result reset_at(runtime_deadline deadline) { return checked().reset(deadline); }

  /// Cancels the latest start if the function has not yet been called for it. Returns `stopped`: the function will not
  /// be called; `running`: it is running now; or `idle`: nothing was pending. Does not wait. A later reset starts the
  /// timer again.
  stop_result stop() noexcept { return record_ == nullptr ? stop_result::idle : record_->stop(); }

  /// Stops the timer for good. A task must await the result, which is that of stop(): the task continues once the
  /// function does not run and its captures have been destroyed. Every later reset returns `closed`. The wait does not
  /// end early if the task is asked to stop.
  [[nodiscard]] detail::stop_and_wait_awaiter<detail::callback_record> stop_and_wait() noexcept {
    return detail::stop_and_wait_awaiter<detail::callback_record>(record_);
  }

 private:
  template <class Function>
    requires std::is_invocable_r_v<void, std::decay_t<Function>&>
  friend callback_timer after_func(duration delay, Function&& function);

  [[nodiscard]] detail::callback_record& checked() const {
    if (record_ == nullptr)
      throw std::logic_error(
          "foliot: this callback_timer is empty (default-constructed or moved from): assign one that has a function "
          "first");
    return *record_;
  }
  void drop() noexcept {
    if (record_ != nullptr) std::exchange(record_, nullptr)->destroy();
  }

  detail::callback_record* record_ = nullptr;
};

/// Calls `function` once, `delay` from now, unless the handle ends before. Throws as callback_timer's constructor does.
template <class Function>
  requires std::is_invocable_r_v<void, std::decay_t<Function>&>
[[nodiscard("the timer ends with its handle")]] callback_timer after_func(duration delay, Function&& function) {
  callback_timer made(std::forward<Function>(function));
  made.record_->start(delay);
  return made;
}

namespace detail {
template <class Function>
task<> call_and_await(std::shared_ptr<Function> function) {
  auto body = (*function)();
  co_await detail::inner(body);
}
}  // namespace detail

/// Calls `function` once, `delay` from now, and spawns the task that it returns. Stopping the timer has no effect on a
/// task that has been spawned, which keeps the function alive. Exceptions of the task go to run_options::on_failure.
/// Throws as after_func() does.
template <class Function>
  requires requires(Function& function) { typename std::invoke_result_t<Function&>::promise_type; }
[[nodiscard("the timer ends with its handle")]] callback_timer after_spawn(duration delay, Function function) {
  return after_func(delay, [shared = std::make_shared<Function>(std::move(function))] {
    spawn(detail::call_and_await(shared), "after_spawn");
  });
}

}  // namespace foliot::runtime
