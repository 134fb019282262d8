// Slack: lateness that a timer allows, so that timers share wake-ups.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>

namespace foliot::inline core {

/// The roundest instant in [deadline, deadline + slack]: the one with the most trailing zero bits. Timers
/// whose stretches overlap tend to get the same, and a wheel need not move such a timer to finer slots.
/// A slack that is zero or negative allows nothing. O(1), safe from any thread.
///
///   coalesced(0b1011'0110, slack 0b100) == 0b1011'1000
[[nodiscard]] constexpr instant coalesced(instant deadline, duration slack) noexcept {
  if (slack <= duration::zero() || deadline.is_never() || deadline == instant::earliest()) return deadline;
  const instant latest = std::min(deadline + slack, instant::latest());
  const auto last = static_cast<std::uint64_t>(latest.nanoseconds());
  const std::uint64_t before_first = static_cast<std::uint64_t>(deadline.nanoseconds()) - 1;
  // The highest bit in which the two differ is one in `last`; all below it may become zero.
  const int bit = static_cast<int>(std::bit_width(before_first ^ last)) - 1;
  return instant::from_nanoseconds(static_cast<std::int64_t>(last >> bit << bit));
}

}  // namespace foliot::inline core
