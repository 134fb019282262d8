// A mutex for tasks. A task that waits for it leaves its processor to others, and may hold it across a co_await.
//
//   task_mutex guard;
//   …
//   auto held = co_await guard.lock();
//   balance += co_await price(item);
//                                              // unlocked by the destructor of `held`, or by held.unlock()
//
// The task that has waited longest gets the mutex next. Not recursive. lock() may be a case of a select.
//
// Thread safety: only a task may await lock(); any thread may call try_lock() and unlock(), also another one than the
// thread that locked the mutex. Complexity: O(1).
// Lifetime: the mutex must outlive the tasks that hold it. When the run ends, a task that holds the mutex, or has just
// got it, unlocks it as it is destroyed: join such tasks, or let the mutex outlive the run. A task that waits for a
// mutex that is destroyed waits for ever.
#pragma once

#include <utility>

#include <foliot/core/contract.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/runtime/detail/operation.hpp>
#include <foliot/runtime/detail/wait_queue.hpp>
#include <foliot/runtime/wait_kind.hpp>

namespace foliot::runtime {

class task_condition;
class task_mutex;

namespace detail {
class lock_operation;
class relock_awaiter;
class condition_awaiter;
}  // namespace detail

/// Holds a locked task_mutex, or none. Move-only. The destructor unlocks the mutex.
class [[nodiscard("the mutex is unlocked when this is destroyed")]] task_lock {
 public:
  /// Holds no mutex.
  task_lock() noexcept = default;
  /// `other` holds no mutex afterwards.
  task_lock(task_lock&& other) noexcept : held_(std::exchange(other.held_, nullptr)) {}
  /// Unlocks the mutex that this object holds, then takes over that of `other`.
  task_lock& operator=(task_lock&& other) noexcept {
    if (this != &other) {
      unlock();
      held_ = std::exchange(other.held_, nullptr);
    }
    return *this;
  }
  /// Unlocks the mutex if this object holds it.
  ~task_lock() { unlock(); }

  /// Whether it holds a mutex.
  [[nodiscard]] explicit operator bool() const noexcept { return held_ != nullptr; }
  /// Whether it holds that mutex.
  [[nodiscard]] bool holds(const task_mutex& which) const noexcept { return held_ == &which; }
  /// Unlocks the mutex now, if it holds one. Any thread.
  inline void unlock() noexcept;

 private:
  friend class task_condition;
  friend class task_mutex;
  friend class detail::lock_operation;
  explicit task_lock(task_mutex& held) noexcept : held_(&held) {}

  task_mutex* held_ = nullptr;
};

namespace detail {

/// A wait for a mutex, or for a condition and then for its mutex.
struct lock_wait : queued_wait {
  bool owns = false;
  bool notified = false;
};

}  // namespace detail

/// A first-come, first-served mutex. Neither copied nor moved.
class task_mutex {
 public:
  task_mutex() noexcept = default;
  task_mutex(const task_mutex&) = delete;
  task_mutex& operator=(const task_mutex&) = delete;

  /// Await the result, or make it a case of a select: it waits for the mutex, and gives a task_lock. Throws `cancelled`
  /// in a task that is asked to stop, if it has to wait or is the last step of the task's turn (task.hpp).
  template <class Operation = detail::lock_operation>  // a parameter, because the type is incomplete here
  [[nodiscard("co_await it")]] detail::operation_awaiter<Operation> lock() noexcept {
    return detail::operation_awaiter<Operation>(*this);
  }
  /// Locks the mutex if it is free; otherwise the task_lock holds nothing. Any thread.
  [[nodiscard]] task_lock try_lock() noexcept { return take() ? task_lock(*this) : task_lock(); }

 private:
  friend class task_condition;
  friend class task_lock;
  friend class detail::condition_awaiter;
  friend class detail::lock_operation;
  friend class detail::relock_awaiter;

  [[nodiscard]] bool take() noexcept {
    const foliot::lock held(guard_);
    return !std::exchange(locked_, true);
  }
  void begin(detail::lock_wait& one, detail::wait_point& wait, detail::wait_word::source by) noexcept {
    const foliot::lock held(guard_);
    if (locked_) {
      waiters_.link(one, wait, by);
    } else if (wait.claim(by)) {
      locked_ = true;
      one.owns = true;
    }
  }
  void end(detail::lock_wait& one) noexcept {
    const foliot::lock held(guard_);
    waiters_.unlink(one);
  }
  void release() noexcept {
    const foliot::lock held(guard_);
    hand_on();
  }
  /// Unlocks the mutex, or hands it to the task that has waited longest.
  void hand_on() noexcept FOLIOT_REQUIRES(guard_) {
    FOLIOT_ASSERT(locked_, "a task_mutex must be locked when it is unlocked");
    detail::queued_wait* const first = waiters_.claim_first();
    locked_ = first != nullptr;
    if (first != nullptr) give(*first);
  }
  void give(detail::queued_wait& claimed) noexcept FOLIOT_REQUIRES(guard_) {
    static_cast<detail::lock_wait&>(claimed).owns = true;
    waiters_.finish(claimed);
  }

  foliot::mutex guard_{lock_rank::object};
  bool locked_ FOLIOT_GUARDED_BY(guard_) = false;
  detail::wait_queue waiters_ FOLIOT_GUARDED_BY(guard_);
};

inline void task_lock::unlock() noexcept {
  if (task_mutex* const mine = std::exchange(held_, nullptr)) mine->release();
}

namespace detail {

/// An operation, see operation.hpp: waits for the mutex.
class lock_operation : private lock_wait {
 public:
  explicit lock_operation(task_mutex& mutex) noexcept : mutex_(&mutex) {}
  lock_operation(lock_operation&&) = delete;
  ~lock_operation() {
    end();
    if (owns) mutex_->release();  // the task is destroyed as the new holder
  }

  [[nodiscard]] static constexpr wait_kind kind() noexcept { return wait_kind::mutex; }
  [[nodiscard]] bool try_complete() noexcept { return owns = mutex_->take(); }
  void begin(wait_point& wait, wait_word::source by) noexcept { mutex_->begin(*this, wait, by); }
  void end() noexcept {
    if (!is_over()) mutex_->end(*this);
  }
  [[nodiscard]] task_lock result() noexcept {
    owns = false;
    return task_lock(*mutex_);
  }

 private:
  task_mutex* mutex_;
};

}  // namespace detail

}  // namespace foliot::runtime
