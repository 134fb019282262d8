// The operations that wait at an object of tasks (a channel, a mutex), in the order of their arrival.
//
// The object has a lock, which the caller of every function but is_over() must hold. A waiting operation is a
// queued_wait. link() queues it. The thread that completes it calls claim(), leaves the result in it, and calls
// finish(). Otherwise the operation's own end() calls unlink(). A claim that comes too late, because something else has
// ended the wait, unlinks it as well.
//
// Claimed tasks are made ready under the lock. A thread that is no worker of the task's runtime makes the task ready
// before it marks the operation as over: the runtime may end meanwhile and destroy its waiting tasks, and the
// operation's end() then waits for the lock. A worker cannot be overtaken in this way. It marks the operation as over
// first, because the task may then destroy the object.
#pragma once

#include <foliot/core/contract.hpp>
#include <foliot/core/intrusive_list.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/runtime/detail/scheduler_calls.hpp>
#include <foliot/runtime/detail/wait_point.hpp>

namespace foliot::runtime::detail {

/// One wait in one queue. May be moved only while it is over.
class queued_wait {
 public:
  queued_wait() noexcept = default;
  queued_wait([[maybe_unused]] queued_wait&& other) noexcept {
    FOLIOT_ASSERT(other.is_over(), "an operation must not be moved while it waits");
  }
  queued_wait& operator=(queued_wait&&) = delete;

  /// Whether the wait is finished or has not begun. If so, no other thread knows of it, and the object may be gone.
  // acquire: pairs with the release in finish(): the result is there.
  [[nodiscard]] bool is_over() const noexcept { return over_.load(seam::acquire); }

 protected:
  ~queued_wait() = default;

 private:
  friend class wait_queue;

  wait_point* wait_ = nullptr;
  list_links<queued_wait> links_;
  wait_word::source by_ = 0;
  bool parked_ = false;  // between claim() and finish(): the task must be made ready
  // Written under the object's lock; the waiting task reads it without the lock.
  seam::atomic<bool> over_{true};
};

/// The queue. Guarded by the lock of the object.
class wait_queue {
 public:
  wait_queue() noexcept = default;
  wait_queue(const wait_queue&) = delete;
  wait_queue& operator=(const wait_queue&) = delete;
  /// The waiting tasks wait for ever, and will not touch the object any more.
  ~wait_queue() {
    while (queued_wait* const first = waits_.front()) unlink(*first);
  }

  /// Whether no operation waits, or will touch the object when its wait ends.
  [[nodiscard]] bool empty() const noexcept { return waits_.empty(); }

  /// Queues a wait that has begun; it is claimed for the source `by`.
  void link(queued_wait& waiting, wait_point& wait, wait_word::source by) noexcept {
    waiting.wait_ = &wait;
    waiting.by_ = by;
    waiting.over_.store(false, seam::relaxed);  // published by the lock
    waits_.push_back(waiting);
  }
  /// Afterwards no other thread touches the wait. Does nothing if it is over.
  void unlink(queued_wait& waiting) noexcept {
    if (waiting.is_over()) return;
    waits_.erase(waiting);
    waiting.over_.store(true, seam::release);  // pairs with is_over()
  }

  /// The first wait that is not part of `own`, or null.
  [[nodiscard]] queued_wait* first_but(const wait_point* own) const noexcept {
    queued_wait* each = waits_.front();
    while (each != nullptr && each->wait_ == own) each = waits_.next(*each);
    return each;
  }
  /// Removes the wait from the queue. Returns true if that has ended it: the caller must leave the result, and finish()
  /// it.
  [[nodiscard]] bool claim(queued_wait& waiting) noexcept {
    waits_.erase(waiting);
    const auto result = waiting.wait_->claim_only(waiting.by_);
    waiting.parked_ = result == wait_word::claim_result::to_resume;
    if (result != wait_word::claim_result::late) return true;
    waiting.over_.store(true, seam::release);  // pairs with is_over()
    return false;
  }
  /// Lets the task of a claimed wait continue. The wait may be destroyed at any time from then on.
  void finish(queued_wait& claimed) noexcept {
    task_state& task = claimed.wait_->task();
    const bool parked = claimed.parked_;
    const bool from_outside = parked && !is_worker_of(task.owner());
    if (from_outside) make_ready(task);
    claimed.over_.store(true, seam::release);  // pairs with is_over()
    if (parked && !from_outside) make_ready(task);
  }
  /// Claims the first wait that can be claimed and is not part of `own`; null if there is none.
  [[nodiscard]] queued_wait* claim_first(const wait_point* own = nullptr) noexcept {
    while (queued_wait* const first = first_but(own)) {
      if (claim(*first)) return first;
    }
    return nullptr;
  }

  /// Moves a wait to the end of another queue of the same object.
  void move_to(wait_queue& other, queued_wait& waiting) noexcept {
    waits_.erase(waiting);
    other.waits_.push_back(waiting);
  }

 private:
  intrusive_list<queued_wait, &queued_wait::links_> waits_;
};

}  // namespace foliot::runtime::detail
