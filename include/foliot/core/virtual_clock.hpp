// Virtual time: a clock that stands still until it is advanced by hand. While it advances it fires all timers that
// become due, in order, each at exactly its deadline.
//
// A test runs a day of timeouts in a millisecond, reproducibly:
//
//   foliot::virtual_clock clock;
//   foliot::timer_service timers{clock};
//   foliot::timer t{timers, 24h, [] { … }};
//   clock.advance(24h);                        // the callback has run, on this thread
//
// `stall` moves time on without firing: timers that become due in that time fire late, at the next advance. A callback
// that calls it simulates a callback that takes long.
//
// A simulated wall clock moves with this clock. A test may set it, as an administrator sets the clock of a machine:
// set_wall(). The runtime's waits for a wall-clock time use it.
//
// Thread safety: every member from any thread. One thread advances at a time; other threads that call advance() or
// advance_to() wait for it. Callbacks run on the advancing thread, which holds no lock meanwhile. A callback must not
// advance the clock that runs it: that throws std::logic_error. Time never goes back: advancing to an instant in the
// past only fires what is due.
// Lifetime: a clock must outlive the services on it.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include <foliot/core/annotations.hpp>
#include <foliot/core/clock.hpp>
#include <foliot/core/expiry.hpp>
#include <foliot/core/export.h>
#include <foliot/core/instant.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/core/sync/condition.hpp>
#include <foliot/core/sync/mutex.hpp>

namespace foliot::inline core {

/// An object with timers, whose turns a virtual clock runs. Called by the advancing thread, without a lock of the
/// clock's; next_deadline() also by threads that call virtual_clock::next_deadline().
class FOLIOT_EXPORT timeline {
 public:
  virtual ~timeline() = default;
  /// The earliest deadline; never if no timer is pending.
  [[nodiscard]] virtual instant next_deadline() = 0;
  /// Fires the timers that are due at `now`, at most `limit` of them.
  virtual expiry run_due(instant now, budget limit) = 0;
};

/// A clock that its user advances. Its members are safe from any thread.
class FOLIOT_EXPORT virtual_clock final : public clock {
 public:
  /// Begins at `start`, by default the origin; never counts as the latest instant.
  explicit virtual_clock(instant start = instant{}) noexcept;

  [[nodiscard]] instant now() const noexcept override;
  /// Whether the calling thread is inside advance() or advance_to() of this clock.
  [[nodiscard]] bool moved_by_caller() const noexcept override;

  /// Moves time on by `length` as advance_to does; a zero or negative length fires the timers that are due now. The
  /// lengths of several threads add up. With a `limit`, prefer advance_to: a second call of advance() moves on by
  /// another whole length.
  expiry advance(duration length, budget limit = unlimited);

  /// Moves time on to `target`. Stops at each deadline on the way and fires the timers that are due there; among
  /// services that are due at the same instant, the one that joined first goes first. When `limit` timers have fired
  /// and more are due on the way, time stays at the last deadline: call again. A `target` of never means the latest
  /// instant. Throws std::logic_error from a callback that this clock runs, and std::bad_alloc. O(followers) for each
  /// instant at which a timer is due.
  expiry advance_to(instant target, budget limit = unlimited);

  /// Moves time on by `length` and fires nothing: simulates a suspended machine, or a callback that computes. A length
  /// that is zero or negative changes nothing. Does not wait for an advancing thread.
  void stall(duration length) noexcept;

  /// The present time of the simulated wall clock, since 1970. Before the first set_wall() it equals now(), so that
  /// this clock's origin stands for the beginning of 1970.
  [[nodiscard]] instant wall_now() const noexcept;
  /// Sets the wall clock to `shown`; from there it moves on with this clock, which does not change. `never` counts as
  /// the latest instant. A difference of more than 292 years from this clock counts as 292 years. Call it from inside
  /// the runtime that waits: a call from another thread does not wake a runtime that waits for a descriptor.
  void set_wall(instant shown) noexcept;
  /// As above, with a time point of std::chrono::system_clock.
  template <class Duration>
  void set_wall(std::chrono::sys_time<Duration> shown) {
    set_wall(wall_clock::from_sys(shown));
  }
  /// The instant of this clock at which the wall clock will show `wall`, if it is not set meanwhile; never if no
  /// instant of this clock corresponds to it.
  [[nodiscard]] instant when_wall_shows(instant wall) const noexcept;

  /// The earliest deadline of all followers; never if no timer is pending. O(followers).
  [[nodiscard]] instant next_deadline();

  /// Adds a follower, whose timers this clock fires until the follower is destroyed. Throws std::bad_alloc with nothing
  /// changed.
  void join(std::weak_ptr<timeline> follower);

 private:
  class turn_to_advance;

  expiry run_to(instant target, budget limit);
  void raise_to(instant target) noexcept;
  using followers = std::vector<std::shared_ptr<timeline>>;
  /// Replaces the contents of `found` by the living followers. Releases the old contents first; the caller must hold no
  /// lock, since that may destroy a follower and run destructors of its user.
  void find_followers(followers& found);
  static std::shared_ptr<timeline> earliest_of(const followers& all, instant& deadline);

  mutable mutex lock_{lock_rank::timeline};
  std::vector<std::weak_ptr<timeline>> followers_ FOLIOT_GUARDED_BY(lock_);
  /// The advancing thread, or null. Other threads that want to advance wait for `turn_`.
  const void* advancer_ FOLIOT_GUARDED_BY(lock_) = nullptr;
  condition turn_ FOLIOT_GUARDED_BY(lock_);
  /// Used by the advancing thread only. Kept between turns, so that an advance allocates nothing.
  followers found_;
  // Raised by threads that advance or stall, with release; read with acquire: a thread that reads the new time also
  // sees everything that was done at earlier times.
  seam::atomic<std::int64_t> now_;
  // How far the wall clock is ahead of this clock, in nanoseconds. Written by set_wall() with release; read with
  // acquire: a thread that reads the new time also sees everything that was done before the clock was set.
  seam::atomic<std::int64_t> wall_ahead_{0};
};

}  // namespace foliot::inline core
