// What an awaiter is made of: one wait of a task.
//
//   bool await_suspend(std::coroutine_handle<Promise> h) {
//     wait_.begin(h);                        // a ticket
//     … tell the sources, under their locks …
//     return wait_.park();                   // true: nothing of the awaiter may be touched any more
//   }
//   … await_resume() {
//     … tell the sources, under their locks, that nobody waits any more …
//     wait_.throw_if_interrupted();
//   }
//
// Sources call claim() under their lock, which is what keeps the awaiter alive meanwhile. The awaiter's destructor
// tells them as well, where await_resume has not: the end of a runtime destroys tasks where they wait. An awaiter is
// neither copied nor moved once its wait has begun.
#pragma once

#include <foliot/core/language.hpp>

#include <coroutine>

#include <foliot/runtime/detail/frame.hpp>
#include <foliot/runtime/detail/task_state.hpp>

namespace foliot::runtime::detail {

class wait_point {
 public:
  using source = wait_word::source;
  using interrupts = wait_word::interrupts;

  wait_point() noexcept = default;
  wait_point(const wait_point&) = delete;
  wait_point& operator=(const wait_point&) = delete;

  template <class Promise>
  void begin(std::coroutine_handle<Promise> who) noexcept {
    begin(who.promise());
  }
  void begin(frame& innermost) noexcept {
    task_ = &innermost.task();
    task_->resume = &innermost;
    ticket_ = task_->wait().begin();
  }

  /// A wait that is over before anything has begun: the interrupt that there is has ended it.
  void begin_interrupted(frame& innermost) noexcept {
    begin(innermost);
    task_->wait().leave();
  }

  /// Whether the task is parked. If not it goes on at once: the wait is over. One that heeds no interrupt leaves
  /// them for the next wait.
  [[nodiscard]] bool park(interrupts how = interrupts::heeded) noexcept {
    for (;;) {
      switch (task_->wait().commit(how)) {
        case wait_word::commit_result::parked: return true;
        case wait_word::commit_result::over: return false;
        case wait_word::commit_result::interrupted: break;
      }
      if (task_->must_leave_wait()) {
        task_->wait().leave();
        return false;
      }
    }
  }

  /// For a wait that will not park: whether an interrupt ends it.
  [[nodiscard]] bool leave_if_interrupted() noexcept {
    if (!task_->wait().has_interrupt() || !task_->must_leave_wait()) return false;
    task_->wait().leave();
    return true;
  }

  /// Ends the wait, unless something else has: then false, and the source keeps what it had to give. Any thread.
  bool claim(source by) noexcept {
    task_state& task = *task_;
    const auto result = task.wait().claim(ticket_, by);
    if (result == wait_word::claim_result::to_resume) make_ready(task);
    return result != wait_word::claim_result::late;
  }
  /// The same, but the caller makes the task ready where this says so, once it has let go of its locks.
  [[nodiscard]] wait_word::claim_result claim_only(source by) const noexcept {
    return task_->wait().claim(ticket_, by);
  }

  [[nodiscard]] task_state& task() const noexcept { return *task_; }
  [[nodiscard]] bool begun() const noexcept { return task_ != nullptr; }

  /// After the wait: what ended it.
  [[nodiscard]] source ended_by() const noexcept { return task_->wait().winner(); }
  /// Whether that source has ended it; false also while it has not ended.
  [[nodiscard]] bool was_ended_by(source which) const noexcept { return task_->wait().settled_by(which); }
  [[nodiscard]] bool was_interrupted() const noexcept { return ended_by() == wait_word::interrupted; }
  /// After the wait, and after the sources have been told: throws `cancelled`, or what ends a scope of the task.
  void throw_if_interrupted() const {
    if (was_interrupted()) task_->throw_interrupt();
  }

 private:
  task_state* task_ = nullptr;
  wait_word::ticket ticket_ = 0;
};

}  // namespace foliot::runtime::detail
