// What a task may wait for, alone or as one of the cases of a select: an operation.
//
//   bool ready()                     completes now if it can; then the result is there
//   void begin(wait_point&, source)  after that has failed: claims the wait for that source when it completes, which
//   may
//                                    be at once; who claims has completed it, and has left the result
//   void end() noexcept              the wait is over: afterwards nobody touches the operation. Also of one that has
//                                    completed, or whose wait has never begun, and called by its destructor
//   result()                         of one that has completed: the result, moved out, or a throw
//
// All are the waiting task's; what completes it comes from any thread, under a lock that end() takes as well.
#pragma once

#include <concepts>
#include <coroutine>
#include <utility>

#include <foliot/runtime/detail/wait_point.hpp>

namespace foliot::runtime::detail {

template <class Operation>
concept operation = requires(Operation& op, wait_point& wait, wait_word::source by) {
  { op.ready() } -> std::same_as<bool>;
  op.begin(wait, by);
  { op.end() } noexcept;
  op.result();
};

/// Waits for one operation. Ends early only with the task's own interrupt.
template <operation Operation>
class operation_awaiter {
 public:
  template <class... Arguments>
  explicit operation_awaiter(Arguments&&... arguments) : operation_(std::forward<Arguments>(arguments)...) {}
  operation_awaiter(const operation_awaiter&) = delete;
  operation_awaiter& operator=(const operation_awaiter&) = delete;

  [[nodiscard]] bool await_ready() { return operation_.ready(); }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> who) {
    wait_.begin(who);
    operation_.begin(wait_, 0);
    return wait_.park();
  }
  decltype(auto) await_resume() {
    if (wait_.begun()) {
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
};

}  // namespace foliot::runtime::detail
