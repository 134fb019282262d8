// An operation: anything that a task may wait for, alone or as one case of a select. It has these functions:
//
//   bool try_complete()    completes the operation if it can complete now; result() is valid then
//   begin(wait, source)    after a failed try: from now on the completion of the operation claims the wait for that
//                          source, possibly at once, and the thread that claims leaves the result. If begin() returns
//                          a bool, false means that the wait was claimed but nothing was done: the caller must end the
//                          operation and begin it with a new wait
//   void end() noexcept    the wait is over: afterwards no other thread touches the operation. Also called for an
//                          operation that has completed or has not begun, and by its destructor
//   result()               after completion: the result, moved out, or a throw
//
// Optional functions:
//
//   try_complete_alone(), begin_alone(wait, source)
//                          instead of try_complete() and begin() in a task that waits for this operation alone
//   wait_kind kind()       what a task waits for, for reports; and `wait_kinds cases()`, those of its cases
//   bool may_complete()    a hint: false if try_complete() would fail. It may be wrong, since begin() looks again
//
// Thread safety: the waiting task calls these functions. Other threads complete the operation under a lock that end()
// takes as well.
#pragma once

#include <foliot/core/language.hpp>

#include <concepts>
#include <coroutine>
#include <utility>

#include <foliot/runtime/detail/wait_point.hpp>
#include <foliot/runtime/detail/wait_reason_of.hpp>
#include <foliot/runtime/wait_kind.hpp>

namespace foliot::runtime::detail {

/// An operation as described above.
template <class Operation>
concept operation = requires(Operation& op, wait_point& wait, wait_word::source by) {
  { op.try_complete() } -> std::same_as<bool>;
  op.begin(wait, by);
  { op.end() } noexcept;
  op.result();
};

/// Returns false if the wait was claimed but nothing was done.
template <operation Operation>
[[nodiscard]] bool begin_operation(Operation& op, wait_point& wait, wait_word::source by) {
  if constexpr (std::same_as<decltype(op.begin(wait, by)), bool>) {
    return op.begin(wait, by);
  } else {
    op.begin(wait, by);
    return true;
  }
}
/// Tries to complete an operation that the caller will otherwise begin.
template <operation Operation>
[[nodiscard]] bool try_before_begin(Operation& op) {
  if constexpr (requires { op.may_complete(); }) {
    if (!op.may_complete()) return false;
  }
  return op.try_complete();
}

/// Waits for one operation. Only an interrupt of the task ends the wait early.
template <operation Operation>
class operation_awaiter : public task_awaiter {
 public:
  template <class... Arguments>
  explicit operation_awaiter(Arguments&&... arguments) : operation_(std::forward<Arguments>(arguments)...) {}
  /// Precondition: `other` does not wait.
  operation_awaiter(operation_awaiter&& other) noexcept
    requires std::move_constructible<Operation>
      : operation_(std::move(other.operation_)) {}
  operation_awaiter& operator=(operation_awaiter&&) = delete;

  [[nodiscard]] wait_kind kind() const noexcept { return wait_kind_of(operation_); }
  [[nodiscard]] wait_kinds cases() const noexcept
    requires requires(const Operation& one) { one.cases(); }
  {
    return operation_.cases();
  }
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

  /// For a select, which waits for several operations.
  [[nodiscard]] Operation& get_operation() noexcept { return operation_; }

 private:
  Operation operation_;
  wait_point wait_;
  bool waited_ = false;
};

}  // namespace foliot::runtime::detail
