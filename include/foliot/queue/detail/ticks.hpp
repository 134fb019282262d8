// Ticks of a millisecond, for the queues that count in them.
//
// A tick is a whole number of milliseconds of the clock's own time, counted from before the earliest
// instant there is, so that a tick is never negative, and a wheel's slots are plain remainders. A
// deadline is rounded up to its tick and the clock down to the last tick that is over, so that no timer
// fires early, and none later than by one tick. Only at the latest instant, which lies inside a tick
// that no clock completes, that tick counts as over.
//
// Every function is O(1), constexpr and safe from any thread.
#pragma once

#include <cstdint>
#include <limits>

#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>

namespace foliot::detail {

using tick = std::uint64_t;

inline constexpr std::int64_t tick_length = 1'000'000;  // nanoseconds
/// The tick of `never`. No clock reaches it.
inline constexpr tick never_tick = std::numeric_limits<tick>::max();

/// How many ticks of the clock's time lie before its origin.
inline constexpr std::int64_t ticks_before_origin = -(int64_min / tick_length) + 1;

/// The last tick that is over when the clock shows `t`.
constexpr tick tick_over_at(instant t) noexcept {
  const std::int64_t whole = t.nanoseconds() / tick_length - (t.nanoseconds() % tick_length < 0 ? 1 : 0);
  return static_cast<tick>(whole + ticks_before_origin);
}

/// The tick at which a timer with this deadline fires.
constexpr tick tick_of(instant deadline) noexcept {
  if (deadline.is_never()) return never_tick;
  return tick_over_at(deadline) + (deadline.nanoseconds() % tick_length != 0 ? 1 : 0);
}

/// The last tick that a timer may have.
inline constexpr tick last_tick = tick_of(instant::latest());

/// The tick that the clock has reached when it shows `now`.
constexpr tick tick_reached(instant now) noexcept { return now >= instant::latest() ? last_tick : tick_over_at(now); }

/// When `t` is reached; ticks that no clock reaches are never.
constexpr instant instant_of(tick t) noexcept {
  if (t == never_tick) return instant::never();
  if (t >= last_tick) return instant::latest();
  return instant::from_nanoseconds((static_cast<std::int64_t>(t) - ticks_before_origin) * tick_length);
}

static_assert(tick_over_at(instant::earliest()) == 0);
static_assert(tick_of(instant::earliest()) == 1);

}  // namespace foliot::detail
