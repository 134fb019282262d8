// Sleeping on a service's clock: the calling thread blocks until a timer of its own has fired.
//
// On a virtual clock, the sleep ends when another thread has advanced the clock far enough. Where the service has an
// executor, the timer's callback is a job like any other, and the sleep ends when the job runs.
//
// The thread that runs the callbacks ends the sleep: a thread must not sleep while it holds a lock that a callback
// waits for.
//
// Both functions return true once the timer has fired: the thread has slept the whole time. They return false as soon
// as the start of the timer is dropped: the service has ended, or its executor has destroyed the timer's job without
// calling it. A timer that is dropped while the executor has its job was due already; the result is false all the same.
//
// A sleep allocates nothing, since its timer lies on the sleeping thread's stack. Two exceptions: the queue may grow
// for one more timer (timer_service::reserve allocates that in advance). With an executor, which may keep a job for
// longer than the sleep lasts, the service allocates the timers of sleeps and reuses them: at most one for each thread
// that sleeps at once and for each job that the executor still has.
//
// `here` is the source location of the call, which reports of callbacks show; callers leave it out.
#pragma once

#include <source_location>

#include <foliot/core/duration.hpp>
#include <foliot/core/export.h>
#include <foliot/core/timer_deadline.hpp>
#include <foliot/service/timer_service.hpp>

namespace foliot::inline service {

/// Blocks the calling thread for at least `length` of the service's clock; zero or less returns true at once. Returns
/// false if the sleep was cut short (see the head of this file). Any thread but those that run callbacks of the
/// service: there it throws std::logic_error, also for a length of zero, since the sleep could not end. Throws
/// std::bad_alloc when the queue must grow and cannot, std::system_error when the service's thread cannot be started.
FOLIOT_EXPORT bool sleep_for(timer_service& service, duration length,
                             std::source_location here = std::source_location::current());

/// Blocks the calling thread until the service's clock shows `deadline`. Otherwise as sleep_for; throws
/// std::invalid_argument for a time point of another clock (timer_deadline.hpp).
FOLIOT_EXPORT bool sleep_until(timer_service& service, timer_deadline deadline,
                               std::source_location here = std::source_location::current());

}  // namespace foliot::inline service
