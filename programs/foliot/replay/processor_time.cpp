#include "processor_time.hpp"

#include <cstdint>
#include <ctime>

namespace foliot::program {

duration processor_time() noexcept {
  timespec time{};
  // Cannot fail: every Linux has it.
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);  // tidy: allow(seam-clock) it tells no time, but what work costs
  return duration::nanoseconds(std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec);
}

}  // namespace foliot::program
