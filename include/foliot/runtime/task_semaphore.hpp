// So many tasks at a time, and no more.
//
//   task_semaphore slots(8);
//   …
//   co_await slots.acquire();
//   …
//   slots.release();
//
// First come, first served. acquire() is also a case of a select; it throws `cancelled` in a task that is to stop,
// where it has to wait or the task's turn ends (task.hpp), and has acquired nothing then.
//
// Threads: acquire in a task; the others anywhere. O(1), release by the number of those who go on. It outlives who
// waits for it, as with task_mutex.
#pragma once

#include <cstddef>
#include <utility>

#include <foliot/core/sync/mutex.hpp>
#include <foliot/runtime/detail/operation.hpp>
#include <foliot/runtime/detail/wait_queue.hpp>

namespace foliot::runtime {

namespace detail {
class acquire_operation;
}  // namespace detail

class task_semaphore {
 public:
  explicit task_semaphore(std::size_t available) noexcept : available_(available) {}
  task_semaphore(const task_semaphore&) = delete;
  task_semaphore& operator=(const task_semaphore&) = delete;

  /// co_await it.
  template <class Operation = detail::acquire_operation>  // which is complete by then
  [[nodiscard("co_await it")]] detail::operation_awaiter<Operation> acquire() noexcept {
    return detail::operation_awaiter<Operation>(*this);
  }
  /// False: there is none.
  [[nodiscard]] bool try_acquire() noexcept {
    const lock held(guard_);
    if (available_ == 0) return false;
    --available_;
    return true;
  }
  /// There are so many more, whether they were acquired or not.
  void release(std::size_t more = 1) noexcept {
    const lock held(guard_);
    for (; more > 0; --more) {
      detail::queued_wait* const first = waiters_.claim_first();
      if (first == nullptr) break;
      waiters_.finish(*first);
    }
    available_ += more;
  }
  /// A moment's answer.
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

namespace detail {

class acquire_operation : private queued_wait {
 public:
  explicit acquire_operation(task_semaphore& semaphore) noexcept : semaphore_(&semaphore) {}
  acquire_operation(acquire_operation&&) noexcept = default;
  ~acquire_operation() { end(); }

  [[nodiscard]] bool try_complete() noexcept { return semaphore_->try_acquire(); }
  void begin(wait_point& wait, wait_word::source by) noexcept {
    waited_ = true;
    semaphore_->begin(*this, wait, by);
  }
  void end() noexcept {
    if (!is_over()) semaphore_->end(*this);
  }
  /// The semaphore may go now: the release() has left it.
  void result() noexcept {
    if (std::exchange(waited_, false)) static_cast<void>(semaphore_->available());
  }

 private:
  task_semaphore* semaphore_;
  bool waited_ = false;
};

}  // namespace detail

}  // namespace foliot::runtime
