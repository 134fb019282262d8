// A point in time: nanoseconds since its clock's own origin, saturating.
//
// Each clock has its own origin (the boot for the monotonic clock, 1970 for the wall clock), so instants of different
// clocks must not be mixed. The upper end of the range is `never()`: no clock reaches it, and never plus or minus any
// duration is never.
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

/// A point in time of one clock, in nanoseconds since the clock's origin. All operations saturate.
class instant {
 public:
  /// The clock's origin.
  constexpr instant() noexcept = default;

  /// The instant that many nanoseconds after the origin, or before it if negative; INT64_MAX is never.
  [[nodiscard]] static constexpr instant from_nanoseconds(std::int64_t since_origin) noexcept {
    return instant(since_origin);
  }
  /// An instant that no clock reaches: the deadline of a timer that must not fire.
  [[nodiscard]] static constexpr instant never() noexcept { return instant(detail::int64_max); }
  /// The last instant that a clock can show: one nanosecond before never.
  [[nodiscard]] static constexpr instant latest() noexcept { return instant(detail::int64_max - 1); }
  /// The lower end of the range, 292 years before the origin.
  [[nodiscard]] static constexpr instant earliest() noexcept { return instant(detail::int64_min); }

  /// Nanoseconds since the clock's origin.
  [[nodiscard]] constexpr std::int64_t nanoseconds() const noexcept { return since_origin_; }
  /// Whether this is never().
  [[nodiscard]] constexpr bool is_never() const noexcept { return since_origin_ == detail::int64_max; }

  friend constexpr auto operator<=>(instant, instant) noexcept = default;

  /// Never if `t` is never or `d` is forever.
  friend constexpr instant operator+(instant t, duration d) noexcept {
    if (t.is_never() || d.is_forever()) return never();
    return instant(detail::saturating_add(t.since_origin_, d.count()));
  }
  /// Never if `t` is never.
  friend constexpr instant operator-(instant t, duration d) noexcept {
    if (t.is_never()) return never();
    return instant(detail::saturating_subtract(t.since_origin_, d.count()));
  }
  /// The time from `b` to `a`. Never minus any other instant is forever; never minus never is zero.
  friend constexpr duration operator-(instant a, instant b) noexcept {
    if (a == b) return duration::zero();
    if (a.is_never()) return duration::forever();
    return duration::nanoseconds(detail::saturating_subtract(a.since_origin_, b.since_origin_));
  }
  /// Saturates; never stays never.
  constexpr instant& operator+=(duration d) noexcept { return *this = *this + d; }
  /// Saturates; never stays never.
  constexpr instant& operator-=(duration d) noexcept { return *this = *this - d; }

 private:
  explicit constexpr instant(std::int64_t since_origin) noexcept : since_origin_(since_origin) {}

  std::int64_t since_origin_ = 0;
};

/// The time since the clock's origin, with its sign, as to_string(duration) writes it: +1h30m, -2.5s, +0s; or never.
/// Exact. Throws std::bad_alloc.
[[nodiscard]] FOLIOT_EXPORT std::string to_string(instant when);

/// Writes to_string(when). format.hpp has it for std::format, adapters/fmt.hpp for {fmt}.
template <class Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, instant when) {
  return out << to_string(when).c_str();
}

/// The deadline of a timer that is started at `now` for `d`: `now` if `d` is zero or negative; never if the sum exceeds
/// the range.
[[nodiscard]] constexpr instant deadline_after(instant now, duration d) noexcept {
  return d > duration::zero() ? now + d : now;
}

/// Whether a timer with this deadline must fire when its clock shows `now`. A deadline of never is not due at any
/// `now`.
[[nodiscard]] constexpr bool is_due(instant deadline, instant now) noexcept {
  return deadline <= now && !deadline.is_never();
}

}  // namespace foliot::inline core
