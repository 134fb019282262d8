// A condition variable for tasks, used with a task_mutex.
//
//   task_mutex guard;
//   task_condition changed(guard);
//   …
//   auto held = co_await guard.lock();
//   while (queue.empty()) co_await changed.wait(held);     // unlocks the mutex meanwhile, and locks it again
//
// Always wait in a loop. The task that has waited longest is notified first. A notified task continues once it has
// locked the mutex again, for which it queues behind the tasks that already wait for the mutex. In a task that is asked
// to stop wait() throws `cancelled`; it has locked the mutex then too, and a notification that came meanwhile goes to
// the next task.
//
// Thread safety: only a task may wait; any thread may notify, with or without the mutex. Complexity: O(1); notify_all()
// is O(waiting tasks). Each wait allocates a coroutine's frame. Lifetime: the mutex must outlive the condition, and the
// condition the tasks that wait for it; otherwise as task_mutex.
#pragma once

#include <foliot/core/language.hpp>

#include <coroutine>
#include <exception>
#include <utility>

#include <foliot/core/contract.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/runtime/detail/wait_queue.hpp>
#include <foliot/runtime/task.hpp>
#include <foliot/runtime/task_mutex.hpp>
#include <foliot/runtime/wait_kind.hpp>

namespace foliot::runtime {

/// A condition that tasks wait for while a task_mutex guards it. Neither copied nor moved.
class task_condition {
 public:
  /// The condition belongs to this mutex, which must outlive it.
  explicit task_condition(task_mutex& guarded_by) noexcept : mutex_(guarded_by) {}
  task_condition(const task_condition&) = delete;
  task_condition& operator=(const task_condition&) = delete;

  /// A task must await the result: it unlocks the mutex, waits for a notification, and locks the mutex again. `held`
  /// must hold the condition's mutex. Throws `cancelled`, with the mutex locked, and std::bad_alloc.
  inline task<> wait(task_lock& held);

  /// Wakes the task that has waited longest, if any task waits. Any thread, with or without the mutex. O(1).
  void notify_one() noexcept {
    const lock held(mutex_.guard_);
    static_cast<void>(notify());
  }
  /// Wakes all waiting tasks. Any thread, with or without the mutex. O(waiting tasks).
  void notify_all() noexcept {
    const lock held(mutex_.guard_);
    while (notify()) {
    }
  }

 private:
  friend class detail::condition_awaiter;

  /// Returns false if no task waits.
  bool notify() noexcept FOLIOT_REQUIRES(mutex_.guard_) {
    detail::queued_wait* first = waiters_.first_but(nullptr);
    if (first == nullptr) return false;
    if (mutex_.locked_) {
      static_cast<detail::lock_wait*>(first)->notified = true;
      waiters_.move_to(mutex_.waiters_, *first);
      return true;
    }
    first = waiters_.claim_first();
    if (first == nullptr) return false;
    mutex_.locked_ = true;
    mutex_.give(*first);
    return true;
  }
  void begin(detail::lock_wait& one, detail::wait_point& wait) noexcept {
    const lock held(mutex_.guard_);
    waiters_.link(one, wait, 0);
    mutex_.hand_on();
  }
  void end(detail::lock_wait& one) noexcept {
    const lock held(mutex_.guard_);
    (one.notified ? mutex_.waiters_ : waiters_).unlink(one);
  }

  task_mutex& mutex_;
  detail::wait_queue waiters_ FOLIOT_GUARDED_BY(mutex_.guard_);
};

namespace detail {

/// The wait itself.
class condition_awaiter : public task_awaiter, private lock_wait {
 public:
  explicit condition_awaiter(task_condition& condition) noexcept : condition_(condition) {}
  condition_awaiter(condition_awaiter&&) = delete;
  ~condition_awaiter() {
    end();
    if (owns) condition_.mutex_.release();  // the task is destroyed as the new holder
  }

  [[nodiscard]] static constexpr wait_kind kind() noexcept { return wait_kind::condition; }
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> who) noexcept {
    wait_.begin(who);
    condition_.begin(*this, wait_);
    return wait_.park();
  }
  void await_resume() {
    end();
    wait_.throw_if_interrupted();
    owns = false;  // the caller's task_lock owns the mutex now
  }
  /// After the wait: whether the task was notified, even if an interrupt ended the wait first.
  [[nodiscard]] bool was_notified() const noexcept { return notified; }

 private:
  void end() noexcept {
    if (!is_over()) condition_.end(*this);
  }

  task_condition& condition_;
  wait_point wait_;
};

/// Locks the mutex again after an interrupted wait; does not end early.
class relock_awaiter : public task_awaiter, private lock_wait {
 public:
  explicit relock_awaiter(task_mutex& mutex) noexcept : mutex_(mutex) {}
  relock_awaiter(relock_awaiter&&) = delete;
  ~relock_awaiter() {
    if (!is_over()) mutex_.end(*this);
    if (owns) mutex_.release();
  }

  [[nodiscard]] static constexpr wait_kind kind() noexcept { return wait_kind::mutex; }
  bool await_ready() noexcept { return owns = mutex_.take(); }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> who) noexcept {
    wait_.begin(who);
    mutex_.begin(*this, wait_, 0);
    return wait_.park(wait_point::interrupts::deferred);
  }
  void await_resume() noexcept {
    if (!is_over()) mutex_.end(*this);
    owns = false;
  }

 private:
  task_mutex& mutex_;
  wait_point wait_;
};

}  // namespace detail

inline task<> task_condition::wait(task_lock& held) {
  FOLIOT_ASSERT(held.holds(mutex_), "task_condition::wait() needs a task_lock that holds the condition's mutex");
  held.held_ = nullptr;
  std::exception_ptr failure;
  bool passes_on = false;
  {
    detail::condition_awaiter waiting(*this);
    try {
      co_await detail::inner(waiting);
    } catch (...) {
      failure = std::current_exception();
      passes_on = waiting.was_notified();
    }
  }
  if (failure != nullptr) {
    detail::relock_awaiter again(mutex_);
    co_await detail::inner(again);
    if (passes_on) notify_one();
  }
  held.held_ = &mutex_;
  if (failure != nullptr) std::rethrow_exception(failure);
}

}  // namespace foliot::runtime
