// The sleep of a shard's thread, and its wake-ups.
//
// The thread stores under the shard's lock until when it will sleep, and then sleeps without the lock. A thread that
// starts or resets a timer calls must_wake_for() under the lock, and if that returns true calls wake(). A wake-up
// between prepare() and sleep() ends the sleep at once, since the wait stores it. Otherwise a start between the look at
// the queue and the sleep would be lost: hazard H1 of Go's timers.
//
//   awake ──► sleeping(until) ──► awake        `awake` also: another thread is about to wake it
//   awake ──► rescheduling ─────► awake        nothing is pending: no deadline
//
// How the thread sleeps is the wait's part: waits.hpp. In precise mode it spends the last stretch spinning on the
// clock.
//
// Thread safety: the shard's lock guards everything but wake(), sleep() and serve_ready(), which are called without it;
// only the shard's thread sleeps.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include <foliot/core/clock.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/core/seam/sync.hpp>

#include "shard_options.hpp"
#include "spin_stretch.hpp"

namespace foliot::detail {

template <class Wait>
class sleeper {
 public:
  explicit sleeper(const shard_options& options) noexcept : time_(options.time), precise_(options.precise) {}

  /// Makes the wait, before the thread is started. Throws as the wait's constructor does.
  void open(const shard_options& options) {
    if (!wait_) wait_.emplace(options);
  }

  /// By the thread, under the lock: it will sleep until `until`.
  void prepare(instant until) noexcept {
    until_ = until;
    state_ = until.is_never() ? state::rescheduling : state::sleeping;
    sleeps_until_ = precise_ ? until - stretch_.length() : until;
    wait_->prepare(sleeps_until_);
  }
  /// By the thread, without the lock. Returns at `until`, when the thread was woken, or earlier for no reason.
  void sleep(instant until) noexcept {
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
  /// By the thread, without the lock, instead of a sleep: serves the file descriptors that are ready now.
  void serve_ready() noexcept
    requires requires(Wait& wait) { wait.serve_ready(); }
  {
    wait_->serve_ready();
  }
  /// By the thread, under the lock again.
  void wake_up() noexcept { state_ = state::awake; }

  /// Whether the caller must wake the thread, so that it does not sleep past `deadline`. Then it must, once.
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

  void wake() noexcept { wait_->wake(); }

 private:
  enum class state : std::uint8_t { awake, sleeping, rescheduling };

  const clock& time_;
  const bool precise_;
  state state_ = state::awake;
  instant until_;
  instant sleeps_until_;  // the thread's alone, as the next
  spin_stretch stretch_;
  std::optional<Wait> wait_;
};

}  // namespace foliot::detail
