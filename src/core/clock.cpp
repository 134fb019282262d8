#include <foliot/core/clock.hpp>

#include <foliot/core/seam/system.hpp>

namespace foliot::inline core {

instant monotonic_clock::now() const noexcept { return seam::monotonic_now(); }

const monotonic_clock& monotonic_clock::instance() noexcept {
  static constexpr monotonic_clock clock;
  return clock;
}

}  // namespace foliot::inline core
