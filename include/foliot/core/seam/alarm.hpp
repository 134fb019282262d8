// The alarm seam: an alarm rings at an instant of one of the system's clocks, and may be set again while a thread waits
// for it.
//
// Real side: a timerfd (src/core/seam/alarm.cpp). Simulated side: tests/simulation, where the machine may be suspended
// and its wall clock set.
#pragma once

#include <cstdint>

#include <foliot/core/export.h>
#include <foliot/core/instant.hpp>
#include <foliot/core/seam/system.hpp>

namespace foliot::inline core::seam {

/// The system's clocks. Each counts nanoseconds since its own origin.
enum class clock_id : std::uint8_t {
  monotonic,  ///< since boot, without the time in which the machine is suspended
  boottime,   ///< since boot
  wall,       ///< since 1970; an administrator may set it
};

/// The present time of that clock. Any thread.
[[nodiscard]] FOLIOT_EXPORT instant now(clock_id clock) noexcept;

/// An alarm of one clock. Not set at first.
class FOLIOT_EXPORT alarm {
 public:
  /// Throws std::system_error when the process has no file descriptor left or the system no memory.
  explicit alarm(clock_id clock);
  ~alarm();
  alarm(const alarm&) = delete;
  alarm& operator=(const alarm&) = delete;

  /// Makes the alarm ring at `at`: at once if that has passed, not at all for never. Replaces the earlier setting, and
  /// discards a ring that no wait has returned yet. From any thread.
  void set(instant at) noexcept;
  /// Waits until the alarm rings (returns `timed_out`) or a signal arrives (`interrupted`). One thread at a time.
  wait_status wait() noexcept;

#if !defined(FOLIOT_SEAM_SYNC)
  /// A file descriptor for pollers: readable from the ring until the alarm is set again or wait() returns it.
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
#endif

 private:
#if defined(FOLIOT_SEAM_SYNC)
  friend class alarms;
  const clock_id clock_;
  instant at_ = instant::never();
  mutable bool told_ = false;  // a poller has reported this ring
#else
  int descriptor_;
#endif
};

}  // namespace foliot::inline core::seam
