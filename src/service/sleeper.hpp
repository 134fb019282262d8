// How a shard's thread sleeps, and who wakes it.
//
// The thread says until when it will sleep, under the shard's lock, and then sleeps without it. A start or
// reset that would come too late asks `must_wake_for`, under the lock, and calls `wake` after it. A wake-up
// that comes between the two ends the sleep at once: the wait remembers it. (Lost otherwise: hazard H1 of Go's
// timers, a start between the look at the heap and the sleep.)
//
//   awake ──► sleeping(until) ──► awake        `awake` also: as good as woken, nobody else needs to
//   awake ──► rescheduling ─────► awake        nothing is pending: for as long as it takes
//
// How it sleeps is the wait's part: waits.hpp. In precise mode the last stretch is spent looking at the clock.
//
// Thread safety: the shard's lock guards everything but wake() and sleep(), which are called without it; only
// the shard's thread sleeps.
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
  sleeper(const clock& time, bool precise) noexcept : time_(time), precise_(precise) {}

  /// Before there is a thread. Throws as the wait does.
  void open(const shard_options& options) {
    if (!wait_) wait_.emplace(options);
  }

  /// The thread's, before it lets go of the lock: it will sleep until then.
  void prepare(instant until) noexcept {
    until_ = until;
    state_ = until.is_never() ? state::rescheduling : state::sleeping;
    sleeps_until_ = precise_ ? until - stretch_.length() : until;
    wait_->prepare(sleeps_until_);
  }
  /// Without the lock. Returns when the time has come, when it was woken, or when it is worth another look.
  void sleep(instant until) noexcept {
    if (!precise_ || until.is_never()) return wait_->sleep();
    if (time_.now() < sleeps_until_) {
      wait_->sleep();
      const instant now = time_.now();
      if (!wait_->woken() && now >= sleeps_until_) stretch_.slept_late(now - sleeps_until_);
    }
    // Never further than the stretch: a wall clock may have been set back.
    for (instant now = time_.now(); !wait_->woken() && now >= sleeps_until_ && now < until; now = time_.now()) {
      seam::spin_pause();
    }
  }
  /// Without the lock, by a thread that has no time to sleep: what a wait that has more to do does meanwhile.
  void glance() noexcept
    requires requires(Wait& wait) { wait.glance(); }
  {
    wait_->glance();
  }
  /// The thread has the lock again.
  void wake_up() noexcept { state_ = state::awake; }

  /// Whether the thread must be woken, so as not to sleep past `deadline`. Who is told so wakes it, once.
  [[nodiscard]] bool must_wake_for(instant deadline) noexcept {
    const bool too_late =
        (state_ == state::sleeping && deadline < until_) || (state_ == state::rescheduling && !deadline.is_never());
    if (!too_late) return false;
    if constexpr (Wait::can_be_moved) {
      if (!precise_) {  // which may be spinning, and would not hear it
        until_ = deadline;
        state_ = state::sleeping;
        wait_->move(deadline);
        return false;
      }
    }
    state_ = state::awake;
    return true;
  }
  /// The same, whatever is pending.
  [[nodiscard]] bool must_wake() noexcept { return std::exchange(state_, state::awake) != state::awake; }

  void wake() noexcept { wait_->wake(); }

 private:
  enum class state : std::uint8_t { awake, sleeping, rescheduling };

  const clock& time_;
  const bool precise_;
  state state_ = state::awake;
  instant until_;
  instant sleeps_until_;  // the thread's, and so is the next
  spin_stretch stretch_;
  std::optional<Wait> wait_;
};

}  // namespace foliot::detail
