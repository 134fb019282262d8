// The real side of the alarm seam: Linux.
#include <foliot/core/seam/alarm.hpp>

#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "timer_descriptor.hpp"

namespace foliot::inline core::seam {

namespace {

clockid_t system_id(clock_id clock) noexcept {
  switch (clock) {
    case clock_id::boottime: return CLOCK_BOOTTIME;
    case clock_id::wall: return CLOCK_REALTIME;
    default: return CLOCK_MONOTONIC;
  }
}

}  // namespace

instant now(clock_id clock) noexcept {
  timespec shown{};
  ::clock_gettime(system_id(clock), &shown);  // cannot fail: each of them exists on every Linux
  return instant::from_nanoseconds(shown.tv_sec * 1'000'000'000 + shown.tv_nsec);
}

alarm::alarm(clock_id clock) : descriptor_(::timerfd_create(system_id(clock), TFD_CLOEXEC)) {
  if (descriptor_ < 0) throw std::system_error(errno, std::generic_category(), "foliot: cannot make a timerfd");
}

alarm::~alarm() { ::close(descriptor_); }

void alarm::set(instant at) noexcept { set_timer(descriptor_, at); }

wait_status alarm::wait() noexcept {
  std::uint64_t rings = 0;
  return ::read(descriptor_, &rings, sizeof(rings)) == sizeof(rings) ? wait_status::timed_out
                                                                     : wait_status::interrupted;
}

}  // namespace foliot::inline core::seam
