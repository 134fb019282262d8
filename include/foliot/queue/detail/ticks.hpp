// Ticks: the unit of time of the queues that count in whole intervals.
//
// A tick is a whole number of nanoseconds. Ticks are counted from before instant::earliest(), so that a tick's number
// is never negative and a wheel's slot is its remainder. A deadline is rounded up to its tick, the clock down to the
// last tick that is over, so that no timer fires early and none more than one tick late. An exception: the latest
// instant may lie inside a tick that no clock completes; that tick counts as over when the clock shows the latest
// instant.
//
// Every function is O(1), constexpr and safe from any thread.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>

namespace foliot::detail {

using tick = std::uint64_t;

/// The tick of `never`. No clock reaches it.
inline constexpr tick never_tick = std::numeric_limits<tick>::max();

/// The number of ticks of this length before the clock's origin.
constexpr tick ticks_before_origin(std::int64_t length) noexcept {
  return tick{0} - static_cast<tick>(int64_min / length) + (int64_min % length != 0 ? 1 : 0);
}

/// A length that is a constant. The members are static: then the compiler divides by constants before it decides what
/// to inline.
template <std::int64_t Nanoseconds>
struct fixed_tick {
  /// The type of a tick's number: signed, for which the compiler emits fewer instructions, unless a tick is one
  /// nanosecond; only then there are more ticks than a signed number can hold.
  using count = std::conditional_t<(Nanoseconds > 1), std::int64_t, tick>;
  static constexpr std::int64_t length_ = Nanoseconds;
  static constexpr auto before_origin_ = static_cast<count>(ticks_before_origin(Nanoseconds));
};

/// A length that is chosen at run time. Precondition: it is positive.
struct chosen_tick {
  using count = tick;
  constexpr explicit chosen_tick(std::int64_t nanoseconds) noexcept
      : length_(nanoseconds), before_origin_(ticks_before_origin(nanoseconds)) {}
  std::int64_t length_;
  tick before_origin_;
};

/// Ticks of one length: a fixed_tick, or a chosen_tick.
template <class Length>
class tick_scale : private Length {
  using Length::before_origin_;
  using Length::length_;

 public:
  using Length::Length;
  constexpr tick_scale() noexcept
    requires std::default_initializable<Length>
  = default;

  [[nodiscard]] constexpr duration length() const noexcept { return duration::nanoseconds(length_); }

  /// The last tick that is over when the clock shows `t`.
  [[nodiscard]] constexpr tick over_at(instant t) const noexcept {
    const std::int64_t whole = t.nanoseconds() / length_ - (t.nanoseconds() % length_ < 0 ? 1 : 0);
    return static_cast<tick>(static_cast<typename Length::count>(whole) + before_origin_);
  }

  /// The tick at which a timer with this deadline fires.
  [[nodiscard]] constexpr tick of(instant deadline) const noexcept {
    if (deadline.is_never()) return never_tick;
    return over_at(deadline) + (deadline.nanoseconds() % length_ != 0 ? 1 : 0);
  }

  /// The last tick that a timer may have, except never_tick.
  [[nodiscard]] constexpr tick last() const noexcept { return of(instant::latest()); }

  /// The tick that the clock has reached when it shows `now`.
  [[nodiscard]] constexpr tick reached(instant now) const noexcept {
    return now >= instant::latest() ? last() : over_at(now);
  }

  /// The instant at which a tick is reached; never for never_tick. Precondition: the tick is not before that of
  /// instant::earliest().
  [[nodiscard]] constexpr instant instant_of(tick t) const noexcept {
    if (t == never_tick) return instant::never();
    if (t >= last()) return instant::latest();
    return instant::from_nanoseconds(
        static_cast<std::int64_t>(static_cast<typename Length::count>(t) - before_origin_) * length_);
  }
};

}  // namespace foliot::detail
