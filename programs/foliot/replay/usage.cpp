#include "usage.hpp"

#include <cstdint>
#include <ctime>
#include <fstream>
#include <string>

#include <sys/resource.h>

namespace foliot::program {

std::size_t peak_memory_bytes() {
  constexpr std::size_t kibibyte = 1024;
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    std::size_t size = 0;
    if (word == "VmHWM:" && status >> size) return size * kibibyte;
  }
  struct rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::size_t>(usage.ru_maxrss) * kibibyte;
}

duration processor_time() noexcept {
  timespec time{};
  // Cannot fail: every Linux has this clock.
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);  // tidy: allow(seam-clock) it measures work, not time
  return duration::nanoseconds(std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec);
}

}  // namespace foliot::program
