// Slack: the lateness that a timer allows, so that several timers share one wake-up.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>

namespace foliot::inline core {

/// The instant in [deadline, deadline + slack] with the most trailing zero bits. Timers whose intervals overlap tend to
/// get the same instant, and a wheel need not move such a timer to finer slots. Returns `deadline` for a slack that is
/// zero or negative. O(1), safe from any thread.
///
///   coalesced(0b1011'0110, slack 0b100) == 0b1011'1000
[[nodiscard]] constexpr instant coalesced(instant deadline, duration slack) noexcept {
  if (slack <= duration::zero() || deadline.is_never() || deadline == instant::earliest()) return deadline;
  const instant latest = std::min(deadline + slack, instant::latest());
  const auto last = static_cast<std::uint64_t>(latest.nanoseconds());
  const std::uint64_t before_first = static_cast<std::uint64_t>(deadline.nanoseconds()) - 1;
  // The highest bit in which the two differ is one in `last`; all bits below it may be cleared.
  const int bit = static_cast<int>(std::bit_width(before_first ^ last)) - 1;
  return instant::from_nanoseconds(static_cast<std::int64_t>(last >> bit << bit));
}

}  // namespace foliot::inline core
