// A length of time in whole nanoseconds, saturating.
//
// Any std::chrono duration converts to it, rounded up, so that a timer made from it is never early (a floating-point
// duration: to the precision of long double). The std::chrono duration may count in integers of up to 128 bits. NaN is
// refused and infinities become the ends of the range, also with -ffast-math. Arithmetic saturates instead of
// overflowing. The upper end is `forever()`: forever plus or minus anything finite is forever.
//
//   foliot::duration idle = std::chrono::minutes{30};
//   foliot::duration beat = idle / 2;
//   std::cout << beat;                                        // 15m
//
// Range: some 292 years in both directions. Every operation is O(1), constexpr and safe from any thread.
#pragma once

#include <foliot/core/language.hpp>

#include <bit>
#include <chrono>
#include <compare>
#include <concepts>
#include <cstdint>
#include <iosfwd>
#include <limits>
#include <ratio>
#include <stdexcept>
#include <string>
#include <type_traits>

#include <foliot/core/export.h>

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

__extension__ using int128 = __int128;
__extension__ using uint128 = unsigned __int128;

/// The integer types that a duration may count in. std::integral includes the 128-bit types in GNU dialects only.
template <class Rep>
concept countable = std::integral<Rep> || std::same_as<Rep, int128> || std::same_as<Rep, uint128>;

enum class number_kind : std::uint8_t { finite, above, below, none };

/// Classifies by the bits: with -ffast-math compilers assume that no operation has an infinity or NaN as its operand.
inline number_kind kind_of(double number) noexcept {
  auto bits = std::bit_cast<std::uint64_t>(number);
  asm("" : "+r"(bits));  // hides from the compiler that these are the bits of a double, to which the assumption applies
  constexpr std::uint64_t sign = std::uint64_t{1} << 63;
  constexpr std::uint64_t infinity = std::uint64_t{0x7ff} << 52;
  if ((bits & infinity) != infinity) return number_kind::finite;
  if ((bits & ~sign) != infinity) return number_kind::none;
  return (bits & sign) == 0 ? number_kind::above : number_kind::below;
}

template <class Scale, class Rep>
constexpr std::int64_t rounded_up_from_floating(Rep count) {
  const auto number = static_cast<long double>(count);
  if !consteval {  // in a constant expression the cast of a NaN below does not compile
    switch (kind_of(static_cast<double>(number))) {
      case number_kind::none: throw std::invalid_argument("foliot: a duration must be a number, not NaN");
      case number_kind::above: return int64_max;
      case number_kind::below: return int64_min;
      case number_kind::finite: break;
    }
  }
  const long double exact = number * Scale::num / Scale::den;
  if (exact >= static_cast<long double>(int64_max)) return int64_max;
  if (exact <= static_cast<long double>(int64_min)) return int64_min;
  const auto whole = static_cast<std::int64_t>(exact);  // towards zero
  return static_cast<long double>(whole) < exact ? whole + 1 : whole;
}

/// Saturates. Throws std::invalid_argument for NaN.
constexpr std::int64_t nearest_from_floating(long double exact) {
  if !consteval {
    switch (kind_of(static_cast<double>(exact))) {
      case number_kind::none: throw std::invalid_argument("foliot: a duration must be a number, not NaN");
      case number_kind::above: return int64_max;
      case number_kind::below: return int64_min;
      case number_kind::finite: break;
    }
  }
  if (exact >= static_cast<long double>(int64_max)) return int64_max;
  if (exact <= static_cast<long double>(int64_min)) return int64_min;
  const auto whole = static_cast<std::int64_t>(exact);  // towards zero
  const long double rest = exact - static_cast<long double>(whole);
  return rest >= 0.5L ? whole + 1 : rest <= -0.5L ? whole - 1 : whole;
}

/// For counts that may exceed a signed 64-bit integer.
template <class Scale, class Rep>
constexpr std::int64_t rounded_up_from_wide(Rep count) noexcept {
  constexpr auto most = static_cast<int128>(~uint128{0} >> 1);
  if (count > 0 && static_cast<uint128>(count) > static_cast<uint128>(most)) return int64_max;
  const auto ticks = static_cast<int128>(count);
  int128 whole = 0;
  const bool overflows = __builtin_mul_overflow(ticks / Scale::den, int128{Scale::num}, &whole);
  // The rest has the sign of the whole: adding it cannot bring an overflowed value back into range.
  if (overflows || whole > int64_max || whole < int64_min) return ticks > 0 ? int64_max : int64_min;
  const int128 rest = ticks % Scale::den * Scale::num;  // less than 2^126
  const int128 exact = whole + rest / Scale::den + (rest % Scale::den > 0 ? 1 : 0);
  return exact > int64_max ? int64_max : exact < int64_min ? int64_min : static_cast<std::int64_t>(exact);
}

/// `count` ticks of Period in nanoseconds, rounded up, saturating.
template <class Rep, class Period>
constexpr std::int64_t nanoseconds_rounded_up(Rep count) {
  using scale = std::ratio_divide<Period, std::nano>;
  if constexpr (std::chrono::treat_as_floating_point_v<Rep>) {
    return rounded_up_from_floating<scale>(count);
  } else {
    static_assert(countable<Rep>, "foliot: a duration must count in integers or floating point");
    constexpr bool is_signed = Rep(-1) < Rep(0);
    if constexpr (sizeof(Rep) > sizeof(std::int64_t) || (sizeof(Rep) == sizeof(std::int64_t) && !is_signed)) {
      return rounded_up_from_wide<scale>(count);
    } else if constexpr (scale::den == 1) {
      return saturating_multiply(static_cast<std::int64_t>(count), scale::num);
    } else {
      static_assert(scale::den <= int64_max / scale::num,
                    "foliot: the period of this duration has too large a numerator and denominator");
      // Whole multiples of den first, so that only the remainder is scaled up before the division.
      const auto ticks = static_cast<std::int64_t>(count);
      const std::int64_t whole = saturating_multiply(ticks / scale::den, scale::num);
      const std::int64_t rest = ticks % scale::den * scale::num;
      return saturating_add(whole, rest / scale::den + (rest % scale::den > 0 ? 1 : 0));
    }
  }
}

}  // namespace foliot::detail

namespace foliot::inline core {

/// A length of time in whole nanoseconds, positive, zero or negative. All operations saturate.
class duration {
 public:
  /// Zero.
  constexpr duration() noexcept = default;

  /// From any std::chrono duration, rounded up to a whole nanosecond, saturating. Throws std::invalid_argument for a
  /// floating-point NaN; nothing else throws.
  template <class Rep, class Period>
  constexpr duration(std::chrono::duration<Rep, Period> length)  // NOLINT(google-explicit-constructor)
      : nanoseconds_(detail::nanoseconds_rounded_up<Rep, Period>(length.count())) {}

  // A call of a deleted function is an error that shows this line, with its comment.
  // NOLINTBEGIN(google-explicit-constructor)
  template <class Number>
    requires std::is_arithmetic_v<Number>
  duration(Number) = delete;  // foliot: a duration needs a unit: write 20ms or std::chrono::milliseconds(n)
  // NOLINTEND(google-explicit-constructor)

  /// `count` nanoseconds; INT64_MAX is forever.
  [[nodiscard]] static constexpr duration nanoseconds(std::int64_t count) noexcept {
    duration made;
    made.nanoseconds_ = count;
    return made;
  }
  /// No time at all.
  [[nodiscard]] static constexpr duration zero() noexcept { return duration(); }
  /// The upper end: a deadline that far away never comes.
  [[nodiscard]] static constexpr duration forever() noexcept { return nanoseconds(detail::int64_max); }
  /// The most negative length.
  [[nodiscard]] static constexpr duration lowest() noexcept { return nanoseconds(detail::int64_min); }

  /// The length in nanoseconds.
  [[nodiscard]] constexpr std::int64_t count() const noexcept { return nanoseconds_; }
  /// Whether this is the upper end.
  [[nodiscard]] constexpr bool is_forever() const noexcept { return nanoseconds_ == detail::int64_max; }
  /// The same count of nanoseconds; forever becomes std::chrono::nanoseconds::max().
  [[nodiscard]] constexpr std::chrono::nanoseconds to_chrono() const noexcept {
    return std::chrono::nanoseconds(nanoseconds_);
  }

  friend constexpr auto operator<=>(duration, duration) noexcept = default;

  /// Forever if either operand is forever.
  friend constexpr duration operator+(duration a, duration b) noexcept {
    if (a.is_forever() || b.is_forever()) return forever();
    return nanoseconds(detail::saturating_add(a.nanoseconds_, b.nanoseconds_));
  }
  /// Forever if `a` is forever.
  friend constexpr duration operator-(duration a, duration b) noexcept {
    if (a.is_forever()) return forever();
    return nanoseconds(detail::saturating_subtract(a.nanoseconds_, b.nanoseconds_));
  }
  friend constexpr duration operator*(duration a, std::int64_t factor) noexcept {
    return nanoseconds(detail::saturating_multiply(a.nanoseconds_, factor));
  }
  friend constexpr duration operator*(std::int64_t factor, duration a) noexcept { return a * factor; }
  /// To the nearest nanosecond. Throws std::invalid_argument if the product is not a number.
  template <std::floating_point Factor>
  friend constexpr duration operator*(duration a, Factor factor) {
    return nanoseconds(
        detail::nearest_from_floating(static_cast<long double>(a.nanoseconds_) * static_cast<long double>(factor)));
  }
  template <std::floating_point Factor>
  friend constexpr duration operator*(Factor factor, duration a) {
    return a * factor;
  }
  /// The quotient, rounded towards zero. Precondition: `b` is not zero.
  friend constexpr std::int64_t operator/(duration a, duration b) noexcept {
    if (b.nanoseconds_ == -1) return (-a).nanoseconds_;  // INT64_MIN / -1 would overflow
    return a.nanoseconds_ / b.nanoseconds_;
  }
  /// `a` divided by `divisor`, rounded towards zero. Precondition: `divisor` is not zero.
  friend constexpr duration operator/(duration a, std::int64_t divisor) noexcept {
    return nanoseconds(a / nanoseconds(divisor));
  }
  /// To the nearest nanosecond. Throws std::invalid_argument if the quotient is not a number: zero divided by zero.
  template <std::floating_point Divisor>
  friend constexpr duration operator/(duration a, Divisor divisor) {
    return nanoseconds(
        detail::nearest_from_floating(static_cast<long double>(a.nanoseconds_) / static_cast<long double>(divisor)));
  }
  /// Saturates, as all arithmetic here does.
  constexpr duration operator-() const noexcept { return nanoseconds(detail::saturating_subtract(0, nanoseconds_)); }
  /// Saturates.
  constexpr duration& operator+=(duration other) noexcept { return *this = *this + other; }
  /// Saturates.
  constexpr duration& operator-=(duration other) noexcept { return *this = *this - other; }

 private:
  std::int64_t nanoseconds_ = 0;
};

/// The length in days, hours, minutes and seconds, or if it is shorter than a second in ms, us or ns: 1h30m, 2.5s,
/// -3ms, 0s, forever. Exact. Throws std::bad_alloc.
[[nodiscard]] FOLIOT_EXPORT std::string to_string(duration length);

/// Writes to_string(length). format.hpp has it for std::format, adapters/fmt.hpp for {fmt}.
template <class Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, duration length) {
  return out << to_string(length).c_str();
}

}  // namespace foliot::inline core
