// A service on a virtual clock that only the test advances, for the tests of handles.
#pragma once

#include <foliot/core/virtual_clock.hpp>
#include <foliot/service.hpp>

#include "support/engines.hpp"

namespace foliot::test {

/// A suite that runs once for each engine, on virtual time.
class virtual_suite : public engine_suite {
 protected:
  virtual_clock clock{instant::from_nanoseconds(1'000'000'000)};
  timer_service timers{clock, options()};
};

/// A suite that runs once for each engine, on the monotonic clock, with the engine's own thread.
class threaded_suite : public engine_suite {
 protected:
  timer_service timers{options()};
};

}  // namespace foliot::test
