// The monotonic clock by the processor's ticks: a reading that is never behind the system's clock, for half its price.
//
// clock_gettime reads the same ticks, but first waits for all earlier instructions to complete, which costs several
// times the reading itself where memory is slow. Here each thread counts on from its last reading of both
// (tick_anchor.hpp). That requires that the kernel trusted the ticks of all processors when it was first asked;
// otherwise each call reads the system's clock.
#include <cstdint>
#include <cstdio>
#include <cstring>

#include <foliot/core/seam/system.hpp>

#include "tick_anchor.hpp"
#include "tick_counter.hpp"

namespace foliot::inline core::seam {

#if defined(FOLIOT_HAS_TICK_COUNTER)

namespace {

/// Whether the kernel uses the processors' ticks as its own clock source.
bool kernel_trusts_ticks() noexcept {
  std::FILE* file = std::fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");
  if (file == nullptr) return false;
  char name[32] = {};
  const bool read = std::fgets(name, sizeof(name), file) != nullptr;
  std::fclose(file);
  return read && std::strcmp(name, tick_counter::clock_source) == 0;
}

struct clocks : tick_counter {
  static instant system() noexcept { return monotonic_now(); }
  static bool trusts_ticks() noexcept {
    static const bool trusted = kernel_trusts_ticks();
    return trusted;
  }
};

}  // namespace

instant monotonic_now_or_later() noexcept {
  thread_local constinit tick_anchor mine;
  return mine.now_or_later(clocks());
}

#else

instant monotonic_now_or_later() noexcept { return monotonic_now(); }

#endif

}  // namespace foliot::inline core::seam
