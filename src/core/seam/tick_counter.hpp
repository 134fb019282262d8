// The processor's count of ticks, for tick_anchor.hpp, on the architectures that have one which user programs may read.
// Elsewhere FOLIOT_HAS_TICK_COUNTER is not defined, and the tick clock reads the system's clock.
//
//   ticks()           the count; the processor may take it before earlier instructions have completed
//   ticks_first()     a count that is taken before anything that follows the call
//   clock_source      what the kernel calls its clock source where it trusts this counter itself
//   bounds()          what a plausible tick is (tick_anchor.hpp)
//
// x86-64, the TSC. `rdtsc` waits for nothing. A reading of the system's clock that follows it does not overtake it:
// that begins with `lfence` or `rdtscp`, which wait until all earlier instructions are done.
//
// aarch64, the virtual count of the generic timer, CNTVCT_EL0. The architecture has one system counter that never stops
// and from which all processors read; none may see a count that is behind one of which another has told it. A
// hypervisor subtracts the same offset on all processors of a machine, and Linux makes CLOCK_MONOTONIC of the same
// register. A read of it may be done early, as that of the TSC may, and for no longer than the processor looks ahead.
// `isb` lets no later instruction begin before the read is done: a kernel that reads the self-synchronised count
// (CNTVCTSS_EL0, from Armv8.6 on) has no `isb` of its own before its reading. Where a processor's counter has an
// erratum, Linux has each read trap, and answers it itself: slower, and right. Of the frequency, CNTFRQ_EL0, is asked
// only how long a reading of the clock may take, and whether the measured length of a tick is plausible: firmware may
// have set it wrong, and then the measurement contradicts it, and the system's clock is read.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tick_anchor.hpp"

#if defined(__x86_64__)

#define FOLIOT_HAS_TICK_COUNTER

namespace foliot::inline core::seam {

struct tick_counter {
  static constexpr const char* clock_source = "tsc\n";

  static std::uint64_t ticks() noexcept { return __builtin_ia32_rdtsc(); }
  static std::uint64_t ticks_first() noexcept { return ticks(); }
  static constexpr tick_bounds bounds() noexcept { return {}; }
};

}  // namespace foliot::inline core::seam

#elif defined(__aarch64__)

#define FOLIOT_HAS_TICK_COUNTER

namespace foliot::inline core::seam {

struct tick_counter {
  static constexpr const char* clock_source = "arch_sys_counter\n";

  static std::uint64_t ticks() noexcept {
    std::uint64_t count = 0;
    asm volatile("mrs %0, cntvct_el0" : "=r"(count));
    return count;
  }
  static std::uint64_t ticks_first() noexcept {
    std::uint64_t count = 0;
    asm volatile("mrs %0, cntvct_el0\n\tisb" : "=r"(count)::"memory");
    return count;
  }
  static tick_bounds bounds() noexcept {
    std::uint64_t frequency = 0;
    asm volatile("mrs %0, cntfrq_el0" : "=r"(frequency));
    return tick_bounds::of_frequency(frequency & 0xffff'ffff);  // the upper half is reserved
  }
};

}  // namespace foliot::inline core::seam

#endif
