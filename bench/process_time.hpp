// The processor time that this process or its thread has taken.
//
// Thread safety: any thread.
#pragma once

#include <sys/resource.h>

namespace foliot::program::bench {

/// User and system time together, in seconds: of the process with RUSAGE_SELF, of the calling thread with
/// RUSAGE_THREAD.
[[nodiscard]] inline double cpu_seconds(int whose) noexcept {
  rusage used{};
  ::getrusage(whose, &used);
  const auto seconds_of = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds_of(used.ru_utime) + seconds_of(used.ru_stime);
}

}  // namespace foliot::program::bench
