// Clocks: the sources of `now`, and the conversions between their instants and the standard library's time points.
#pragma once

#include <foliot/core/language.hpp>

#include <chrono>

#include <foliot/core/duration.hpp>
#include <foliot/core/export.h>
#include <foliot/core/instant.hpp>

namespace foliot::inline core {

/// A source of time. Every clock but the wall clock is monotonic: it never goes back. All members are safe from any
/// thread.
class FOLIOT_EXPORT clock {
 public:
  /// The present instant of this clock.
  [[nodiscard]] virtual instant now() const noexcept = 0;
  /// An instant that is not before now() and at most a few microseconds after it. For computing deadlines, which must
  /// not be early, where a call of now() is expensive. Of a monotonic clock the readings of one thread never go back;
  /// a later now() may be behind them.
  [[nodiscard]] virtual instant now_or_later() const noexcept { return now(); }
  /// Whether the calling thread is the one that advances this clock. Such a thread must not wait for the clock to move.
  [[nodiscard]] virtual bool moved_by_caller() const noexcept { return false; }

 protected:
  clock() noexcept = default;
  clock(const clock&) = default;
  clock& operator=(const clock&) = default;
  ~clock() = default;
};

/// The system's CLOCK_MONOTONIC: nanoseconds since boot. It stands still while the machine is suspended, and no change
/// of the wall clock moves it.
class FOLIOT_EXPORT monotonic_clock final : public clock {
 public:
  /// A reading costs some 20 ns and keeps the processor from executing later instructions ahead of it.
  [[nodiscard]] instant now() const noexcept override;
  /// Costs some 10 ns where the processor's ticks can be counted, and some 45 ns for a thread's first call in 10 us. Up
  /// to 4 us after now(); up to 7 us while the system's clock is slewed. The readings of one thread never go back.
  [[nodiscard]] instant now_or_later() const noexcept override;
  /// The only instance.
  [[nodiscard]] static const monotonic_clock& instance() noexcept;

  /// A time point of std::chrono::steady_clock, which reads the same clock of the system.
  template <class Duration>
  using steady_time = std::chrono::time_point<std::chrono::steady_clock, Duration>;  // tidy: allow(seam-clock) its type
  /// The instant at which std::chrono::steady_clock shows `when`: exact, or rounded up to the nanosecond. It saturates
  /// at the ends of the range of an instant; the upper end is never. Throws std::invalid_argument for a floating-point
  /// NaN.
  template <class Duration>
  [[nodiscard]] static constexpr instant from_steady(steady_time<Duration> when) {
    return instant::from_nanoseconds(duration(when.time_since_epoch()).count());
  }
  /// The inverse of from_steady, exact. Never becomes the latest time point.
  [[nodiscard]] static constexpr steady_time<std::chrono::nanoseconds> to_steady(instant when) noexcept {
    return steady_time<std::chrono::nanoseconds>(std::chrono::nanoseconds(when.nanoseconds()));
  }
};

/// The system's CLOCK_BOOTTIME: as CLOCK_MONOTONIC, but it also counts the time in which the machine is suspended.
class FOLIOT_EXPORT boottime_clock final : public clock {
 public:
  [[nodiscard]] instant now() const noexcept override;
  /// The only instance.
  [[nodiscard]] static const boottime_clock& instance() noexcept;
};

/// The system's CLOCK_REALTIME: nanoseconds since the beginning of 1970 (UTC). An administrator may set it forward or
/// back at any time.
class FOLIOT_EXPORT wall_clock final : public clock {
 public:
  [[nodiscard]] instant now() const noexcept override;
  /// The only instance.
  [[nodiscard]] static const wall_clock& instance() noexcept;

  /// The instant at which std::chrono::system_clock shows `when`, a time point of any precision (std::chrono::sys_days,
  /// too): exact, or rounded up to the nanosecond. It saturates at the ends of the range of an instant, in 1677 and
  /// 2262; the upper end is never. Throws std::invalid_argument for a floating-point NaN.
  template <class Duration>
  [[nodiscard]] static constexpr instant from_sys(std::chrono::sys_time<Duration> when) {
    return instant::from_nanoseconds(duration(when.time_since_epoch()).count());
  }
  /// The inverse of from_sys, exact. Never becomes the latest time point.
  [[nodiscard]] static constexpr std::chrono::sys_time<std::chrono::nanoseconds> to_sys(instant when) noexcept {
    return std::chrono::sys_time<std::chrono::nanoseconds>(std::chrono::nanoseconds(when.nanoseconds()));
  }
};

}  // namespace foliot::inline core
