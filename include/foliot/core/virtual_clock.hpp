// Virtual time: a clock that stands still until it is advanced by hand, and fires on its way
// everything that becomes due, in order, each at exactly its own instant.
//
// A day of timeouts is tested in a millisecond, the same way twice:
//
//   foliot::virtual_clock clock;
//   foliot::timer_service timers{clock};
//   foliot::timer t{timers, 24h, [] { … }};
//   clock.advance(24h);                        // the callback has run, on this thread
//
// `stall` lets time pass while nobody runs: what became due meanwhile fires late, at the next advance.
// Called from a callback it is a callback that takes its time.
//
// Thread safety: every member from any thread; one thread advances at a time, others wait for it.
// Beside it stands a wall clock, which moves with it, and which a test may set as an administrator sets that of a
// machine: set_wall(). The runtime's waits for a wall-clock time go by it.
//
// Callbacks run on the thread that advances, and no lock is held meanwhile. A callback must not advance
// the clock that runs it: that throws std::logic_error. Time only moves on: advancing to an instant in
// the past changes nothing.
// Lifetime: a clock outlives the services on it.
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

/// Who follows a virtual clock: something that has timers and no thread of its own.
class FOLIOT_EXPORT timeline {
 public:
  virtual ~timeline() = default;
  /// The earliest deadline, or never.
  [[nodiscard]] virtual instant next_deadline() = 0;
  /// Fires what is due at `now`, at most `limit` timers.
  virtual expiry run_due(instant now, budget limit) = 0;
};

class FOLIOT_EXPORT virtual_clock final : public clock {
 public:
  /// Begins at `start`, which is any instant but never; by default the origin.
  explicit virtual_clock(instant start = instant{}) noexcept;

  [[nodiscard]] instant now() const noexcept override;
  [[nodiscard]] bool moved_by_caller() const noexcept override;

  /// Moves time on by `length` (zero: fires what is due now; negative counts as zero), see advance_to.
  /// Where others advance too, their lengths add up. With a `limit`, prefer advance_to: called again,
  /// this one begins another length.
  expiry advance(duration length, budget limit = unlimited);

  /// Moves time on to `target`, stopping at each deadline on the way to fire what is due there. Where
  /// several services follow the clock and are due at the same instant, the one that joined first
  /// goes first. When `limit` timers have fired and more is due on the way, time stays where it is:
  /// call again. `target` never means as far as time goes. O(followers) for each instant at which
  /// something is due.
  expiry advance_to(instant target, budget limit = unlimited);

  /// Moves time on by `length` and fires nothing, as a machine that was suspended, or a callback that
  /// computes. Never waits.
  void stall(duration length) noexcept;

  /// What the wall clock beside this one shows, since 1970. Until set_wall() is called it shows what this clock shows,
  /// so that a clock's origin is the beginning of 1970.
  [[nodiscard]] instant wall_now() const noexcept;
  /// Sets that wall clock: it shows `shown` now, and moves on from there with this clock, on which nothing changes.
  /// `never` counts as the latest instant. Call it from inside the runtime that waits: a call from another thread does
  /// not wake a runtime that waits for a descriptor. More than 292 years from this clock counts as 292 years.
  void set_wall(instant shown) noexcept;
  template <class Duration>
  void set_wall(std::chrono::sys_time<Duration> shown) {
    set_wall(wall_clock::from_sys(shown));
  }
  /// When this clock will show what the wall clock then shows as `wall`, unless that is set; never if it cannot.
  [[nodiscard]] instant when_wall_shows(instant wall) const noexcept;

  /// The earliest deadline of all that follow this clock; never if nothing is pending.
  [[nodiscard]] instant next_deadline();

  /// From now on `follower` is run by this clock, until it is destroyed. Throws std::bad_alloc with
  /// nothing changed.
  void join(std::weak_ptr<timeline> follower);

 private:
  class turn_to_advance;

  expiry run_to(instant target, budget limit);
  void raise_to(instant target) noexcept;
  using followers = std::vector<std::shared_ptr<timeline>>;
  /// Replaces `found` by those that are alive. What it held is destroyed, and must be, without a lock.
  void find_followers(followers& found);
  static std::shared_ptr<timeline> earliest_of(const followers& all, instant& deadline);

  mutable mutex lock_{lock_rank::timeline};
  std::vector<std::weak_ptr<timeline>> followers_ FOLIOT_GUARDED_BY(lock_);
  /// The thread that advances, or null; the others wait for `turn_`.
  const void* advancer_ FOLIOT_GUARDED_BY(lock_) = nullptr;
  condition turn_ FOLIOT_GUARDED_BY(lock_);
  /// Only the thread that advances touches it: kept, so that an advance allocates nothing.
  followers found_;
  // Raised by whoever advances or stalls. Release and acquire, so that who reads the new time also sees
  // what was done at earlier times.
  seam::atomic<std::int64_t> now_;
  // By how much the wall clock is ahead, in nanoseconds. Written by set_wall() with release and read with
  // acquire, so that a thread that reads the new time also sees all that was done before the clock was set.
  seam::atomic<std::int64_t> wall_ahead_{0};
};

}  // namespace foliot::inline core
