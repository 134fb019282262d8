// Pauses at random where threads meet, for foliot's own tests: where a thread begins or has woken another one, where
// a worker begins a task and gets it back, and before a service calls a callback. A pause makes a rare order of
// two threads a likely one, so that ThreadSanitizer sees a race that it would miss, and a test that relies on the speed
// of a thread fails. Only where the CMake option FOLIOT_PERTURB is on, as in the preset `perturbed`; else these calls
// are empty.
#pragma once

#if defined(FOLIOT_PERTURB)
#include <time.h>

#include <cstdint>

#include <foliot/core/seam/sync.hpp>
#endif

namespace foliot::inline core::seam {

#if defined(FOLIOT_PERTURB)
/// Pauses in one of `one_in` calls, mostly for 50 us, seldom for 5 ms: longer than a wake-up takes. The order of the
/// calls differs from run to run, so there is no seed to repeat. Any thread.
inline void perturb(unsigned one_in) noexcept {
  thread_local std::uint64_t random = 0;
  if (random == 0) {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    random =
        static_cast<std::uint64_t>(now.tv_nsec) * 2654435761U + reinterpret_cast<std::uintptr_t>(&this_thread()) + 1;
  }
  random ^= random << 13U;  // xorshift64 (Marsaglia 2003)
  random ^= random >> 7U;
  random ^= random << 17U;
  if ((random >> 20U) % one_in != 0) return;
  const std::uint64_t chance = (random >> 40U) % 64;
  const timespec pause{.tv_sec = 0, .tv_nsec = chance == 0 ? 5'000'000 : chance < 8 ? 500'000 : 50'000};
  ::nanosleep(&pause, nullptr);
}
#else
inline void perturb(unsigned) noexcept {}
#endif

}  // namespace foliot::inline core::seam
