// Static probes for tracing a running process: the provider `foliot` with the probes
//
//   start(timer, deadline)       a timer that was not pending was started
//   reset(timer, deadline)       a pending timer got a new deadline. A reset without the lock is reported at the old
//                                deadline, once for all resets until then
//   stop(timer)                  a pending timer was stopped
//   fire(timer, deadline, now)   the timer's callback is about to run; for a ticker, once a period
//
// Instants are in nanoseconds of the service's clock; `timer` is a number that is unique among living timers. The
// probes have SystemTap's format, which bpftrace, perf and gdb read, too:
//
//   bpftrace -e 'usdt:./server:foliot:fire { @late = hist(arg2 - arg1); }'
//
// A probe is a nop in the code, and an ELF note with its address. Without <sys/sdt.h> at build time, or with
// -DFOLIOT_USDT=OFF, there are no probes.
#pragma once

#include <foliot/core/instant.hpp>

#if defined(FOLIOT_HAS_USDT)
#include <sys/sdt.h>
#endif

// Inlined in every build, so that a probe's address is in the function that reports.
namespace foliot::detail::probes {

#if defined(FOLIOT_HAS_USDT)

[[gnu::always_inline]] inline void start(const void* timer, instant deadline) noexcept {
  STAP_PROBE2(foliot, start, timer, deadline.nanoseconds());
}

[[gnu::always_inline]] inline void reset(const void* timer, instant deadline) noexcept {
  STAP_PROBE2(foliot, reset, timer, deadline.nanoseconds());
}

[[gnu::always_inline]] inline void stop(const void* timer) noexcept { STAP_PROBE1(foliot, stop, timer); }

[[gnu::always_inline]] inline void fire(const void* timer, instant deadline, instant now) noexcept {
  STAP_PROBE3(foliot, fire, timer, deadline.nanoseconds(), now.nanoseconds());
}

#else

inline void start(const void*, instant) noexcept {}
inline void reset(const void*, instant) noexcept {}
inline void stop(const void*) noexcept {}
inline void fire(const void*, instant, instant) noexcept {}

#endif

}  // namespace foliot::detail::probes
