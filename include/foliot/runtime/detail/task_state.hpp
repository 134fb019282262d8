// A task as the scheduler sees it (Go's G): what goes on when it is run, and the wait it is in.
//
// Thread safety: who runs the task owns its plain fields; a task is run by one worker at a time, and is handed from
// one to the next through a queue. Everything else says what it is.
// Lifetime: counted. The scheduler holds one reference until the task has ended, each handle another.
#pragma once

#include <foliot/core/language.hpp>

#include <cstdint>
#include <source_location>

#include <foliot/core/export.h>
#include <foliot/core/seam/sync.hpp>
#include <foliot/runtime/detail/reference_count.hpp>
#include <foliot/runtime/detail/turn_budget.hpp>
#include <foliot/runtime/detail/wait_word.hpp>

namespace foliot::runtime::detail {

class scheduler;
class task_state;
class cancel_scope;
class frame;

/// Where a task runs: what a worker offers to the coroutines that it resumes.
struct execution {
  /// Resumed as soon as the current coroutine has returned to the worker: a call, or a return, within the task.
  /// Constant stack, whatever the compiler makes of symmetric transfer.
  frame* next = nullptr;
  /// The task whose outermost coroutine has just ended.
  task_state* ended = nullptr;
  task_state* running = nullptr;
};

class FOLIOT_EXPORT task_state {
 public:
  task_state(scheduler& owner, const char* name) noexcept : owner_(owner), name_(name) {}
  task_state(const task_state&) = delete;
  task_state& operator=(const task_state&) = delete;

  [[nodiscard]] scheduler& owner() const noexcept { return owner_; }
  [[nodiscard]] wait_word& wait() noexcept { return wait_; }

  void retain() noexcept { references_.retain(); }
  void release() noexcept {
    if (references_.release()) delete this;
  }

  /// Asks the task to stop: the wait that it is in throws `cancelled`, or the next one. Any thread.
  void request_stop() noexcept;
  // acquire: pairs with the release in request_stop().
  [[nodiscard]] bool stop_requested() const noexcept { return stop_.load(seam::acquire); }
  /// Whether an interrupt has a reason; else it is forgotten. The task's.
  [[nodiscard]] bool must_leave_wait() noexcept;
  /// Throws that reason, if there is one. The task's.
  void throw_interrupt();

  // What follows is the property of whoever runs the task.

  execution* on = nullptr;
  frame* resume = nullptr;         // when it is run next: the innermost of those that wait
  cancel_scope* scopes = nullptr;  // the innermost that it is in
  std::source_location where;      // its latest co_await
  turn_budget turn;

  // The scheduler's.
  task_state* next_in_queue = nullptr;
  task_state* next_alive = nullptr;  // with the next three under the lock of the list
  task_state* previous_alive = nullptr;
  std::uint32_t alive_list = 0;
  bool is_main = false;

  [[nodiscard]] const char* name() const noexcept { return name_; }

  /// Its outermost coroutine has ended, or will never go on: takes the result, destroys the frame, tells who joins.
  virtual void finish(bool abandoned) noexcept = 0;

 protected:
  virtual ~task_state() = default;

 private:
  scheduler& owner_;
  const char* const name_;
  wait_word wait_;
  // Written by request_stop before the interrupt that tells of it; read by the task.
  seam::atomic<bool> stop_{false};
  reference_count references_{1};
};

/// Puts a task that has been claimed to run. Any thread; O(1).
FOLIOT_EXPORT void make_ready(task_state& task) noexcept;

}  // namespace foliot::runtime::detail
