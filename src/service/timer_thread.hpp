// A shard's thread: its life, its sleep, and how many of its wake-ups found a due timer.
//
// The first start of a timer makes the thread. It runs the shard's loop (shard_turns.hpp), and sleeps in it without the
// lock, until the deadline that the loop names or until another thread wakes it.
//
// Thread safety: the shard's lock guards all members; wake(), serve_ready() and the inner part of sleep() run without
// it.
#pragma once

#include <cstddef>
#include <utility>

#include <foliot/core/annotations.hpp>
#include <foliot/core/expiry.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/service/statistics.hpp>

#include "shard_options.hpp"
#include "sleeper.hpp"

namespace foliot::detail {

template <class Wait>
class timer_thread {
 public:
  explicit timer_thread(const shard_options& options) noexcept : sleeper_(options) {}
  timer_thread(const timer_thread&) = delete;
  timer_thread& operator=(const timer_thread&) = delete;
  ~timer_thread() {
    if (thread_.joinable()) thread_.detach();  // it has ended, or runs this destructor as its last act
  }

  /// Starts the thread. Throws std::system_error, or as the wait's constructor does.
  template <class Loop>
  void start(const shard_options& options, Loop loop) {
    sleeper_.open(options);
    thread_ = seam::thread("foliot-timer", std::move(loop));
  }
  /// The thread itself, for a join without the lock; this object keeps none.
  [[nodiscard]] seam::thread release() noexcept { return std::move(thread_); }

  /// By the loop, as its first act and its last.
  void begin_loop() noexcept { running_ = self(); }
  void end_loop() noexcept { running_ = nullptr; }

  [[nodiscard]] bool is_caller() const noexcept { return running_ == self(); }

  /// In the child of a fork: if the thread is not the one that forked, it does not exist here. Returns whether it was
  /// running.
  [[nodiscard]] bool forget_in_child() noexcept {
    if (is_caller()) return false;
    thread_.forget();
    return std::exchange(running_, nullptr) != nullptr;
  }

  /// Sleeps until `until`, or until the thread is woken. Calls `unlocked` before the sleep, without the lock. By the
  /// loop.
  template <class Unlocked>
  void sleep(lock& held, instant until, Unlocked unlocked) noexcept FOLIOT_NO_ANALYSIS {
    sleeper_.prepare(until);
    held.leave();
    unlocked();
    sleeper_.sleep(until);
    held.enter();
    sleeper_.wake_up();
    just_woke_ = true;
  }
  /// Between two turns without a sleep: serves the file descriptors that are ready now, if the wait watches any.
  void serve_ready(lock& held) noexcept FOLIOT_NO_ANALYSIS {
    if constexpr (requires { sleeper_.serve_ready(); }) {
      held.leave();
      sleeper_.serve_ready();
      held.enter();
    }
  }

  /// After a turn: if the thread has just woken, and the turn shows whether a timer was due, counts the wake-up.
  /// `not_due`: how many of the timers that the queue returned were postponed or stopped.
  void count_wake_up(service_counters& counters, const expiry& turn, std::size_t not_due) noexcept {
    const bool found_work = turn.fired > not_due;
    if (!just_woke_ || (!found_work && turn.more)) return;
    just_woke_ = false;
    ++(found_work ? counters.wakes_with_work : counters.wakes_without_work);
  }

  /// Whether the caller must wake the thread, so that it does not sleep past `deadline`. Then it must, once, by wake().
  [[nodiscard]] bool must_wake_for(instant deadline) noexcept { return sleeper_.must_wake_for(deadline); }
  /// The same, whichever deadline the thread sleeps until.
  [[nodiscard]] bool must_wake() noexcept { return sleeper_.must_wake(); }
  /// With or without the lock; better without, which the woken thread takes first.
  void wake() noexcept { sleeper_.wake(); }

 private:
  static const void* self() noexcept { return &seam::this_thread(); }

  seam::thread thread_;
  /// The thread_state of the thread, while it runs its loop; else null.
  const void* running_ = nullptr;
  /// The thread has woken, and no turn has shown yet whether a timer was due.
  bool just_woke_ = false;
  sleeper<Wait> sleeper_;
};

}  // namespace foliot::detail
