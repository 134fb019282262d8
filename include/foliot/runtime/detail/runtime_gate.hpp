// The way into a runtime for threads outside of it. The threads and their handles may outlive the runtime.
//
// A thread that enters is a guest until it leaves. Before the runtime destroys the tasks that have not ended, it closes
// the gate: from then on no thread enters, and the runtime waits until the guests have left. So a guest needs no
// lock to use the scheduler, and a task that it adds is in the list of living tasks when those are destroyed.
//
// A guest must not wait for a task, or for the end of the runtime. Threads that wait for the end of a call are no
// guests: they are listed here, and woken at the latest by the end of the runtime.
//
// Thread safety: all functions from any thread that has a reference; close() and release_calls() by the thread that
// runs the runtime. Lifetime: counted. The scheduler holds a reference, each handle another. Complexity: O(1);
// release_calls() is O(the number of calls).
#pragma once

#include <foliot/core/language.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <utility>

#include <foliot/core/export.h>
#include <foliot/core/instant.hpp>
#include <foliot/core/intrusive_list.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/core/sync/condition.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/core/sync/note.hpp>
#include <foliot/runtime/detail/intrusive_ptr.hpp>
#include <foliot/runtime/detail/reference_count.hpp>
#include <foliot/runtime/detail/runtime_life.hpp>

namespace foliot::runtime::detail {

class scheduler;
class runtime_gate;

/// A thread that waits for the end of a task: a variable of that thread.
class FOLIOT_EXPORT waiting_call {
 public:
  explicit waiting_call(runtime_gate& gate) noexcept;
  ~waiting_call();
  waiting_call(const waiting_call&) = delete;
  waiting_call& operator=(const waiting_call&) = delete;

  /// The task wakes it when it ends.
  [[nodiscard]] note& end_of_task() noexcept { return woken_; }
  /// Returns when the task has ended, or the gate has released the calls.
  void sleep() noexcept { woken_.sleep_until(instant::never()); }

 private:
  friend class runtime_gate;

  runtime_gate& gate_;
  note woken_;
  list_links<waiting_call> links_;  // under the lock of the gate
};

class FOLIOT_EXPORT runtime_gate {
 public:
  explicit runtime_gate(scheduler& owner) noexcept;
  runtime_gate(const runtime_gate&) = delete;
  runtime_gate& operator=(const runtime_gate&) = delete;

  void retain() noexcept { references_.retain(); }
  void release() noexcept {
    if (references_.release()) delete this;
  }

  /// Counts the handles, which are the references by which other threads can enter.
  // relaxed: a new handle publishes nothing.
  void add_handle() noexcept { handles_.fetch_add(1, seam::relaxed); }
  void drop_handle() noexcept;
  /// Whether there is a handle. If not, the caller sees all that was done by handles. The answer is final if the caller
  /// runs the tasks of the runtime: only they can make a handle without having one.
  // acquire: pairs with the release in drop_handle().
  [[nodiscard]] bool has_handles() const noexcept { return handles_.load(seam::acquire) != 0; }

  /// The presence of the calling thread in the runtime, from the constructor to the destructor.
  class guest;

  /// Whether the gate is closed, or the main task has ended.
  [[nodiscard]] bool is_ending() const noexcept;
  /// Whether the caller is a task of the runtime, or a callback of its timers.
  [[nodiscard]] bool runs_caller() const noexcept;
  /// Reports the failure of a task that will never be joined by run_options::on_failure, unless the runtime has ended.
  /// `was_stopped`: whether the task was asked to stop.
  void report(const char* name, const std::exception_ptr& failure, bool was_stopped) noexcept;

  // For the runtime.

  /// From now on no thread enters. Returns when all guests have left. A second call does nothing.
  void close() noexcept;
  /// Wakes the threads that wait for the end of a call, at once and also those that come later. Called after close().
  void release_calls() noexcept;

  // For a process that forks: see background_runtime.

  void lock_for_fork() noexcept { lock_.lock_beside_others(); }
  void unlock_after_fork() noexcept { lock_.unlock_beside_others(); }
  /// In the child of a fork, where the runtime's threads do not exist, and the caller is the only thread.
  void end_in_child() noexcept;

 private:
  friend class waiting_call;

  ~runtime_gate() = default;
  [[nodiscard]] scheduler* enter() noexcept;
  void leave() noexcept;
  void add(waiting_call& call) noexcept;
  void remove(waiting_call& call) noexcept;

  reference_count references_{1};
  // The number of handles. A handle lowers it with release, so that has_handles(), which reads zero with acquire, sees
  // the tasks that were spawned by the handle.
  seam::atomic<std::uint32_t> handles_{0};
  const runtime_ref life_;
  const bool is_on_virtual_time_;

  mutable mutex lock_{lock_rank::scheduler};
  condition guests_left_;
  scheduler* scheduler_ FOLIOT_GUARDED_BY(lock_);  // null once the gate is closed
  std::size_t guests_ FOLIOT_GUARDED_BY(lock_) = 0;
  bool calls_released_ FOLIOT_GUARDED_BY(lock_) = false;
  intrusive_list<waiting_call, &waiting_call::links_> calls_ FOLIOT_GUARDED_BY(lock_);
};

class runtime_gate::guest {
 public:
  explicit guest(runtime_gate& gate) noexcept : gate_(&gate), scheduler_(gate.enter()) {}
  ~guest() {
    if (scheduler_ != nullptr) gate_->leave();
  }
  guest(const guest&) = delete;
  guest& operator=(const guest&) = delete;

  /// Whether the thread is in: false if the gate is closed.
  [[nodiscard]] explicit operator bool() const noexcept { return scheduler_ != nullptr; }
  [[nodiscard]] scheduler& operator*() const noexcept { return *scheduler_; }
  [[nodiscard]] scheduler* operator->() const noexcept { return scheduler_; }

 private:
  runtime_gate* gate_;
  scheduler* scheduler_;
};

/// Whether a task that is launched now may still run: false once the main task has ended.
[[nodiscard]] FOLIOT_EXPORT bool takes_tasks(const scheduler& owner) noexcept;

/// Precondition: the runtime exists, as it does while it runs the caller.
[[nodiscard]] FOLIOT_EXPORT intrusive_ptr<runtime_gate> gate_of(const scheduler& which) noexcept;

/// Throw runtime_ended: the gate is closed; and the runtime ended before the task of a call.
[[noreturn]] FOLIOT_EXPORT void refuse_guest();
[[noreturn]] FOLIOT_EXPORT void fail_call();
/// Throws std::logic_error if the caller must not wait for a task of the gate's runtime, which runs the caller.
FOLIOT_EXPORT void check_may_wait(const runtime_gate& gate);
/// Throws std::logic_error: the runtime_handle is empty.
[[noreturn]] FOLIOT_EXPORT void refuse_empty_handle();

}  // namespace foliot::runtime::detail
