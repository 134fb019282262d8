#include <foliot/core/clock.hpp>

#include <foliot/core/seam/alarm.hpp>
#include <foliot/core/seam/system.hpp>

namespace foliot::inline core {

instant monotonic_clock::now() const noexcept { return seam::monotonic_now(); }

instant monotonic_clock::now_or_later() const noexcept { return seam::monotonic_now_or_later(); }

const monotonic_clock& monotonic_clock::instance() noexcept {
  static constexpr monotonic_clock clock;
  return clock;
}

instant boottime_clock::now() const noexcept { return seam::now(seam::clock_id::boottime); }

const boottime_clock& boottime_clock::instance() noexcept {
  static constexpr boottime_clock clock;
  return clock;
}

instant wall_clock::now() const noexcept { return seam::now(seam::clock_id::wall); }

const wall_clock& wall_clock::instance() noexcept {
  static constexpr wall_clock clock;
  return clock;
}

}  // namespace foliot::inline core
