// A point in time: nanoseconds since its clock's own origin, saturating.
//
// What the origin is, only the clock knows (boot for the monotonic clock, whatever a test chose for
// the virtual one), so instants of different clocks must not be mixed. The upper end is `never()`:
// it lies beyond all time, nothing brings it nearer, and no clock reaches it.
//
//   foliot::instant deadline = clock.now() + 30s;
//   if (deadline <= clock.now()) …
//
// Every operation is O(1), constexpr and safe from any thread.
#pragma once

#include <compare>
#include <cstdint>

#include <foliot/core/duration.hpp>

namespace foliot::inline core {

class instant {
 public:
  /// The clock's origin.
  constexpr instant() noexcept = default;

  [[nodiscard]] static constexpr instant from_nanoseconds(std::int64_t since_origin) noexcept {
    return instant(since_origin);
  }
  [[nodiscard]] static constexpr instant never() noexcept { return instant(detail::int64_max); }
  /// The last instant that a clock can show: the one before never.
  [[nodiscard]] static constexpr instant latest() noexcept { return instant(detail::int64_max - 1); }
  [[nodiscard]] static constexpr instant earliest() noexcept { return instant(detail::int64_min); }

  [[nodiscard]] constexpr std::int64_t nanoseconds() const noexcept { return since_origin_; }
  [[nodiscard]] constexpr bool is_never() const noexcept { return since_origin_ == detail::int64_max; }

  friend constexpr auto operator<=>(instant, instant) noexcept = default;

  friend constexpr instant operator+(instant t, duration d) noexcept {
    if (t.is_never() || d.is_forever()) return never();
    return instant(detail::saturating_add(t.since_origin_, d.count()));
  }
  friend constexpr instant operator-(instant t, duration d) noexcept {
    if (t.is_never()) return never();
    return instant(detail::saturating_subtract(t.since_origin_, d.count()));
  }
  /// From `b` to `a`. From anywhere to never is forever; never to never is no time at all.
  friend constexpr duration operator-(instant a, instant b) noexcept {
    if (a == b) return duration::zero();
    if (a.is_never()) return duration::forever();
    return duration::nanoseconds(detail::saturating_subtract(a.since_origin_, b.since_origin_));
  }
  constexpr instant& operator+=(duration d) noexcept { return *this = *this + d; }
  constexpr instant& operator-=(duration d) noexcept { return *this = *this - d; }

 private:
  explicit constexpr instant(std::int64_t since_origin) noexcept : since_origin_(since_origin) {}

  std::int64_t since_origin_ = 0;
};

/// The deadline of a timer started at `now` for `d`: a negative or zero duration means now, and past
/// the end of time means never.
[[nodiscard]] constexpr instant deadline_after(instant now, duration d) noexcept {
  return d > duration::zero() ? now + d : now;
}

/// Whether a timer with this deadline has to fire when the clock shows `now`. Never is never due.
[[nodiscard]] constexpr bool is_due(instant deadline, instant now) noexcept {
  return deadline <= now && !deadline.is_never();
}

}  // namespace foliot::inline core
