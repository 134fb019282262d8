// Timerfds, for the real sides of the alarms.
#pragma once

#include <sys/timerfd.h>

#include <cstdint>

#include <foliot/core/instant.hpp>

namespace foliot::inline core::seam {

/// Makes a timerfd ring at `at`: at once if that has passed, not at all for never.
inline void set_timer(int descriptor, instant at) noexcept {
  constexpr std::int64_t nanoseconds_per_second = 1'000'000'000;
  itimerspec when{};  // all zero: not at all
  if (!at.is_never()) {
    // What is before the origin has passed, as its first nanosecond has.
    const std::int64_t nanoseconds = at.nanoseconds() < 1 ? 1 : at.nanoseconds();
    when.it_value = {.tv_sec = nanoseconds / nanoseconds_per_second, .tv_nsec = nanoseconds % nanoseconds_per_second};
  }
  ::timerfd_settime(descriptor, TFD_TIMER_ABSTIME, &when, nullptr);  // cannot fail with these arguments
}

}  // namespace foliot::inline core::seam
