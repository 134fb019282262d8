// Waits until as many pieces of work are done as were added. (Go's sync.WaitGroup.)
//
//   wait_group group;
//   for (auto& page : pages) spawn(fetch(page, group.enter()));     // done when the member is destroyed
//   co_await group.wait();
//
// add() and done() do the same by hand. The count may grow and shrink at any time, and the group may be used again
// after it was zero. wait() may be a case of a select. Any number of tasks may wait; all continue once the count is
// zero, even if it has grown again since.
//
// Thread safety: only a task may await wait(); any thread may call the others. Complexity: O(1); the done() that brings
// the count to zero is O(waiting tasks). Lifetime: the group must outlive its members and the tasks that wait;
// otherwise as task_mutex.
#pragma once

#include <cstddef>
#include <utility>

#include <foliot/core/contract.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/runtime/detail/operation.hpp>
#include <foliot/runtime/detail/wait_queue.hpp>
#include <foliot/runtime/wait_kind.hpp>

namespace foliot::runtime {

namespace detail {
class group_operation;
}  // namespace detail

/// Counts pieces of work that are not done, for tasks that wait for zero. Neither copied nor moved.
class wait_group {
 public:
  class member;

  wait_group() noexcept = default;
  wait_group(const wait_group&) = delete;
  wait_group& operator=(const wait_group&) = delete;

  /// Adds `more` pieces of work. Any thread.
  void add(std::size_t more = 1) noexcept {
    const lock held(guard_);
    count_ += more;
  }
  /// One piece of work is done. Must not be called more often than was added. Any thread. O(1), and O(waiting tasks)
  /// when the count becomes zero.
  void done() noexcept {
    const lock held(guard_);
    FOLIOT_ASSERT(count_ > 0, "wait_group::done() must not be called more often than was added");
    if (--count_ != 0) return;
    while (detail::queued_wait* const first = waiters_.claim_first()) waiters_.finish(*first);
  }
  /// Adds one piece of work, which is done when the member is destroyed. Any thread.
  [[nodiscard]] inline member enter() noexcept;
  /// How many pieces of work are not done. Other threads may change that at any time.
  [[nodiscard]] std::size_t count() const noexcept {
    const lock held(guard_);
    return count_;
  }
  /// Await the result, or make it a case of a select: it waits until the count is zero. Throws `cancelled` in a task
  /// that is asked to stop, if it has to wait or is the last step of the task's turn (task.hpp).
  template <class Operation = detail::group_operation>  // a parameter, because the type is incomplete here
  [[nodiscard("co_await it")]] detail::operation_awaiter<Operation> wait() noexcept {
    return detail::operation_awaiter<Operation>(*this);
  }

 private:
  friend class detail::group_operation;

  void begin(detail::queued_wait& one, detail::wait_point& wait, detail::wait_word::source by) noexcept {
    const lock held(guard_);
    if (count_ == 0) {
      wait.claim(by);
    } else {
      waiters_.link(one, wait, by);
    }
  }
  void end(detail::queued_wait& one) noexcept {
    const lock held(guard_);
    waiters_.unlink(one);
  }

  mutable mutex guard_{lock_rank::object};
  std::size_t count_ FOLIOT_GUARDED_BY(guard_) = 0;
  detail::wait_queue waiters_ FOLIOT_GUARDED_BY(guard_);
};

/// A piece of work of a group, done when this is destroyed. Move-only.
class [[nodiscard("it is done when this is destroyed")]] wait_group::member {
 public:
  /// `other` stands for nothing afterwards.
  member(member&& other) noexcept : group_(std::exchange(other.group_, nullptr)) {}
  /// Exchanges the two.
  member& operator=(member&& other) noexcept {
    std::swap(group_, other.group_);
    return *this;
  }
  /// Calls done(), unless this stands for nothing.
  ~member() {
    if (group_ != nullptr) group_->done();
  }

 private:
  friend class wait_group;
  explicit member(wait_group& group) noexcept : group_(&group) { group.add(); }

  wait_group* group_;
};

namespace detail {

/// An operation, see operation.hpp: waits until the count of a group is zero.
class group_operation : private queued_wait {
 public:
  explicit group_operation(wait_group& group) noexcept : group_(&group) {}
  group_operation(group_operation&&) noexcept = default;
  ~group_operation() { end(); }

  [[nodiscard]] static constexpr wait_kind kind() noexcept { return wait_kind::wait_group; }
  [[nodiscard]] bool try_complete() const noexcept { return group_->count() == 0; }
  void begin(wait_point& wait, wait_word::source by) noexcept {
    waited_ = true;
    group_->begin(*this, wait, by);
  }
  void end() noexcept {
    if (!is_over()) group_->end(*this);
  }
  // Takes the lock once more, so that done() has left the group: the task may destroy it now.
  void result() noexcept {
    if (std::exchange(waited_, false)) static_cast<void>(group_->count());
  }

 private:
  wait_group* group_;
  bool waited_ = false;
};

}  // namespace detail

inline wait_group::member wait_group::enter() noexcept { return member(*this); }

}  // namespace foliot::runtime
