// Waits until as many things are done as were begun.
//
//   wait_group group;
//   for (auto& page : pages) spawn(fetch(page, group.enter()));     // a member is done when it is destroyed
//   co_await group.wait();
//
// add() and done() are the same by hand. The count may grow and fall at will, and the group is used again after it was
// zero; a done() too many is a mistake, and asserted. wait() is also a case of a select; any number of tasks wait, and
// all go on once the count is zero, even if it has grown again since.
//
// Threads: wait in a task; the others anywhere. O(1), the done() that ends waits by their number. The group outlives
// its members, and who waits, as with task_mutex.
#pragma once

#include <cstddef>
#include <utility>

#include <foliot/core/contract.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/runtime/detail/operation.hpp>
#include <foliot/runtime/detail/wait_queue.hpp>

namespace foliot::runtime {

namespace detail {
class group_operation;
}  // namespace detail

class wait_group {
 public:
  class member;

  wait_group() noexcept = default;
  wait_group(const wait_group&) = delete;
  wait_group& operator=(const wait_group&) = delete;

  void add(std::size_t more = 1) noexcept {
    const lock held(guard_);
    count_ += more;
  }
  /// One of those is done.
  void done() noexcept {
    const lock held(guard_);
    FOLIOT_ASSERT(count_ > 0, "no more can be done than was added");
    if (--count_ != 0) return;
    while (detail::queued_wait* const first = waiters_.claim_first()) waiters_.finish(*first);
  }
  /// Adds one, which is done when the member is destroyed.
  [[nodiscard]] inline member enter() noexcept;
  /// How many are not done: a moment's answer.
  [[nodiscard]] std::size_t count() const noexcept {
    const lock held(guard_);
    return count_;
  }
  /// co_await it.
  template <class Operation = detail::group_operation>  // which is complete by then
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

/// One of what a group waits for. Move-only.
class [[nodiscard("it is done when this is destroyed")]] wait_group::member {
 public:
  member(member&& other) noexcept : group_(std::exchange(other.group_, nullptr)) {}
  member& operator=(member&& other) noexcept {
    std::swap(group_, other.group_);
    return *this;
  }
  ~member() {
    if (group_ != nullptr) group_->done();
  }

 private:
  friend class wait_group;
  explicit member(wait_group& group) noexcept : group_(&group) { group.add(); }

  wait_group* group_;
};

namespace detail {

class group_operation : private queued_wait {
 public:
  explicit group_operation(wait_group& group) noexcept : group_(&group) {}
  group_operation(group_operation&&) noexcept = default;
  ~group_operation() { end(); }

  [[nodiscard]] bool try_complete() const noexcept { return group_->count() == 0; }
  void begin(wait_point& wait, wait_word::source by) noexcept {
    waited_ = true;
    group_->begin(*this, wait, by);
  }
  void end() noexcept {
    if (!is_over()) group_->end(*this);
  }
  /// The group may go now: the last done() has left it.
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
