// A task as the scheduler sees it (Go's G): the frame that is resumed next, and the wait that it is in.
//
// Thread safety: one worker at a time runs the task, and owns its plain fields; a queue publishes them to the next
// worker. The functions name their threads. Lifetime: counted. The scheduler holds one reference until the task has
// ended, each handle another.
#pragma once

#include <foliot/core/language.hpp>

#include <cstdint>
#include <source_location>

#include <foliot/core/export.h>
#include <foliot/core/intrusive_list.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/runtime/detail/reference_count.hpp>
#include <foliot/runtime/detail/turn_budget.hpp>
#include <foliot/runtime/detail/wait_word.hpp>
#include <foliot/runtime/wait_kind.hpp>

namespace foliot::runtime::detail {

class scheduler;
class task_state;
class cancel_scope;
class frame;

/// What a worker offers to the coroutines that it resumes.
struct execution {
  /// The frame to resume when the current coroutine has returned to the worker: a call, or a return, within the task.
  /// So the stack stays constant, with and without symmetric transfer.
  frame* next = nullptr;
  /// The task whose outermost coroutine has just ended, or null.
  task_state* ended = nullptr;
  /// The task that runs, or null. Written by the worker; other threads read it for reports (task_report.hpp).
  seam::atomic<const task_state*> running{nullptr};
};

class FOLIOT_EXPORT task_state {
 public:
  task_state(scheduler& owner, const char* name) noexcept : owner_(owner), name_(name) {}
  task_state(const task_state&) = delete;
  task_state& operator=(const task_state&) = delete;

  [[nodiscard]] scheduler& owner() const noexcept { return owner_; }
  [[nodiscard]] wait_word& wait() noexcept { return wait_; }
  [[nodiscard]] const wait_word& wait() const noexcept { return wait_; }

  void retain() noexcept { references_.retain(); }
  void release() noexcept {
    if (references_.release()) delete this;
  }

  /// Asks the task to stop: the wait that it is in throws `cancelled`, or the next one. Any thread.
  void request_stop() noexcept;
  // acquire: pairs with the release in request_stop().
  [[nodiscard]] bool stop_requested() const noexcept { return stop_.load(seam::acquire); }
  /// Returns whether the pending interrupt has a reason: a stop, or a scope that has expired. Clears the interrupt if
  /// it has none. Called by the task.
  [[nodiscard]] bool confirm_interrupt() noexcept;
  /// Throws the reason of an interrupt, if there is one. Called by the task.
  void throw_interrupt();

  // The worker that runs the task owns these.

  execution* on = nullptr;
  frame* resume = nullptr;         // the innermost waiting frame, which is resumed next
  cancel_scope* scopes = nullptr;  // the innermost scope that the task is in
  turn_budget turn;

  // For reports, read by any thread, and so atomic. relaxed: they publish nothing.

  /// The latest co_await in the program's own code (task.hpp: inner_await). Written by the worker that runs the task.
  seam::atomic<std::source_location> where{std::source_location()};
  /// What its latest wait is for, also one inside of foliot. Written by the worker that runs the task.
  seam::atomic<wait_reason> waits_for{wait_reason()};
  /// If the runtime measures, in nanoseconds of its clock: when the task became ready, or else when its last turn
  /// began. Written by the thread that makes the task ready, and by the worker before it resumes the task.
  seam::atomic<std::int64_t> since{0};

  // The scheduler owns these.
  task_state* next_in_queue = nullptr;
  list_links<task_state> living_links;  // under the lock of the list (living_tasks)
  std::uint32_t living_list = 0;        // the number of that list
  bool is_main = false;

  [[nodiscard]] const char* name() const noexcept { return name_; }

  /// How a task ends: its outermost coroutine has returned, or will never go on.
  enum class ending : std::uint8_t { returned, abandoned };
  /// Takes the result if there is one, destroys the frame, and wakes the tasks and threads that join.
  virtual void finish(ending how) noexcept = 0;

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

/// Queues a task whose wait was claimed, so that a worker runs it. Any thread; O(1).
FOLIOT_EXPORT void make_ready(task_state& task) noexcept;

}  // namespace foliot::runtime::detail
