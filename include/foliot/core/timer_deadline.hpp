// The deadline of a timer as its user gives it: an instant of the timer's clock, or a time point of the standard
// library.
//
// The instants of all clocks have one type, and only the program knows which clock an instant is of. A time point of
// std::chrono says it: it is accepted by timers that go by the same clock, std::chrono::steady_clock's by those on the
// monotonic clock and std::chrono::system_clock's by those on the wall clock, and refused by all others, also by those
// on virtual time.
//
//   timer.reset_at(timers.now() + 5s);
//   timer.reset_at(std::chrono::steady_clock::now() + 5s);
//
// Thread safety: a plain value. O(1), allocates nothing.
#pragma once

#include <foliot/core/language.hpp>

#include <chrono>
#include <concepts>
#include <cstdint>

#include <foliot/core/clock.hpp>
#include <foliot/core/export.h>
#include <foliot/core/instant.hpp>

namespace foliot::inline core {

/// When a timer is due, for functions that arm timers.
class FOLIOT_EXPORT timer_deadline {
 public:
  /// An instant of the timer's clock.
  constexpr timer_deadline(instant when) noexcept : when_(when) {}  // NOLINT(google-explicit-constructor)
  /// A time point of std::chrono::steady_clock or std::chrono::system_clock, rounded up to a nanosecond, saturating as
  /// monotonic_clock::from_steady and wall_clock::from_sys do. Throws std::invalid_argument for a floating-point NaN.
  template <class Clock, class Duration>
  constexpr timer_deadline(std::chrono::time_point<Clock, Duration> when) {     // NOLINT(google-explicit-constructor)
    constexpr bool is_steady = std::same_as<Clock, std::chrono::steady_clock>;  // tidy: allow(seam-clock) its type
    constexpr bool is_system = std::same_as<Clock, std::chrono::system_clock>;  // tidy: allow(seam-clock) its type
    static_assert(
        is_steady || is_system,
        "foliot: a deadline is an instant of the timer's clock, or a time point of std::chrono::steady_clock or "
        "std::chrono::system_clock: convert this one");
    if constexpr (is_steady) {
      when_ = monotonic_clock::from_steady(when);
      source_ = source::steady;
    } else if constexpr (is_system) {
      when_ = wall_clock::from_sys(when);
      source_ = source::system;
    }
  }

  /// The instant, on the clock that the timer goes by, which `timers()` gives; called only for a time point. Throws
  /// std::invalid_argument for a time point of another clock.
  template <std::invocable Timers>
  [[nodiscard]] constexpr instant on(const Timers& timers) const {
    if (source_ != source::timers) check(timers());
    return when_;
  }

 private:
  enum class source : std::uint8_t { timers, steady, system };

  void check(const clock& timers) const;

  instant when_;
  source source_ = source::timers;
};

}  // namespace foliot::inline core
