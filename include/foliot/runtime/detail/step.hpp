// One co_await of a task, as a step of its turn (turn_budget.hpp).
//
// The last step of a turn performs its operation like any other step. If the operation completes at once, the task is
// requeued at the back all the same; the result stays in the awaiter, and await_resume returns it in the next turn.
// Before the last step begins, the task looks for an interrupt (a stop, a timeout) and throws it as a wait would. No
// operation has begun then, so the throw loses no value and no lock.
//
// An awaiter whose wait can be interrupted has this function:
//   bool interrupt(frame& waiting) noexcept    ends the wait before it begins, so that await_resume throws. Returns
//                                              false, and does nothing, if this wait ignores interrupts.
//
// Thread safety: none; the worker that runs the task uses it.
#pragma once

#include <foliot/core/language.hpp>

#include <concepts>
#include <coroutine>
#include <type_traits>

#include <foliot/runtime/detail/foreign_awaiter.hpp>
#include <foliot/runtime/detail/frame.hpp>
#include <foliot/runtime/detail/task_state.hpp>
#include <foliot/runtime/detail/wait_point.hpp>
#include <foliot/runtime/detail/wait_reason_of.hpp>

namespace foliot::runtime::detail {

/// Holds the awaiter, or a reference to it: g++ 12 copies an awaiter that await_transform returns by reference.
template <class Awaiter>
class step {
 public:
  /// `make()` returns the awaiter.
  template <class Make>
  step(task_state& task, const Make& make) : awaiter_(make()), is_last_(task.turn.spend()) {
    task.waits_for.store(wait_reason_of(awaiter_), seam::relaxed);
  }
  step(const step&) = delete;
  step& operator=(const step&) = delete;

  [[nodiscard]] bool await_ready() { return !is_last_ && awaiter_.await_ready(); }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> who) {
    return is_last_ ? end_turn(who) : awaiter_.await_suspend(who);
  }
  decltype(auto) await_resume() { return awaiter_.await_resume(); }

 private:
  template <class Promise>
  [[gnu::noinline]] bool end_turn(std::coroutine_handle<Promise> who) {
    frame& self = who.promise();
    task_state& task = self.task();
    bool leaves = false;
    if constexpr (requires { awaiter_.interrupt(self); }) {
      leaves = task.wait().has_interrupt() && task.confirm_interrupt() && awaiter_.interrupt(self);
    }
    if (leaves) {
      task.turn.will_throw();
    } else if (!awaiter_.await_ready() && awaiter_.await_suspend(who)) {
      return true;  // another worker may run it already
    }
    task.on->next = &self;  // the worker sees that the budget is spent
    return true;
  }

  Awaiter awaiter_;
  bool is_last_;
};

/// The step for the awaiter that `make` returns, foliot's own or a foreign one.
template <class Make>
auto make_step(task_state& task, const Make& make) {
  using given = decltype(make());
  using awaiter = std::conditional_t<std::is_lvalue_reference_v<given>, given, std::remove_reference_t<given>>;
  using type = std::remove_cvref_t<given>;
  if constexpr (std::derived_from<type, task_awaiter>) {
    return step<awaiter>(task, make);
  } else {
    static_assert(
        has_ready_and_resume<type>,
        "foliot: a task awaits tasks, the operations of foliot/runtime, and awaiters: this has no await_ready() "
        "and await_resume(), and no operator co_await");
    static_assert(
        !has_ready_and_resume<type> || suspends_any<type>,
        "foliot: a task awaits foreign awaiters whose await_suspend takes a std::coroutine_handle<>; this one "
        "wants the handle of a certain coroutine");
    if constexpr (has_ready_and_resume<type> && suspends_any<type>) {
      return step<foreign_awaiter<awaiter>>(task, [&] { return foreign_awaiter<awaiter>(make); });
    } else {
      return std::suspend_never();  // refused above
    }
  }
}

/// A step that never waits, at the start of an operation that may complete at once many times in a row. It throws a
/// pending interrupt when it is the last step of a turn.
class checkpoint : public task_awaiter {
 public:
  checkpoint() noexcept {}
  bool await_ready() const noexcept { return true; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise>) const noexcept {
    return false;
  }
  bool interrupt(frame& who) noexcept {
    wait_.begin_interrupted(who);
    return true;
  }
  void await_resume() const {
    if (wait_.begun()) wait_.throw_if_interrupted();
  }

 private:
  wait_point wait_;
};

}  // namespace foliot::runtime::detail
