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
// Wait: clear(), wake(), woken() and sleep_until(instant), as a note has them.
// Thread safety: the shard's lock guards everything but wake() and sleep(), which are called without it; only
// the shard's thread sleeps.
#pragma once

#include <cstdint>
#include <utility>

#include <foliot/core/instant.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/core/seam/system.hpp>

#include "spin_stretch.hpp"

namespace foliot::detail {

template <class Wait>
class sleeper {
 public:
  /// The thread's, before it lets go of the lock: it will sleep until then.
  void prepare(instant until) noexcept {
    until_ = until;
    state_ = until.is_never() ? state::rescheduling : state::sleeping;
    wait_.clear();
  }
  /// Without the lock. Returns when the time has come by the monotonic clock, or when it was woken.
  void sleep(instant until) noexcept { wait_.sleep_until(until); }
  /// The same, at some cost closer to the time: the last stretch is spent looking at the clock.
  void sleep_precisely(instant until) noexcept {
    if (until.is_never()) return sleep(until);
    const instant early = until - stretch_.length();
    if (seam::monotonic_now() < early) {
      if (wait_.sleep_until(early)) return;
      stretch_.slept_late(seam::monotonic_now() - early);
    }
    while (!wait_.woken() && seam::monotonic_now() < until) seam::spin_pause();
  }
  /// The thread has the lock again.
  void wake_up() noexcept { state_ = state::awake; }

  /// Whether the thread would sleep past `deadline`. Who is told so wakes it, once.
  [[nodiscard]] bool must_wake_for(instant deadline) noexcept {
    const bool too_late =
        (state_ == state::sleeping && deadline < until_) || (state_ == state::rescheduling && !deadline.is_never());
    if (too_late) state_ = state::awake;
    return too_late;
  }
  /// The same, whatever is pending.
  [[nodiscard]] bool must_wake() noexcept { return std::exchange(state_, state::awake) != state::awake; }

  void wake() noexcept { wait_.wake(); }

 private:
  enum class state : std::uint8_t { awake, sleeping, rescheduling };

  state state_ = state::awake;
  instant until_;
  Wait wait_;
  spin_stretch stretch_;  // the thread's
};

}  // namespace foliot::detail
