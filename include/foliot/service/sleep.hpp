// Sleeping on a service's clock: the calling thread waits until a timer of its own has fired.
//
// On a virtual clock that is when some other thread has advanced the clock far enough. Zero or less
// returns at once. The end of the service ends the sleep early; nothing else does. The answer is whether
// the whole time was slept.
#pragma once

#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/service/timer_service.hpp>

namespace foliot::inline service {

/// Blocks the calling thread for at least `length`. Throws std::logic_error from inside a callback of
/// the same service, which would wait for itself; std::bad_alloc; std::system_error when the service's
/// thread cannot be started.
bool sleep_for(timer_service& service, duration length);

/// Blocks the calling thread until the service's clock shows `deadline`. Throws as sleep_for does.
bool sleep_until(timer_service& service, instant deadline);

}  // namespace foliot::inline service
