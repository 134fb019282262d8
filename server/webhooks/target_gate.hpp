// Decides when a delivery to a target may begin: how many are under way at once, how many begin in a second, and
// whether the target is up.
//
//   const permission may = gate.try_enter(now);
//   switch (may.what) …                       // granted: deliver, and then gate.settle(result, now)
//
// The circuit of a target is closed while deliveries go well. `failures_to_open` failures in a row open it: nothing is
// delivered for `first_pause`. Then it is half open: one delivery is let through as a probe. If that goes well the
// circuit is closed; if it fails, it is open again for twice as long, up to `longest_pause`. A probe that was given up
// says nothing, and the next one may begin at once.
//
// What counts: an answer of any status below 500 but 429 shows that the target is up (such a job has failed, its
// target has not). A late success closes an open circuit; a late failure does not lengthen its pause.
//
// A target that asks for patience (Retry-After with 429 and 503) is held until then. A target that is gone (410) is
// disabled: nothing is delivered until enable().
//
// The rate is a token bucket that begins full: `burst` at once after a silence, and then `each_second`.
//
// No clock, no task: the caller tells the time, by the clock of its runtime. Waiting in turn is in target_turns.hpp.
//
// Thread safety: any thread. O(1).
#pragma once

#include <cstddef>
#include <cstdint>

#include <foliot/core/annotations.hpp>
#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/core/sync/mutex.hpp>

namespace foliot::program::webhooks {

/// The limits of a target.
struct target_limits {
  std::size_t most_at_once = 10;     ///< deliveries under way; at least 1
  std::uint64_t each_second = 0;     ///< deliveries that begin in a second, up to 1,000,000; 0: no limit
  std::uint64_t burst = 0;           ///< at once, after a silence; 0: as many as in a second
  std::size_t failures_to_open = 5;  ///< in a row; 0: the circuit never opens
  duration first_pause = duration::nanoseconds(5'000'000'000);
  duration longest_pause = duration::nanoseconds(600'000'000'000);

  friend bool operator==(const target_limits&, const target_limits&) noexcept = default;
};

enum class circuit : std::uint8_t { closed, open, half_open };

/// How a delivery went, as far as the target is concerned.
enum class went : std::uint8_t {
  well,      ///< delivered
  answered,  ///< the target is up, but did not take this job
  badly,     ///< the target seems to be down
  nowhere,   ///< given up: it says nothing about the target
};

/// Whether a delivery may begin.
struct permission {
  enum class kind : std::uint8_t {
    granted,           ///< begin; then call settle()
    not_before,        ///< ask again at `when`, or after a change
    after_a_delivery,  ///< ask again when a delivery under way has ended
    disabled,          ///< not before enable()
  };
  kind what = kind::granted;
  instant when{};
  bool is_probe = false;  ///< of a granted one: hand it to settle()
};

/// For pages and metrics.
struct gate_state {
  circuit state = circuit::closed;
  bool disabled = false;
  std::size_t under_way = 0;
  std::size_t failures = 0;        ///< in a row
  std::uint64_t times_opened = 0;  ///< since the start
  instant closed_until{};          ///< while the circuit is open
  instant held_until{};            ///< by Retry-After
};

class target_gate {
 public:
  /// Throws std::invalid_argument, which names the limit that is out of range.
  explicit target_gate(const target_limits& limits);
  target_gate(const target_gate&) = delete;
  target_gate& operator=(const target_gate&) = delete;

  [[nodiscard]] permission try_enter(instant now);
  /// A delivery that was let in has ended.
  void settle(went how, bool was_probe, instant now) noexcept;
  /// No delivery begins before that instant. An earlier one than before changes nothing.
  void hold_until(instant when) noexcept;
  void disable() noexcept;
  /// Enables the target again, with a closed circuit and no hold.
  void enable() noexcept;
  /// Takes effect for the deliveries that begin from now on. Throws as the constructor does, with nothing changed.
  void set_limits(const target_limits& limits);

  [[nodiscard]] gate_state state() const noexcept;

 private:
  static void check(const target_limits& limits);
  [[nodiscard]] duration interval() const noexcept FOLIOT_REQUIRES(lock_);
  void open(instant now) noexcept FOLIOT_REQUIRES(lock_);

  mutable mutex lock_{lock_rank::object};
  target_limits limits_ FOLIOT_GUARDED_BY(lock_);
  gate_state state_ FOLIOT_GUARDED_BY(lock_);
  duration pause_ FOLIOT_GUARDED_BY(lock_);     // the next one
  instant full_at_ FOLIOT_GUARDED_BY(lock_){};  // when the bucket of the rate is full
};

}  // namespace foliot::program::webhooks
