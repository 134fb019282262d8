// Who waits at an object that tasks wait for (a channel, a mutex), the one who came first in front.
//
// The object has a lock, and everything here happens under it, but for is_over(). An operation that waits is a
// queued_wait: link() it; whoever completes it claims it, leaves the result in it, and finishes it; else its own end()
// unlinks it. A claim that comes too late unlinks it as well: something else has ended that wait.
//
// Claimed tasks are made ready under the lock. A thread that is none of their runtime's does that before it lets the
// operation go: the runtime may end meanwhile, and destroy its tasks where they wait; the operation's end() then waits
// for the lock. A worker cannot be overtaken so, and lets the operation go first: that needs the object no more then,
// which may be gone.
#pragma once

#include <foliot/core/contract.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/runtime/detail/scheduler_calls.hpp>
#include <foliot/runtime/detail/wait_point.hpp>

namespace foliot::runtime::detail {

/// One wait in one queue, as long as it is not over. May be moved while it is over.
class queued_wait {
 public:
  queued_wait() noexcept = default;
  queued_wait([[maybe_unused]] queued_wait&& other) noexcept {
    FOLIOT_ASSERT(other.is_over(), "an operation that has begun stays where it is");
  }
  queued_wait& operator=(queued_wait&&) = delete;

  /// It has been finished, or has not begun: nobody else knows of it, and the object may be gone.
  // acquire: pairs with the release in finish(): the result is there.
  [[nodiscard]] bool is_over() const noexcept { return over_.load(seam::acquire); }

 protected:
  ~queued_wait() = default;

 private:
  friend class wait_queue;

  wait_point* wait_ = nullptr;
  queued_wait* next_ = nullptr;
  queued_wait* previous_ = nullptr;
  wait_word::source by_ = 0;
  bool parked_ = false;  // between claim() and finish(): has to be made ready
  // Written under the object's lock; read by the waiting task, first without it.
  seam::atomic<bool> over_{true};
};

class wait_queue {
 public:
  wait_queue() noexcept = default;
  wait_queue(const wait_queue&) = delete;
  wait_queue& operator=(const wait_queue&) = delete;
  /// The object goes: those who wait do so for ever, and will touch it no more.
  ~wait_queue() {
    while (first_ != nullptr) unlink(*first_);
  }

  /// Nobody waits, and nobody will touch the object when its wait is over.
  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }

  /// Its wait has begun; `by` is what it is claimed for.
  void link(queued_wait& waiting, wait_point& wait, wait_word::source by) noexcept {
    waiting.wait_ = &wait;
    waiting.by_ = by;
    waiting.over_.store(false, seam::relaxed);  // published by the lock
    put_last(waiting);
  }
  /// Nobody will touch it any more; if it is over that is so already.
  void unlink(queued_wait& waiting) noexcept {
    if (waiting.is_over()) return;
    take_out(waiting);
    waiting.over_.store(true, seam::release);  // pairs with is_over()
  }

  /// The first one that is not part of that wait, or null.
  [[nodiscard]] queued_wait* first_but(const wait_point* own) const noexcept {
    queued_wait* each = first_;
    while (each != nullptr && each->wait_ == own) each = each->next_;
    return each;
  }
  /// Takes it out of the queue. True: its wait is ended by this; leave the result, and finish it.
  [[nodiscard]] bool claim(queued_wait& waiting) noexcept {
    take_out(waiting);
    const auto result = waiting.wait_->claim_only(waiting.by_);
    waiting.parked_ = result == wait_word::claim_result::to_resume;
    if (result != wait_word::claim_result::late) return true;
    waiting.over_.store(true, seam::release);  // pairs with is_over()
    return false;
  }
  /// Its task goes on, and it may be gone.
  void finish(queued_wait& claimed) noexcept {
    task_state& task = claimed.wait_->task();
    const bool parked = claimed.parked_;
    const bool from_outside = parked && !is_worker_of(task.owner());
    if (from_outside) make_ready(task);
    claimed.over_.store(true, seam::release);  // pairs with is_over()
    if (parked && !from_outside) make_ready(task);
  }
  /// Claims the first that can be, or none.
  [[nodiscard]] queued_wait* claim_first(const wait_point* own = nullptr) noexcept {
    while (queued_wait* const first = first_but(own)) {
      if (claim(*first)) return first;
    }
    return nullptr;
  }

  /// One that waits here waits there from now on, behind the others. Both queues are of one object.
  void move_to(wait_queue& other, queued_wait& waiting) noexcept {
    take_out(waiting);
    other.put_last(waiting);
  }

 private:
  void put_last(queued_wait& waiting) noexcept {
    waiting.next_ = nullptr;
    waiting.previous_ = last_;
    (last_ == nullptr ? first_ : last_->next_) = &waiting;
    last_ = &waiting;
  }
  void take_out(queued_wait& waiting) noexcept {
    (waiting.previous_ == nullptr ? first_ : waiting.previous_->next_) = waiting.next_;
    (waiting.next_ == nullptr ? last_ : waiting.next_->previous_) = waiting.previous_;
  }

  queued_wait* first_ = nullptr;
  queued_wait* last_ = nullptr;
};

}  // namespace foliot::runtime::detail
