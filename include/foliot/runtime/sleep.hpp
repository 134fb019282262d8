// Sleeping: the task waits, its processor does not.
//
//   co_await foliot::runtime::sleep(20ms);
//
// The timer lies in the task's frame. What the processor stores for a timer is memory that it reuses, so a sleep
// allocates only while that memory grows: a program that has warmed up allocates nothing. Thread safety: the calling
// task's.
#pragma once

#include <foliot/core/language.hpp>

#include <coroutine>

#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/runtime/detail/scheduler_calls.hpp>
#include <foliot/runtime/detail/waiting_timer.hpp>
#include <foliot/runtime/runtime_deadline.hpp>
#include <foliot/runtime/wait_kind.hpp>

namespace foliot::runtime {

namespace detail {

/// Waits for a deadline of the runtime's clock.
class sleep_awaiter : public task_awaiter {
 public:
  explicit sleep_awaiter(duration length) noexcept : length_(length) {}
  explicit sleep_awaiter(runtime_deadline deadline) noexcept : wanted_(deadline), by_deadline_(true) {}

  [[nodiscard]] static constexpr wait_kind kind() noexcept { return wait_kind::sleep; }
  [[nodiscard]] bool await_ready() const noexcept { return !by_deadline_ && length_ <= duration::zero(); }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> who) {
    wait_.begin(who);
    scheduler& owner = wait_.task().owner();
    const instant deadline = by_deadline_ ? instant_on(owner, wanted_) : deadline_in(owner, length_);
    // A sleep that is over before a timer could be started only lets other tasks run first.
    if ((by_deadline_ || length_ <= shorter_than_a_start) && deadline <= now(owner)) {
      if (wait_.leave_if_interrupted()) return false;  // as in any other wait
      wait_.claim(0);
      if (wait_.park()) return true;
      if (by_deadline_) return false;
      make_ready_last(wait_.task());
      return true;
    }
    timer_.start(owner, deadline);
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
  // Less time than the start of a timer takes.
  static constexpr duration shorter_than_a_start = duration::nanoseconds(50);

  duration length_;
  runtime_deadline wanted_ = instant();
  bool by_deadline_ = false;
  wait_point wait_;
  waiting_timer timer_{wait_, 0};
};

}  // namespace detail

/// A task must await the result: it waits for `length`, and never less. Zero or less returns at once, and lets other
/// tasks run first only at the end of the task's turn (task.hpp). The wait throws `cancelled` in a task that is asked
/// to stop, and std::bad_alloc if the timers of the processor cannot grow.
[[nodiscard]] inline detail::sleep_awaiter sleep(duration length) noexcept { return detail::sleep_awaiter(length); }
/// The same until the runtime's clock shows `deadline`: an instant, or a time point of std::chrono::steady_clock where
/// that is the runtime's clock; else the wait throws std::invalid_argument. wall_time.hpp has the one for the wall
/// clock.
[[nodiscard]] inline detail::sleep_awaiter sleep_until(runtime_deadline deadline) noexcept {
  return detail::sleep_awaiter(deadline);
}

}  // namespace foliot::runtime
