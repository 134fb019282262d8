// Sleeping: the task waits, its processor does not.
//
//   co_await foliot::runtime::sleep(20ms);
//
// Zero or less returns at once, and lets others go first only at the end of the task's turn (task.hpp). Throws
// `cancelled` in a task that is to stop, and std::bad_alloc where the timer's queue cannot grow. The timer lies in the
// task's frame. What its processor keeps of it is memory that is used again, so a sleep allocates only while that still
// grows: in a program that has warmed up, nothing.
#pragma once

#include <foliot/core/language.hpp>

#include <coroutine>

#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/runtime/detail/scheduler_calls.hpp>
#include <foliot/runtime/detail/waiting_timer.hpp>

namespace foliot::runtime {

namespace detail {

class sleep_awaiter : public task_awaiter {
 public:
  explicit sleep_awaiter(duration length) noexcept : length_(length) {}
  explicit sleep_awaiter(instant deadline) noexcept : deadline_(deadline), by_deadline_(true) {}

  [[nodiscard]] bool await_ready() const noexcept { return !by_deadline_ && length_ <= duration::zero(); }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> who) {
    wait_.begin(who);
    scheduler& owner = wait_.task().owner();
    if (!by_deadline_) deadline_ = deadline_in(owner, length_);
    // What is over before a timer could be started only lets the others go first.
    if ((by_deadline_ || length_ <= shorter_than_a_start) && deadline_ <= now(owner)) {
      if (wait_.leave_if_interrupted()) return false;  // as from any other wait
      wait_.claim(0);
      if (wait_.park()) return true;
      if (by_deadline_) return false;
      make_ready_last(wait_.task());
      return true;
    }
    timer_.start(owner, deadline_);
    return wait_.park();
  }
  bool interrupt(frame& who) noexcept {
    wait_.begin_interrupted(who);
    return true;
  }
  void await_resume() {
    if (!wait_.begun()) return;
    if (!wait_.was_interrupted()) return timer_.has_fired();
    timer_.stop();
    wait_.throw_if_interrupted();
  }

 private:
  static constexpr duration shorter_than_a_start = duration::nanoseconds(50);

  duration length_;
  instant deadline_;
  bool by_deadline_ = false;
  wait_point wait_;
  waiting_timer timer_{wait_, 0};
};

}  // namespace detail

[[nodiscard]] inline detail::sleep_awaiter sleep(duration length) noexcept { return detail::sleep_awaiter(length); }
/// Until the runtime's clock shows it. For a time of the wall clock see wall_time.hpp.
[[nodiscard]] inline detail::sleep_awaiter sleep_until(instant deadline) noexcept {
  return detail::sleep_awaiter(deadline);
}

}  // namespace foliot::runtime
