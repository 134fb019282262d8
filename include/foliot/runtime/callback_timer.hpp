// Timers that call a function, on the runtime's processors.
//
//   auto idle = foliot::runtime::after_func(30s, [&session] { session.close(); });
//   idle.reset(30s);                 // not yet: somebody spoke
//   idle.stop();                     // the function stays for the next reset
//   co_await idle.stop_and_wait();   // it does not run, and will not
//
// The function runs on a worker between two tasks, or in the monitor's thread while a worker is stuck in one: it must
// not block, and should be short. It may start tasks, and stop, reset or destroy any timer, its own too. What has to
// wait is a task: after_spawn. Calls of one timer never overlap. What it throws goes to run_options::on_failure.
//
// Thread safety: reset, stop and stop_and_wait from any thread, also at once, and from the function itself; moving and
// destroying a handle need it to oneself. A handle may outlive its runtime, but no other thread uses it while that
// ends. Afterwards the function is not called any more, a reset answers `closed`, and a stop `idle`.
// Destroying a handle stops it for good: on return the function does not run and will not, and what it captured is
// gone. If it runs in another thread just now the destructor waits for that; inside the function itself it does not,
// and the captures go when the function returns. Two functions that destroy each other's timers deadlock.
// Time: zero or less means now; past the end of time, never. Cost: one record when it is made, which a small closure
// fits in; a reset allocates nothing, and one that postpones a pending timer takes no lock.
#pragma once

#include <foliot/core/language.hpp>

#include <coroutine>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include <foliot/runtime/detail/callback_record.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/task.hpp>

namespace foliot::runtime {

namespace detail {

class stop_and_wait_awaiter : public task_awaiter {
 public:
  explicit stop_and_wait_awaiter(callback_record* record) noexcept : record_(record) {}
  ~stop_and_wait_awaiter() { end(); }
  stop_and_wait_awaiter(const stop_and_wait_awaiter&) = delete;
  stop_and_wait_awaiter& operator=(const stop_and_wait_awaiter&) = delete;

  [[nodiscard]] bool await_ready() const noexcept { return record_ == nullptr; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> who) noexcept {
    wait_.begin(who);
    const callback_record::closing closing = record_->close(watcher_, wait_);
    result_ = closing.result;
    if (closing.state == callback_record::close_result::waits) {
      watches_ = true;
    } else {
      wait_.claim(0);
    }
    return wait_.park(wait_point::interrupts::deferred);  // a callback is short, and the answer is certain
  }
  stop_result await_resume() noexcept {
    end();
    return result_;
  }

 private:
  void end() noexcept {
    if (std::exchange(watches_, false)) record_->end_watch(watcher_);
  }

  callback_record* record_;
  callback_record::watcher watcher_;
  wait_point wait_;
  stop_result result_ = stop_result::idle;
  bool watches_ = false;
};

}  // namespace detail

class callback_timer {
 public:
  /// Empty: only assignment, destruction and stopping mean anything.
  callback_timer() noexcept = default;
  callback_timer(callback_timer&& other) noexcept : record_(std::exchange(other.record_, nullptr)) {}
  callback_timer& operator=(callback_timer&& other) noexcept {
    if (this != &other) {
      drop();
      record_ = std::exchange(other.record_, nullptr);
    }
    return *this;
  }
  ~callback_timer() { drop(); }

  /// An idle timer of the caller's runtime: reset starts it. Throws std::logic_error outside of a runtime,
  /// std::invalid_argument for a null function, std::bad_alloc.
  template <class Function>
    requires std::is_invocable_r_v<void, std::decay_t<Function>&>
  explicit callback_timer(Function&& function)
      : record_(new detail::callback_record(detail::this_scheduler("a timer"),
                                            detail::callback(std::forward<Function>(function)))) {}

  [[nodiscard]] explicit operator bool() const noexcept { return record_ != nullptr; }

  /// Has the function called `delay` from now, or at that instant of the runtime's clock, instead of when it was to be
  /// called; and says what became of that: `closed` after stop_and_wait, and after the end of the runtime. Throws
  /// std::logic_error on an empty handle, std::bad_alloc: it is then as it was.
  reset_result reset(duration delay) { return checked().reset(delay); }
  reset_result reset_at(instant deadline) { return checked().reset(deadline); }
  /// The same under the name that reads better the first time.
  reset_result start(duration delay) { return reset(delay); }
  reset_result start_at(instant deadline) { return reset_at(deadline); }

  /// Takes the latest start back, if the function has not been called for it, and says what became of it. Does not
  /// wait; a later reset starts the timer again.
  stop_result stop() noexcept { return record_ == nullptr ? stop_result::idle : record_->stop(); }

  /// co_await it: stops the timer for good, and waits until the function does not run; then what it captured is gone,
  /// and every reset answers `closed`. Goes on waiting when the task is asked to stop. In a task only.
  [[nodiscard]] detail::stop_and_wait_awaiter stop_and_wait() noexcept {
    return detail::stop_and_wait_awaiter(record_);
  }

 private:
  template <class Function>
    requires std::is_invocable_r_v<void, std::decay_t<Function>&>
  friend callback_timer after_func(duration delay, Function&& function);

  [[nodiscard]] detail::callback_record& checked() const {
    if (record_ == nullptr) throw std::logic_error("foliot: reset called on an empty timer");
    return *record_;
  }
  void drop() noexcept {
    if (record_ != nullptr) std::exchange(record_, nullptr)->destroy();
  }

  detail::callback_record* record_ = nullptr;
};

/// Has the function called once, `delay` from now, as long as the handle lives. Throws as callback_timer's constructor.
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
  co_await body;
}
}  // namespace detail

/// The same, where the function returns a task, which is then spawned. Stopping ends with that: a task that has been
/// spawned goes on, and keeps the function. What it throws goes to run_options::on_failure.
template <class Function>
  requires requires(Function& function) { typename std::invoke_result_t<Function&>::promise_type; }
[[nodiscard("the timer ends with its handle")]] callback_timer after_spawn(duration delay, Function function) {
  return after_func(delay, [shared = std::make_shared<Function>(std::move(function))] {
    spawn(detail::call_and_await(shared), "after_spawn");
  });
}

}  // namespace foliot::runtime
