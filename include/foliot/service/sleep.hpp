// Sleeping on a service's clock: the calling thread waits until a timer of its own has fired.
//
// On a virtual clock that is when some other thread has advanced the clock far enough. Zero or less
// returns at once. Where the service has an executor, the timer's callback is one of its jobs, like any other: the
// sleep ends when the job runs.
//
// The answer is true if the timer has fired, and so the whole time was slept. It is false if the start of the timer was
// dropped, which ends the sleep too: the service has ended, or its executor has destroyed the timer's job without
// calling it. A timer that is dropped while it is with the executor was due: the sleep may have been a whole one, and
// the answer is false all the same.
//
// A sleep allocates nothing: its timer lies on the sleeping thread's stack. The engine's queue may grow for one more
// timer; timer_service::reserve takes that ahead. With an executor, which may keep a timer's job longer than the sleep
// lasts, the service keeps the timers of sleeps that are over for those to come: it makes as many as threads sleep at
// once, and threads of the executor are done with others.
#pragma once

#include <foliot/core/duration.hpp>
#include <foliot/core/export.h>
#include <foliot/core/instant.hpp>
#include <foliot/service/timer_service.hpp>

namespace foliot::inline service {

/// Blocks the calling thread for at least `length`. Throws std::logic_error from inside a callback of
/// the same service, which would wait for itself, also where there is nothing to wait for; std::bad_alloc, where the
/// queue must grow;
/// std::system_error when the service's thread cannot be started.
FOLIOT_EXPORT bool sleep_for(timer_service& service, duration length);

/// Blocks the calling thread until the service's clock shows `deadline`. Throws as sleep_for does.
FOLIOT_EXPORT bool sleep_until(timer_service& service, instant deadline);

}  // namespace foliot::inline service
