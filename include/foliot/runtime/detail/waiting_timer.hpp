// A timer that ends a wait: part of an awaiter. Thread safety: the waiting task's, except move().
#pragma once

#include <foliot/core/instant.hpp>
#include <foliot/runtime/detail/task_list.hpp>
#include <foliot/runtime/detail/timer_entry.hpp>
#include <foliot/runtime/detail/wait_point.hpp>

namespace foliot::runtime::detail {

/// A timer that claims a wait when it is due.
class waiting_timer : private timer_entry {
 public:
  /// Will claim `wait` for the source `by`.
  waiting_timer(wait_point& wait, wait_word::source by) noexcept : timer_entry(what), wait_(wait), by_(by) {}
  ~waiting_timer() {
    if (started_) stop();
  }
  waiting_timer(const waiting_timer&) = delete;
  waiting_timer& operator=(const waiting_timer&) = delete;

  /// Call it after the wait has begun, and park next. Throws std::bad_alloc.
  void start(scheduler& owner, instant deadline) {
    start_timer(owner, *this, deadline, starter::waits);
    started_ = true;
  }
  /// Call it if this timer has ended the wait: then it is not pending, and need not be stopped.
  void has_fired() noexcept { started_ = false; }
  /// Moves the timer, or starts it. Any thread that keeps the awaiter alive by a lock. Throws std::bad_alloc: the timer
  /// is then as it was.
  void move(scheduler& owner, instant deadline) {
    reset_timer(owner, *this, deadline);
    started_ = true;
  }
  /// Afterwards the timer does not touch the wait.
  void stop() noexcept {
    stop_timer(*this);
    started_ = false;
  }

 private:
  static then end_wait(timer_entry& self, ready_list& ready) noexcept {
    auto& mine = static_cast<waiting_timer&>(self);
    ready.claim(mine.wait_, mine.by_);
    return then::nothing;
  }
  static constexpr actions what{end_wait, nullptr};

  wait_point& wait_;
  const wait_word::source by_;
  bool started_ = false;  // may be pending
};

}  // namespace foliot::runtime::detail
