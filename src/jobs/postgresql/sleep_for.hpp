// A sleep of the calling thread that nothing ends early. It goes through the seam (note.hpp), so it takes virtual time
// in the simulation.
#pragma once

#include <foliot/core/clock.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/core/sync/note.hpp>

namespace foliot::jobs::detail {

inline void sleep_for(duration length) noexcept {
  note nobody_wakes;
  static_cast<void>(nobody_wakes.sleep_until(deadline_after(monotonic_clock::instance().now(), length)));
}

}  // namespace foliot::jobs::detail
