// A mutex for tasks: who waits for it leaves its processor to others, and it may be held across a co_await.
//
//   task_mutex guard;
//   …
//   auto held = co_await guard.lock();
//   balance += co_await price(item);
//                                              // unlocked by the destructor of `held`, or by held.unlock()
//
// First come, first served: it is handed to whoever has waited longest. Not recursive. lock() is also a case of a
// select; it throws `cancelled` in a task that is to stop, where it has to wait or the task's turn ends (task.hpp).
//
// Threads: lock() in a task; try_lock and unlock anywhere, also in another thread than it was locked in. O(1).
// The mutex outlives who locks it. A task that still holds it, or has just got it, when the run ends unlocks it as it
// is destroyed: join such tasks, or let the mutex outlive the run. One that waits for a mutex that goes waits for ever.
#pragma once

#include <utility>

#include <foliot/core/contract.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/runtime/detail/operation.hpp>
#include <foliot/runtime/detail/wait_queue.hpp>

namespace foliot::runtime {

class task_condition;
class task_mutex;

namespace detail {
class lock_operation;
class relock_awaiter;
class condition_awaiter;
}  // namespace detail

/// Holds a mutex, or none. Move-only.
class [[nodiscard("the mutex is unlocked when this is destroyed")]] task_lock {
 public:
  task_lock() noexcept = default;
  task_lock(task_lock&& other) noexcept : held_(std::exchange(other.held_, nullptr)) {}
  task_lock& operator=(task_lock&& other) noexcept {
    if (this != &other) {
      unlock();
      held_ = std::exchange(other.held_, nullptr);
    }
    return *this;
  }
  ~task_lock() { unlock(); }

  /// Whether it holds one.
  [[nodiscard]] explicit operator bool() const noexcept { return held_ != nullptr; }
  [[nodiscard]] bool holds(const task_mutex& which) const noexcept { return held_ == &which; }
  /// Now, if it holds one.
  inline void unlock() noexcept;

 private:
  friend class task_condition;
  friend class task_mutex;
  friend class detail::lock_operation;
  explicit task_lock(task_mutex& held) noexcept : held_(&held) {}

  task_mutex* held_ = nullptr;
};

namespace detail {

/// One that waits for a mutex, or for a condition and then for its mutex.
struct lock_wait : queued_wait {
  bool owns = false;
  bool notified = false;
};

}  // namespace detail

class task_mutex {
 public:
  task_mutex() noexcept = default;
  task_mutex(const task_mutex&) = delete;
  task_mutex& operator=(const task_mutex&) = delete;

  /// co_await it: a task_lock.
  template <class Operation = detail::lock_operation>  // which is complete by then
  [[nodiscard("co_await it")]] detail::operation_awaiter<Operation> lock() noexcept {
    return detail::operation_awaiter<Operation>(*this);
  }
  /// Holds nothing if another one has it.
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
  /// The one that holds it does so no more.
  void hand_on() noexcept FOLIOT_REQUIRES(guard_) {
    FOLIOT_ASSERT(locked_, "a mutex is unlocked by who holds it");
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

class lock_operation : private lock_wait {
 public:
  explicit lock_operation(task_mutex& mutex) noexcept : mutex_(&mutex) {}
  lock_operation(lock_operation&&) = delete;
  ~lock_operation() {
    end();
    if (owns) mutex_->release();  // it got it, and will not go on
  }

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
