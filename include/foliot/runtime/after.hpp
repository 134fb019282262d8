// The instant that comes after a while, for one wait. (Go's time.After.)
//
//   const foliot::instant when = co_await foliot::runtime::after(20ms);
//
// As an operation it is a case of a select: what that does not choose leaves nothing behind. The time counts from the
// call. Unlike sleep it takes a select, and gives the instant for which it was set.
// Thread safety: the waiting task's. Allocates nothing itself: the timer lies in the task's frame.
#pragma once

#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/runtime/detail/operation.hpp>
#include <foliot/runtime/detail/scheduler_calls.hpp>
#include <foliot/runtime/detail/task_list.hpp>
#include <foliot/runtime/detail/timer_entry.hpp>

namespace foliot::runtime {

namespace detail {

class after_operation : private timer_entry {
 public:
  after_operation(scheduler& owner, instant deadline) noexcept
      : timer_entry(what_to_do), owner_(owner), deadline_(deadline) {}
  ~after_operation() { end(); }
  after_operation(const after_operation&) = delete;
  after_operation& operator=(const after_operation&) = delete;

  [[nodiscard]] bool try_complete() const noexcept { return is_due(deadline_, now(owner_)); }
  void begin(wait_point& wait, wait_word::source by) {
    wait_ = &wait;
    by_ = by;
    start_timer(owner_, *this, deadline_, true);
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

/// Throws std::logic_error outside of a runtime.
[[nodiscard]] inline detail::operation_awaiter<detail::after_operation> after(duration delay) {
  detail::scheduler& owner = detail::this_scheduler("after");
  return detail::operation_awaiter<detail::after_operation>(owner, detail::deadline_in(owner, delay));
}

}  // namespace foliot::runtime
