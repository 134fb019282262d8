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
// Callbacks run on the thread that advances. A callback must not advance the clock that runs it: that
// throws std::logic_error. Time only moves on: advancing to an instant in the past changes nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <foliot/core/annotations.hpp>
#include <foliot/core/clock.hpp>
#include <foliot/core/expiry.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/core/sync/mutex.hpp>

namespace foliot::inline core {

/// Who follows a virtual clock: something that has timers and no thread of its own.
class timeline {
 public:
  virtual ~timeline() = default;
  /// The earliest deadline, or never.
  [[nodiscard]] virtual instant next_deadline() = 0;
  /// Fires what is due at `now`, at most `limit` timers.
  virtual expiry run_due(instant now, budget limit) = 0;
};

class virtual_clock final : public clock {
 public:
  /// Begins at `start`, which is any instant but never; by default the origin.
  explicit virtual_clock(instant start = instant{}) noexcept;

  [[nodiscard]] instant now() const noexcept override;

  /// Moves time on by `length` (zero: fires what is due now; negative counts as zero), see advance_to.
  expiry advance(duration length, budget limit = unlimited);

  /// Moves time on to `target`, stopping at each deadline on the way to fire what is due there. Where
  /// several services follow the clock and are due at the same instant, the one that joined first
  /// goes first. When `limit` timers have fired and more is due on the way, time stays where it is:
  /// call again. `target` never means as far as time goes. O(1) beside the timers that fire.
  expiry advance_to(instant target, budget limit = unlimited);

  /// Moves time on by `length` and fires nothing, as a machine that was suspended, or a callback that
  /// computes. Never waits.
  void stall(duration length) noexcept;

  /// The earliest deadline of all that follow this clock; never if nothing is pending.
  [[nodiscard]] instant next_deadline();

  /// From now on `follower` is run by this clock, until it is destroyed. Throws std::bad_alloc with
  /// nothing changed.
  void join(std::weak_ptr<timeline> follower);

 private:
  void raise_to(instant target) noexcept;
  [[nodiscard]] std::shared_ptr<timeline> earliest_follower(instant& deadline) FOLIOT_EXCLUDES(list_);

  mutex advancing_{lock_rank::virtual_time};
  mutex list_{lock_rank::timeline};
  std::vector<std::weak_ptr<timeline>> followers_ FOLIOT_GUARDED_BY(list_);
  // Raised by whoever advances or stalls. Release and acquire, so that who reads the new time also sees
  // what was done at earlier times.
  seam::atomic<std::int64_t> now_;
  // Who is advancing, or null. Read by every advance to recognise itself: a thread can only find its
  // own address here if it wrote it, so relaxed is enough.
  seam::atomic<const void*> advancer_{nullptr};
};

}  // namespace foliot::inline core
