// A shard's thread: its life, its sleep and its wake-ups, and how many of these found a due timer.
//
// The first start of a timer makes the thread. It runs the shard's loop, and sleeps in it: it stores under the shard's
// lock until when it will sleep, and then sleeps without the lock. A thread that starts or resets a timer calls
// must_wake_for() under the lock, and if that returns true calls wake(). A wake-up between the store and the sleep ends
// the sleep at once, since the wait remembers it. Otherwise a start between the loop's look at the queue and the sleep
// would be lost: hazard H1 of Go's timers.
//
//   awake ──► sleeping(until) ──► awake        `awake` also: another thread is about to wake it
//   awake ──► rescheduling ─────► awake        nothing is pending: no deadline
//
// How the thread sleeps is the wait's part: waits.hpp. In precise mode it spends the last stretch spinning on the
// clock.
//
// Invariant: the thread does not sleep past a deadline for which must_wake_for() returned true and wake() was called.
// Thread safety: the shard's lock guards all members; wake(), and the inner parts of sleep() and serve_ready(), run
// without it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include <foliot/core/annotations.hpp>
#include <foliot/core/clock.hpp>
#include <foliot/core/expiry.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/service/statistics.hpp>

#include "shard_options.hpp"
#include "spin_stretch.hpp"

namespace foliot::detail {

template <class Wait>
class timer_thread {
 public:
  explicit timer_thread(const shard_options& options) noexcept : time_(options.time), precise_(options.precise) {}
  timer_thread(const timer_thread&) = delete;
  timer_thread& operator=(const timer_thread&) = delete;
  ~timer_thread() {
    if (thread_.joinable()) thread_.detach();  // it has ended, or runs this destructor as its last act
  }

  /// Starts the thread. Throws std::system_error, or as the wait's constructor does.
  template <class Loop>
  void start(const shard_options& options, Loop loop) {
    if (!wait_) wait_.emplace(options);
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

  /// Sleeps until `until`, or until the thread is woken; it may also return earlier for no reason. Calls `unlocked`
  /// before the sleep, without the lock. By the loop.
  template <class Unlocked>
  void sleep(lock& held, instant until, Unlocked unlocked) noexcept FOLIOT_NO_ANALYSIS {
    until_ = until;
    state_ = until.is_never() ? state::rescheduling : state::sleeping;
    sleeps_until_ = precise_ ? until - stretch_.length() : until;
    wait_->prepare(sleeps_until_);
    held.leave();
    unlocked();
    sleep_unlocked(until);
    held.enter();
    state_ = state::awake;
    just_woke_ = true;
  }
  /// Between two turns without a sleep: serves the file descriptors that are ready now, if the wait watches any.
  void serve_ready(lock& held) noexcept FOLIOT_NO_ANALYSIS {
    if constexpr (requires { wait_->serve_ready(); }) {
      held.leave();
      wait_->serve_ready();
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
  [[nodiscard]] bool must_wake_for(instant deadline) noexcept {
    const bool too_late =
        (state_ == state::sleeping && deadline < until_) || (state_ == state::rescheduling && !deadline.is_never());
    if (!too_late) return false;
    if constexpr (Wait::can_be_moved) {
      if (!precise_) {  // a precise thread may be spinning, and would not see the new deadline
        until_ = deadline;
        state_ = state::sleeping;
        wait_->move(deadline);
        return false;
      }
    }
    state_ = state::awake;
    return true;
  }
  /// The same, whichever deadline the thread sleeps until.
  [[nodiscard]] bool must_wake() noexcept { return std::exchange(state_, state::awake) != state::awake; }
  /// With or without the lock; better without, which the woken thread takes first.
  void wake() noexcept { wait_->wake(); }

 private:
  enum class state : std::uint8_t { awake, sleeping, rescheduling };

  static const void* self() noexcept { return &seam::this_thread(); }

  void sleep_unlocked(instant until) noexcept {
    if (!precise_ || until.is_never()) return wait_->sleep();
    if (time_.now() < sleeps_until_) {
      wait_->sleep();
      const instant now = time_.now();
      if (!wait_->woken() && now >= sleeps_until_) stretch_.slept_late(now - sleeps_until_);
    }
    // Spins no longer than the stretch: a wall clock may have been set back.
    for (instant now = time_.now(); !wait_->woken() && now >= sleeps_until_ && now < until; now = time_.now()) {
      seam::spin_pause();
    }
  }

  seam::thread thread_;
  /// The thread_state of the thread, while it runs its loop; else null.
  const void* running_ = nullptr;
  /// The thread has woken, and no turn has shown yet whether a timer was due.
  bool just_woke_ = false;
  const clock& time_;
  const bool precise_;
  state state_ = state::awake;
  instant until_;
  instant sleeps_until_;  // the thread's alone, as the next
  spin_stretch stretch_;
  std::optional<Wait> wait_;
};

}  // namespace foliot::detail
