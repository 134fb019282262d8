// Clocks: where a timer's `now` comes from, and what their instants are in the standard library's terms.
#pragma once

#include <foliot/core/language.hpp>

#include <chrono>

#include <foliot/core/duration.hpp>
#include <foliot/core/export.h>
#include <foliot/core/instant.hpp>

namespace foliot::inline core {

/// Something that shows the time. But for the wall clock it never goes back. `now` may be called from any thread.
class FOLIOT_EXPORT clock {
 public:
  [[nodiscard]] virtual instant now() const noexcept = 0;
  /// An instant that is not before what now() shows, and at most a few microseconds after it: for computing
  /// deadlines, which must not be early, where now() is dear.
  [[nodiscard]] virtual instant now_or_later() const noexcept { return now(); }
  /// Whether the caller is the thread that moves this clock on, and so must not wait for it.
  [[nodiscard]] virtual bool moved_by_caller() const noexcept { return false; }

 protected:
  clock() noexcept = default;
  clock(const clock&) = default;
  clock& operator=(const clock&) = default;
  ~clock() = default;
};

/// The system's CLOCK_MONOTONIC: it counts from boot, stands still in suspend, and no change of the
/// wall clock moves it. A reading costs some 20 ns, and keeps the processor from working ahead; now_or_later()
/// some 10 where it can count the processor's ticks, up to 4 us late (7 while somebody slews the clock); the first in
/// 10 us of a thread, some 45.
class FOLIOT_EXPORT monotonic_clock final : public clock {
 public:
  [[nodiscard]] instant now() const noexcept override;
  [[nodiscard]] instant now_or_later() const noexcept override;
  /// The one there is.
  [[nodiscard]] static const monotonic_clock& instance() noexcept;

  /// A time point of std::chrono::steady_clock, which is this clock of the system.
  template <class Duration>
  using steady_time = std::chrono::time_point<std::chrono::steady_clock, Duration>;  // tidy: allow(seam-clock) its type
  /// The instant at which it shows `when`. Exact, or rounded up to the nanosecond; it stops at the ends of an instant,
  /// of which the upper one is never. Throws std::invalid_argument for a floating-point NaN.
  template <class Duration>
  [[nodiscard]] static constexpr instant from_steady(steady_time<Duration> when) {
    return instant::from_nanoseconds(duration(when.time_since_epoch()).count());
  }
  /// The other way round, exact; never is the latest time point.
  [[nodiscard]] static constexpr steady_time<std::chrono::nanoseconds> to_steady(instant when) noexcept {
    return steady_time<std::chrono::nanoseconds>(std::chrono::nanoseconds(when.nanoseconds()));
  }
};

/// The system's CLOCK_BOOTTIME: the same, and it goes on in suspend.
class FOLIOT_EXPORT boottime_clock final : public clock {
 public:
  [[nodiscard]] instant now() const noexcept override;
  [[nodiscard]] static const boottime_clock& instance() noexcept;
};

/// The system's CLOCK_REALTIME: since 1970, and whoever may sets it, to any time.
class FOLIOT_EXPORT wall_clock final : public clock {
 public:
  [[nodiscard]] instant now() const noexcept override;
  [[nodiscard]] static const wall_clock& instance() noexcept;

  /// The instant of this clock at which std::chrono::system_clock shows `when`: a time point of any precision, also a
  /// day. Exact, or rounded up to the nanosecond; it stops at the ends of an instant, in 1677 and 2262, of which the
  /// upper one is never. Throws std::invalid_argument for a floating-point NaN.
  template <class Duration>
  [[nodiscard]] static constexpr instant from_sys(std::chrono::sys_time<Duration> when) {
    return instant::from_nanoseconds(duration(when.time_since_epoch()).count());
  }
  /// The other way round, exact; never is the latest time point.
  [[nodiscard]] static constexpr std::chrono::sys_time<std::chrono::nanoseconds> to_sys(instant when) noexcept {
    return std::chrono::sys_time<std::chrono::nanoseconds>(std::chrono::nanoseconds(when.nanoseconds()));
  }
};

}  // namespace foliot::inline core
