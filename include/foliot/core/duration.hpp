// A length of time in whole nanoseconds, saturating.
//
// Any std::chrono duration converts to it, rounded up, never down, so that a timer made from it is
// never early (one in floating point: to the precision of long double). Arithmetic stops at the ends
// instead of overflowing; the upper end is `forever()`: plus or minus anything finite it is for ever.
//
//   foliot::duration idle = std::chrono::minutes{30};
//   foliot::duration beat = idle / 2;
//
// Range: some 292 years either way. Every operation is O(1), constexpr and safe from any thread.
#pragma once

#include <foliot/core/language.hpp>

#include <chrono>
#include <compare>
#include <concepts>
#include <cstdint>
#include <limits>
#include <ratio>
#include <stdexcept>

namespace foliot::detail {

inline constexpr std::int64_t int64_max = std::numeric_limits<std::int64_t>::max();
inline constexpr std::int64_t int64_min = std::numeric_limits<std::int64_t>::min();

constexpr std::int64_t saturating_add(std::int64_t a, std::int64_t b) noexcept {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b > 0 ? int64_max : int64_min;
}

constexpr std::int64_t saturating_subtract(std::int64_t a, std::int64_t b) noexcept {
  std::int64_t difference = 0;
  if (!__builtin_sub_overflow(a, b, &difference)) return difference;
  return b < 0 ? int64_max : int64_min;
}

constexpr std::int64_t saturating_multiply(std::int64_t a, std::int64_t b) noexcept {
  std::int64_t product = 0;
  if (!__builtin_mul_overflow(a, b, &product)) return product;
  return (a < 0) == (b < 0) ? int64_max : int64_min;
}

/// `count` ticks of Period in nanoseconds, rounded up, stopping at the ends.
template <class Rep, class Period>
constexpr std::int64_t nanoseconds_rounded_up(Rep count) {
  using scale = std::ratio_divide<Period, std::nano>;
  if constexpr (std::chrono::treat_as_floating_point_v<Rep>) {
    const auto exact = static_cast<long double>(count) * scale::num / scale::den;
    if (exact != exact) throw std::invalid_argument("foliot: a duration must be a number, not NaN");
    if (exact >= static_cast<long double>(int64_max)) return int64_max;
    if (exact <= static_cast<long double>(int64_min)) return int64_min;
    const auto whole = static_cast<std::int64_t>(exact);  // towards zero
    return static_cast<long double>(whole) < exact ? whole + 1 : whole;
  } else {
    static_assert(std::integral<Rep>, "foliot: a duration counts in integers or floating point");
    if constexpr (std::unsigned_integral<Rep>) {
      if (count > static_cast<std::make_unsigned_t<std::int64_t>>(int64_max)) return int64_max;
    }
    const std::int64_t ticks = static_cast<std::int64_t>(count);
    if constexpr (scale::den == 1) {
      return saturating_multiply(ticks, scale::num);
    } else {
      static_assert(scale::den <= detail::int64_max / scale::num, "foliot: the unit of this duration is too odd");
      // Whole multiples of den first, so that only the remainder is scaled up before the division.
      const std::int64_t whole = saturating_multiply(ticks / scale::den, scale::num);
      const std::int64_t rest = ticks % scale::den * scale::num;
      return saturating_add(whole, rest / scale::den + (rest % scale::den > 0 ? 1 : 0));
    }
  }
}

}  // namespace foliot::detail

namespace foliot::inline core {

class duration {
 public:
  constexpr duration() noexcept = default;

  /// From any chrono duration, rounded up to a whole nanosecond, stopping at the ends.
  /// Throws std::invalid_argument for a floating-point NaN; nothing else throws.
  template <class Rep, class Period>
  constexpr duration(std::chrono::duration<Rep, Period> length)  // NOLINT(google-explicit-constructor)
      : nanoseconds_(detail::nanoseconds_rounded_up<Rep, Period>(length.count())) {}

  [[nodiscard]] static constexpr duration nanoseconds(std::int64_t count) noexcept { return duration(count); }
  [[nodiscard]] static constexpr duration zero() noexcept { return duration(0); }
  /// Longer than any other: a deadline that far away never comes.
  [[nodiscard]] static constexpr duration forever() noexcept { return duration(detail::int64_max); }
  /// The most negative length.
  [[nodiscard]] static constexpr duration lowest() noexcept { return duration(detail::int64_min); }

  /// The length in nanoseconds.
  [[nodiscard]] constexpr std::int64_t count() const noexcept { return nanoseconds_; }
  [[nodiscard]] constexpr bool is_forever() const noexcept { return nanoseconds_ == detail::int64_max; }
  [[nodiscard]] constexpr std::chrono::nanoseconds to_chrono() const noexcept {
    return std::chrono::nanoseconds(nanoseconds_);
  }

  friend constexpr auto operator<=>(duration, duration) noexcept = default;

  friend constexpr duration operator+(duration a, duration b) noexcept {
    if (a.is_forever() || b.is_forever()) return forever();
    return duration(detail::saturating_add(a.nanoseconds_, b.nanoseconds_));
  }
  friend constexpr duration operator-(duration a, duration b) noexcept {
    if (a.is_forever()) return forever();
    return duration(detail::saturating_subtract(a.nanoseconds_, b.nanoseconds_));
  }
  friend constexpr duration operator*(duration a, std::int64_t factor) noexcept {
    return duration(detail::saturating_multiply(a.nanoseconds_, factor));
  }
  friend constexpr duration operator*(std::int64_t factor, duration a) noexcept { return a * factor; }
  /// How often `b` fits into `a`, towards zero. Precondition: `b` is not zero.
  friend constexpr std::int64_t operator/(duration a, duration b) noexcept {
    if (b.nanoseconds_ == -1) return (-a).nanoseconds_;  // INT64_MIN / -1 would overflow
    return a.nanoseconds_ / b.nanoseconds_;
  }
  /// An even share, towards zero. Precondition: `divisor` is not zero.
  friend constexpr duration operator/(duration a, std::int64_t divisor) noexcept {
    return duration(a / duration(divisor));
  }
  constexpr duration operator-() const noexcept { return duration(detail::saturating_subtract(0, nanoseconds_)); }
  constexpr duration& operator+=(duration other) noexcept { return *this = *this + other; }
  constexpr duration& operator-=(duration other) noexcept { return *this = *this - other; }

 private:
  explicit constexpr duration(std::int64_t nanoseconds) noexcept : nanoseconds_(nanoseconds) {}

  std::int64_t nanoseconds_ = 0;
};

}  // namespace foliot::inline core
