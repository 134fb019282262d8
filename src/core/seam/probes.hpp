// Static probes for tracing a running process: the provider `foliot` with the probes
//
//   start(timer, deadline)       a timer that was not pending was started
//   reset(timer, deadline)       a pending timer got a new deadline. A reset without the lock is reported at the old
//                                deadline, once for all resets until then
//   stop(timer)                  a pending timer was stopped
//   fire(timer, deadline, now)   the timer's callback is about to run; for a ticker, once a period
//   name(timer, text)            the timer has got a name, where the service stores names
//
// and, of the runtime,
//
//   task_spawn(task, name)               a task was spawned
//   task_run(task, name, processor)      a worker is about to run the task
//   task_stop(task, processor)           the worker is done with it: it waits, has ended, or has spent its budget
//   task_end(task)                       the task has ended
//   task_steal(from, to, tasks)          a worker has taken about as many tasks from another processor's run queue
//   park(processor, until)               a worker goes to sleep
//   unpark(processor)                    it has woken up
//   due(processor, deadline, now)        a timer of that processor has come due
//
// Instants are in nanoseconds of the clock of the service or runtime; `timer` and `task` are numbers that are unique
// among living timers and tasks, `processor` counts from 0. Names are strings that end with a zero byte. The probes
// have SystemTap's format, which bpftrace, perf and gdb read, too:
//
//   bpftrace -e 'usdt:./server:foliot:fire { @late = hist(arg2 - arg1); }'
//
// A probe is a nop in the code, and an ELF note with its address. Without <sys/sdt.h> at build time, or with
// -DFOLIOT_USDT=OFF, there are no probes.
#pragma once

#include <cstdint>

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

[[gnu::always_inline]] inline void name(const void* timer, const char* text) noexcept {
  STAP_PROBE2(foliot, name, timer, text);
}

[[gnu::always_inline]] inline void task_spawn(const void* task, const char* name) noexcept {
  STAP_PROBE2(foliot, task_spawn, task, name);
}

[[gnu::always_inline]] inline void task_run(const void* task, const char* name, std::uint32_t processor) noexcept {
  STAP_PROBE3(foliot, task_run, task, name, processor);
}

[[gnu::always_inline]] inline void task_stop(const void* task, std::uint32_t processor) noexcept {
  STAP_PROBE2(foliot, task_stop, task, processor);
}

[[gnu::always_inline]] inline void task_end(const void* task) noexcept { STAP_PROBE1(foliot, task_end, task); }

[[gnu::always_inline]] inline void task_steal(std::uint32_t from, std::uint32_t to, std::uint64_t tasks) noexcept {
  STAP_PROBE3(foliot, task_steal, from, to, tasks);
}

[[gnu::always_inline]] inline void park(std::uint32_t processor, instant until) noexcept {
  STAP_PROBE2(foliot, park, processor, until.nanoseconds());
}

[[gnu::always_inline]] inline void unpark(std::uint32_t processor) noexcept { STAP_PROBE1(foliot, unpark, processor); }

[[gnu::always_inline]] inline void due(std::uint32_t processor, instant deadline, instant now) noexcept {
  STAP_PROBE3(foliot, due, processor, deadline.nanoseconds(), now.nanoseconds());
}

#else

inline void start(const void*, instant) noexcept {}
inline void reset(const void*, instant) noexcept {}
inline void stop(const void*) noexcept {}
inline void fire(const void*, instant, instant) noexcept {}
inline void name(const void*, const char*) noexcept {}
inline void task_spawn(const void*, const char*) noexcept {}
inline void task_run(const void*, const char*, std::uint32_t) noexcept {}
inline void task_stop(const void*, std::uint32_t) noexcept {}
inline void task_end(const void*) noexcept {}
inline void task_steal(std::uint32_t, std::uint32_t, std::uint64_t) noexcept {}
inline void park(std::uint32_t, instant) noexcept {}
inline void unpark(std::uint32_t) noexcept {}
inline void due(std::uint32_t, instant, instant) noexcept {}

#endif

}  // namespace foliot::detail::probes
