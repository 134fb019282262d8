// What a task does about itself: yields, asks whether it is to stop, calls functions that block.
//
// Thread safety: only the calling task uses these.
#pragma once

#include <foliot/core/language.hpp>

#include <concepts>
#include <coroutine>
#include <exception>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

#include <foliot/runtime/cancelled.hpp>
#include <foliot/runtime/detail/blocking_call.hpp>
#include <foliot/runtime/detail/scheduler_calls.hpp>
#include <foliot/runtime/detail/wait_point.hpp>
#include <foliot/runtime/spawn.hpp>

namespace foliot::runtime {

namespace detail {

class yield_awaiter : public task_awaiter {
 public:
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> who) noexcept {
    task_ = &who.promise().task();
    if (task_->wait().has_interrupt() && task_->confirm_interrupt()) return false;
    task_->resume = &who.promise();
    make_ready_last(*task_);
    return true;
  }
  bool interrupt(frame& who) noexcept {
    task_ = &who.task();  // await_resume looks for the interrupt itself
    return true;
  }
  void await_resume() const {
    if (task_->wait().has_interrupt() && task_->confirm_interrupt()) task_->throw_interrupt();
  }

 private:
  task_state* task_ = nullptr;
};

class stop_requested_awaiter : public task_awaiter {
 public:
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> who) noexcept {
    requested_ = who.promise().task().stop_requested();
    return false;
  }
  bool await_resume() const noexcept { return requested_; }

 private:
  bool requested_ = false;
};

}  // namespace detail

/// Lets tasks that can run, and timers that are due, go first. A task must await the result; the wait throws
/// `cancelled` if the task is asked to stop.
[[nodiscard]] inline detail::yield_awaiter yield() noexcept { return detail::yield_awaiter(); }

/// Whether the calling task is asked to stop: `co_await stop_requested()`. Does not wait.
[[nodiscard]] inline detail::stop_requested_awaiter stop_requested() noexcept {
  return detail::stop_requested_awaiter();
}

/// Calls `function` on a thread that may block. A task must await the result: it waits until the function has returned,
/// and gives its result or throws what it threw. Nothing ends the wait early, neither a stop nor a timeout: the result
/// then comes late, as if in time (docs/cookbook.md, "A blocking call that takes too long"). When the main task has
/// ended, calls that have begun are waited for; the others are not made, and their functions are destroyed with their
/// tasks. On virtual time the function is called at once, and time stands still. The wait throws std::system_error or
/// std::bad_alloc if no thread can be had.
template <class Function>
[[nodiscard]] detail::blocking_call<std::decay_t<Function>> blocking(Function&& function) {
  return detail::blocking_call<std::decay_t<Function>>(std::forward<Function>(function));
}

/// Not for an operation: the line of the deleted function, which compilers show, says what to write.
template <std::derived_from<detail::task_awaiter> Waits>
task<> shielded(const Waits&) = delete;  // foliot: shielded() takes a task: write one that waits for this

/// Runs `body` to its end, even if the calling task is asked to stop or a timeout expires meanwhile: for work that must
/// be completed. `body` runs as a task of its own; the calling task waits for it, and gets its result or exception.
template <class Result>
task<Result> shielded(task<Result> body) {
  auto running = spawn(std::move(body), "shielded");
  co_return co_await detail::inner(running.join_without_cancellation());
}

}  // namespace foliot::runtime
