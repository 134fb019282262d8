// The alarm seam: a bell that rings at an instant of one of the system's clocks, and may be set anew while
// somebody waits for it.
//
// Real side: a timerfd (src/core/seam/alarm.cpp). Simulated side: tests/simulation, where the machine may be
// suspended and its wall clock set.
#pragma once

#include <cstdint>

#include <foliot/core/export.h>
#include <foliot/core/instant.hpp>
#include <foliot/core/seam/system.hpp>

namespace foliot::inline core::seam {

/// The system's clocks: nanoseconds since each one's origin.
enum class clock_id : std::uint8_t {
  monotonic,  ///< since boot, without the time spent in suspend
  boottime,   ///< since boot
  wall,       ///< since 1970, and set by whoever may
};

[[nodiscard]] FOLIOT_EXPORT instant now(clock_id clock) noexcept;

class FOLIOT_EXPORT alarm {
 public:
  /// Throws std::system_error when the process is out of file descriptors, or the system of memory.
  explicit alarm(clock_id clock);
  ~alarm();
  alarm(const alarm&) = delete;
  alarm& operator=(const alarm&) = delete;

  /// It rings at `at`, at once if that has passed; never: not. What it was set to before is forgotten, and so is
  /// a ring that nobody has heard. From any thread.
  void set(instant at) noexcept;
  /// Waits until it rings (`timed_out`); or is `interrupted`. One thread's.
  wait_status wait() noexcept;

#if !defined(FOLIOT_SEAM_SYNC)
  /// What others wait for: a descriptor, readable from the ring on, until the alarm is set anew or waited for.
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
#endif

 private:
#if defined(FOLIOT_SEAM_SYNC)
  friend class alarms;
  const clock_id clock_;
  instant at_ = instant::never();
  mutable bool told_ = false;  // a poller has told somebody of this ring
#else
  int descriptor_;
#endif
};

}  // namespace foliot::inline core::seam
