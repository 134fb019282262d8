// What a task may wait for, alone or as one of the cases of a select: an operation.
//
//   bool try_complete()         completes now if it can; then the result is there
//   begin(wait, source)  after that has failed: claims the wait for that source when it completes, which may be at
//                        once; who claims has completed it, and has left the result. Where it returns a bool, false
//                        says that the wait was claimed, but to no avail: it is to be ended, and another begun
//   void end() noexcept  the wait is over: afterwards nobody touches the operation. Also of one that has completed, or
//                        whose wait has never begun, and called by its destructor
//   result()             of one that has completed: the result, moved out, or a throw
//   try_complete_alone(), begin_alone(wait, source)  if they are there: for a task that waits for nothing else, instead
//   of
//                        try_complete() and begin()
//   bool may_complete()  if it is there: false where try_complete() would be in vain, as begin() will be able to tell
//
// All are the waiting task's; what completes it comes from any thread, under a lock that end() takes as well.
#pragma once

#include <foliot/core/language.hpp>

#include <concepts>
#include <coroutine>
#include <utility>

#include <foliot/runtime/detail/wait_point.hpp>

namespace foliot::runtime::detail {

template <class Operation>
concept operation = requires(Operation& op, wait_point& wait, wait_word::source by) {
  { op.try_complete() } -> std::same_as<bool>;
  op.begin(wait, by);
  { op.end() } noexcept;
  op.result();
};

/// False: the wait is spent, to no avail.
template <operation Operation>
[[nodiscard]] bool begin_operation(Operation& op, wait_point& wait, wait_word::source by) {
  if constexpr (std::same_as<decltype(op.begin(wait, by)), bool>) {
    return op.begin(wait, by);
  } else {
    op.begin(wait, by);
    return true;
  }
}
/// try_complete(), for who will begin() otherwise.
template <operation Operation>
[[nodiscard]] bool try_before_begin(Operation& op) {
  if constexpr (requires { op.may_complete(); }) {
    if (!op.may_complete()) return false;
  }
  return op.try_complete();
}

/// Waits for one operation. Ends early only with the task's own interrupt.
template <operation Operation>
class operation_awaiter : public task_awaiter {
 public:
  template <class... Arguments>
  explicit operation_awaiter(Arguments&&... arguments) : operation_(std::forward<Arguments>(arguments)...) {}
  /// Of one that has not begun.
  operation_awaiter(operation_awaiter&& other) noexcept
    requires std::move_constructible<Operation>
      : operation_(std::move(other.operation_)) {}
  operation_awaiter& operator=(operation_awaiter&&) = delete;

  [[nodiscard]] bool await_ready() {
    waited_ = false;
    if constexpr (requires { operation_.try_complete_alone(); }) {
      return operation_.try_complete_alone();
    } else {
      return try_before_begin(operation_);
    }
  }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> who) {
    waited_ = true;
    wait_.begin(who);
    if constexpr (requires { operation_.begin_alone(wait_, wait_word::source{0}); }) {
      operation_.begin_alone(wait_, 0);
    } else {
      while (!begin_operation(operation_, wait_, 0)) {
        operation_.end();
        wait_.begin(who);
      }
    }
    return wait_.park();
  }
  bool interrupt(frame& who) noexcept {
    waited_ = true;
    wait_.begin_interrupted(who);
    return true;
  }
  decltype(auto) await_resume() {
    if (waited_) {
      operation_.end();
      wait_.throw_if_interrupted();
    }
    return operation_.result();
  }

  /// For a select, which waits for several.
  [[nodiscard]] Operation& get_operation() noexcept { return operation_; }

 private:
  Operation operation_;
  wait_point wait_;
  bool waited_ = false;
};

}  // namespace foliot::runtime::detail
