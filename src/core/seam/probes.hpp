// Static probes for those who trace a running process: the provider `foliot` with the probes
//
//   start(timer, deadline)       a timer that was not pending is
//   reset(timer, deadline)       one that was has a new deadline; where the reset took no lock, this comes when the
//                                old deadline does, once for all the resets until then
//   stop(timer)                  one that was is not any more
//   fire(timer, deadline, now)   its callback is called next; of a ticker each beat
//
// with instants in nanoseconds of the service's clock, and a number that tells timers apart while they live. They
// are SystemTap's, which bpftrace, perf and gdb read too:
//
//   bpftrace -e 'usdt:./server:foliot:fire { @late = hist(arg2 - arg1); }'
//
// A probe is a nop, and a note in the file that says where. Without <sys/sdt.h> at build time, or with
// -DFOLIOT_USDT=OFF, there is none.
#pragma once

#include <foliot/core/instant.hpp>

#if defined(FOLIOT_HAS_USDT)
#include <sys/sdt.h>
#endif

// Inlined in every build, so that a probe is where the thing happens.
namespace foliot::detail::probes {

#if defined(FOLIOT_HAS_USDT)

[[gnu::always_inline]] inline void reset(const void* timer, instant deadline) noexcept {
  STAP_PROBE2(foliot, reset, timer, deadline.nanoseconds());
}

/// `reset` of one that was pending, else `start`.
[[gnu::always_inline]] inline void armed(const void* timer, instant deadline, bool was_pending) noexcept {
  if (was_pending) {
    STAP_PROBE2(foliot, reset, timer, deadline.nanoseconds());
  } else {
    STAP_PROBE2(foliot, start, timer, deadline.nanoseconds());
  }
}

[[gnu::always_inline]] inline void stop(const void* timer) noexcept { STAP_PROBE1(foliot, stop, timer); }

[[gnu::always_inline]] inline void fire(const void* timer, instant deadline, instant now) noexcept {
  STAP_PROBE3(foliot, fire, timer, deadline.nanoseconds(), now.nanoseconds());
}

#else

inline void reset(const void*, instant) noexcept {}
inline void armed(const void*, instant, bool) noexcept {}
inline void stop(const void*) noexcept {}
inline void fire(const void*, instant, instant) noexcept {}

#endif

}  // namespace foliot::detail::probes
