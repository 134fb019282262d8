// A grid of instants: `first`, `first` + period, `first` + 2 periods, and so on.
//
//   // The next 03:00 UTC of a grid that has one each day.
//   const foliot::instant three = foliot::wall_clock::from_sys(std::chrono::sys_days{} + 3h);
//   const foliot::instant next = foliot::next_on_grid(three, 24h, foliot::wall_clock::instance().now());
//
// O(1), constexpr, safe from any thread.
#pragma once

#include <foliot/core/language.hpp>

#include <cstdint>
#include <stdexcept>
#include <string>

#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>

namespace foliot::inline core {

/// The first instant of the grid that is not before `from`, exact to the nanosecond: `first` itself if it is not before
/// `from`. Never if the instant would lie beyond instant::latest(). Throws std::invalid_argument for a period that is
/// not positive. O(1), any thread.
[[nodiscard]] constexpr instant next_on_grid(instant first, duration period, instant from) {
  if (period <= duration::zero()) {
    throw std::invalid_argument("foliot: the period of a grid must be positive, got " + std::to_string(period.count()) +
                                " ns");
  }
  if (first >= from) return first;
  if (from.is_never() || period.is_forever()) return instant::never();
  const detail::int128 passed = detail::int128{from.nanoseconds()} - first.nanoseconds();
  const detail::int128 periods = (passed + period.count() - 1) / period.count();
  const detail::int128 next = first.nanoseconds() + periods * period.count();
  return next > instant::latest().nanoseconds() ? instant::never()
                                                : instant::from_nanoseconds(static_cast<std::int64_t>(next));
}

}  // namespace foliot::inline core
