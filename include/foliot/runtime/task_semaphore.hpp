// A counting semaphore for tasks: limits how many of them do something at once.
//
//   task_semaphore slots(8);
//   …
//   co_await slots.acquire();
//   const task_permit held(slots);   // releases it, also if the task is stopped or fails
//
// The task that has waited longest acquires next. acquire() may be a case of a select.
//
// Thread safety: only a task may await acquire(); any thread may call the others. Complexity: O(1); release() is
// O(tasks that continue). Lifetime: the semaphore must outlive the tasks that wait for it; otherwise as task_mutex.
#pragma once

#include <cstddef>
#include <utility>

#include <foliot/core/sync/mutex.hpp>
#include <foliot/runtime/detail/operation.hpp>
#include <foliot/runtime/detail/wait_queue.hpp>
#include <foliot/runtime/wait_kind.hpp>

namespace foliot::runtime {

namespace detail {
class acquire_operation;
}  // namespace detail

/// A first-come, first-served counting semaphore. Neither copied nor moved.
class task_semaphore {
 public:
  /// `available` acquires succeed before the first release.
  explicit task_semaphore(std::size_t available) noexcept : available_(available) {}
  task_semaphore(const task_semaphore&) = delete;
  task_semaphore& operator=(const task_semaphore&) = delete;

  /// Await the result, or make it a case of a select: it waits until one is available, and takes it. Throws `cancelled`
  /// in a task that is asked to stop, if it has to wait or is the last step of the task's turn (task.hpp); then nothing
  /// was acquired.
  template <class Operation = detail::acquire_operation>  // a parameter, because the type is incomplete here
  [[nodiscard("co_await it")]] detail::operation_awaiter<Operation> acquire() noexcept {
    return detail::operation_awaiter<Operation>(*this);
  }
  /// Takes one if there is one; otherwise returns false. Does not wait.
  [[nodiscard]] bool try_acquire() noexcept {
    const lock held(guard_);
    if (available_ == 0) return false;
    --available_;
    return true;
  }
  /// Makes `more` available, whether they were acquired before or not. O(tasks that continue).
  void release(std::size_t more = 1) noexcept {
    const lock held(guard_);
    for (; more > 0; --more) {
      detail::queued_wait* const first = waiters_.claim_first();
      if (first == nullptr) break;
      waiters_.finish(*first);
    }
    available_ += more;
  }
  /// How many are available. Other threads may change that at any time.
  [[nodiscard]] std::size_t available() const noexcept {
    const lock held(guard_);
    return available_;
  }

 private:
  friend class detail::acquire_operation;

  void begin(detail::queued_wait& one, detail::wait_point& wait, detail::wait_word::source by) noexcept {
    const lock held(guard_);
    if (available_ == 0) {
      waiters_.link(one, wait, by);
    } else if (wait.claim(by)) {
      --available_;
    }
  }
  void end(detail::queued_wait& one) noexcept {
    const lock held(guard_);
    waiters_.unlink(one);
  }

  mutable mutex guard_{lock_rank::object};
  std::size_t available_ FOLIOT_GUARDED_BY(guard_);
  detail::wait_queue waiters_ FOLIOT_GUARDED_BY(guard_);
};

/// What a task has acquired of a semaphore, which the destructor releases. Make it right behind the acquire, with no
/// wait between.
class task_permit {
 public:
  /// Precondition: one was acquired. The semaphore must outlive this.
  explicit task_permit(task_semaphore& acquired_from) noexcept : semaphore_(&acquired_from) {}
  /// The other one releases nothing.
  task_permit(task_permit&& other) noexcept : semaphore_(std::exchange(other.semaphore_, nullptr)) {}
  /// Releases what this one had.
  task_permit& operator=(task_permit&& other) noexcept {
    task_permit(std::move(other)).swap(*this);
    return *this;
  }
  ~task_permit() {
    if (semaphore_ != nullptr) semaphore_->release();
  }

 private:
  void swap(task_permit& other) noexcept { std::swap(semaphore_, other.semaphore_); }

  task_semaphore* semaphore_;
};

namespace detail {

/// An operation, see operation.hpp: waits until one is available.
class acquire_operation : private queued_wait {
 public:
  explicit acquire_operation(task_semaphore& semaphore) noexcept : semaphore_(&semaphore) {}
  acquire_operation(acquire_operation&&) noexcept = default;
  ~acquire_operation() { end(); }

  [[nodiscard]] static constexpr wait_kind kind() noexcept { return wait_kind::semaphore; }
  [[nodiscard]] bool try_complete() noexcept { return semaphore_->try_acquire(); }
  void begin(wait_point& wait, wait_word::source by) noexcept {
    waited_ = true;
    semaphore_->begin(*this, wait, by);
  }
  void end() noexcept {
    if (!is_over()) semaphore_->end(*this);
  }
  // Takes the lock once more, so that release() has left the semaphore: the task may destroy it now.
  void result() noexcept {
    if (std::exchange(waited_, false)) static_cast<void>(semaphore_->available());
  }

 private:
  task_semaphore* semaphore_;
  bool waited_ = false;
};

}  // namespace detail

}  // namespace foliot::runtime
