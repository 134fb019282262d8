// A timer for one wait. (Go's time.After.)
//
//   const foliot::instant when = co_await foliot::runtime::after(20ms);
//
// Unlike sleep(), after() may be a case of a select, and it gives the deadline that it was set for. If the select
// chooses another case, the timer is stopped and leaves nothing behind. The delay counts from the call of after().
// Thread safety: the task that waits uses it. Allocates nothing itself: the timer lies in the task's frame.
#pragma once

#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/runtime/detail/operation.hpp>
#include <foliot/runtime/detail/scheduler_calls.hpp>
#include <foliot/runtime/detail/task_list.hpp>
#include <foliot/runtime/detail/timer_entry.hpp>
#include <foliot/runtime/wait_kind.hpp>

namespace foliot::runtime {

namespace detail {

/// An operation, see operation.hpp: completes at a deadline of the runtime's clock.
class after_operation : private timer_entry {
 public:
  after_operation(scheduler& owner, instant deadline) noexcept
      : timer_entry(what_to_do), owner_(owner), deadline_(deadline) {}
  ~after_operation() { end(); }
  after_operation(const after_operation&) = delete;
  after_operation& operator=(const after_operation&) = delete;

  [[nodiscard]] static constexpr wait_kind kind() noexcept { return wait_kind::timer; }
  [[nodiscard]] bool try_complete() const noexcept { return is_due(deadline_, now(owner_)); }
  void begin(wait_point& wait, wait_word::source by) {
    wait_ = &wait;
    by_ = by;
    start_timer(owner_, *this, deadline_, starter::waits);
    started_ = true;
  }
  void end() noexcept {
    if (started_) stop_timer(*this);
    started_ = false;
  }
  [[nodiscard]] instant result() const noexcept { return deadline_; }

 private:
  static then end_wait(timer_entry& self, ready_list& ready) noexcept {
    auto& mine = static_cast<after_operation&>(self);
    ready.claim(*mine.wait_, mine.by_);
    return then::nothing;
  }
  static constexpr actions what_to_do{end_wait, nullptr};

  scheduler& owner_;
  const instant deadline_;
  wait_point* wait_ = nullptr;
  wait_word::source by_ = 0;
  bool started_ = false;
};

}  // namespace detail

/// Await the result, or make it a case of a select: it completes `delay` from now, at once if `delay` is zero or less,
/// and gives that deadline of the runtime's clock. Throws std::logic_error outside of a runtime; the wait throws
/// `cancelled` in a task that is asked to stop, and std::bad_alloc.
[[nodiscard]] inline detail::operation_awaiter<detail::after_operation> after(duration delay) {
  detail::scheduler& owner = detail::this_scheduler("after");
  return detail::operation_awaiter<detail::after_operation>(owner, detail::deadline_in(owner, delay));
}

}  // namespace foliot::runtime
