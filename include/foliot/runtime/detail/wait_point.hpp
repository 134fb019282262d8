// One wait of a task, as part of an awaiter.
//
//   bool await_suspend(std::coroutine_handle<Promise> h) {
//     wait_.begin(h);                        // takes a ticket
//     … register at the sources, under their locks …
//     return wait_.park();                   // true: the awaiter must not be touched any more
//   }
//   … await_resume() {
//     … unregister at the sources, under their locks …
//     wait_.throw_if_interrupted();
//   }
//
// A source calls claim() under its lock, which keeps the awaiter alive meanwhile. If await_resume has not unregistered,
// the awaiter's destructor must do it, since the end of a runtime destroys waiting tasks. An awaiter must be neither
// copied nor moved after its wait has begun. Thread safety: any thread may call claim() and claim_only(); the rest is
// the task's.
#pragma once

#include <foliot/core/language.hpp>

#include <coroutine>

#include <foliot/runtime/detail/frame.hpp>
#include <foliot/runtime/detail/task_state.hpp>

namespace foliot::runtime::detail {

/// One wait of a task. Members other than claim() and claim_only() are for the task itself.
class wait_point {
 public:
  using source = wait_word::source;
  using interrupts = wait_word::interrupts;

  wait_point() noexcept = default;
  wait_point(const wait_point&) = delete;
  wait_point& operator=(const wait_point&) = delete;

  /// Begins a wait of the task that runs `who`, its innermost coroutine.
  template <class Promise>
  void begin(std::coroutine_handle<Promise> who) noexcept {
    begin(who.promise());
  }
  void begin(frame& innermost) noexcept {
    task_ = &innermost.task();
    task_->resume = &innermost;
    ticket_ = task_->wait().begin();
  }

  /// Begins a wait and ends it at once, for the pending interrupt.
  void begin_interrupted(frame& innermost) noexcept {
    begin(innermost);
    task_->wait().leave();
  }

  /// Parks the task, after all sources know of the wait. Returns false if the wait is over already: the task continues
  /// at once. If interrupts are deferred, a pending one stays for the next wait.
  [[nodiscard]] bool park(interrupts how = interrupts::heeded) noexcept {
    for (;;) {
      switch (task_->wait().commit(how)) {
        case wait_word::commit_result::parked: return true;
        case wait_word::commit_result::over: return false;
        case wait_word::commit_result::interrupted: break;
      }
      if (task_->confirm_interrupt()) {
        task_->wait().leave();
        return false;
      }
    }
  }

  /// For a wait that does not park: ends it if an interrupt is pending, and returns whether it did.
  [[nodiscard]] bool leave_if_interrupted() noexcept {
    if (!task_->wait().has_interrupt() || !task_->confirm_interrupt()) return false;
    task_->wait().leave();
    return true;
  }

  /// Ends the wait for that source, and makes the task ready if it was parked. Returns false if something else has
  /// ended the wait: the source then keeps its result. Any thread.
  bool claim(source by) noexcept {
    task_state& task = *task_;
    const auto result = task.wait().claim(ticket_, by);
    if (result == wait_word::claim_result::to_resume) make_ready(task);
    return result != wait_word::claim_result::late;
  }
  /// The same, but on `to_resume` the caller must make the task ready itself, after it has unlocked its locks.
  [[nodiscard]] wait_word::claim_result claim_only(source by) const noexcept {
    return task_->wait().claim(ticket_, by);
  }

  [[nodiscard]] task_state& task() const noexcept { return *task_; }
  /// Whether a wait has ever begun.
  [[nodiscard]] bool begun() const noexcept { return task_ != nullptr; }

  /// After the wait: the source that ended it.
  [[nodiscard]] source ended_by() const noexcept { return task_->wait().winner(); }
  /// Whether that source has ended the wait. False while it has not ended.
  [[nodiscard]] bool was_ended_by(source which) const noexcept { return task_->wait().settled_by(which); }
  /// After the wait: whether an interrupt ended it.
  [[nodiscard]] bool was_interrupted() const noexcept { return ended_by() == wait_word::interrupted; }
  /// After the wait, and after the awaiter has unregistered: throws `cancelled`, or the exception of an expired scope,
  /// if an interrupt ended the wait.
  void throw_if_interrupted() const {
    if (was_interrupted()) task_->throw_interrupt();
  }

 private:
  task_state* task_ = nullptr;
  wait_word::ticket ticket_ = 0;
};

}  // namespace foliot::runtime::detail
