// A timer that ends a wait: part of an awaiter. Thread safety: the waiting task's.
#pragma once

#include <foliot/core/instant.hpp>
#include <foliot/runtime/detail/task_list.hpp>
#include <foliot/runtime/detail/timer_entry.hpp>
#include <foliot/runtime/detail/wait_point.hpp>

namespace foliot::runtime::detail {

class waiting_timer : private timer_entry {
 public:
  /// Claims that wait, for `by`.
  waiting_timer(wait_point& wait, wait_word::source by) noexcept : timer_entry(what), wait_(wait), by_(by) {}
  ~waiting_timer() {
    if (started_) stop();
  }
  waiting_timer(const waiting_timer&) = delete;
  waiting_timer& operator=(const waiting_timer&) = delete;

  /// The wait has begun, and its task is about to park. Throws std::bad_alloc.
  void start(scheduler& owner, instant deadline) {
    start_timer(owner, *this, deadline, true);
    started_ = true;
  }
  /// The wait was ended by this timer, which so is not pending.
  void has_fired() noexcept { started_ = false; }
  /// Whoever keeps the awaiter where it is, by a lock: the wait ends then instead. Throws std::bad_alloc; it is then as
  /// it was.
  void move(scheduler& owner, instant deadline) {
    reset_timer(owner, *this, deadline);
    started_ = true;
  }
  /// Afterwards nobody touches the awaiter.
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
  bool started_ = false;  // and not known to have ended
};

}  // namespace foliot::runtime::detail
