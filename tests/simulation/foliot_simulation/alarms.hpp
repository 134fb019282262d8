// What a simulated alarm is set to, and whether a poller has reported its ring. Used by the world.
#pragma once

#include <foliot/core/instant.hpp>
#include <foliot/core/seam/alarm.hpp>

namespace foliot::inline core::seam {

class alarms {
 public:
  static instant at(const alarm& bell) noexcept { return bell.at_; }
  static void set(alarm& bell, instant at) noexcept {
    bell.at_ = at;
    bell.told_ = false;
  }
  static bool told(const alarm& bell) noexcept { return bell.told_; }
  static void tell(const alarm& bell) noexcept { bell.told_ = true; }
  static clock_id clock_of(const alarm& bell) noexcept { return bell.clock_; }
};

}  // namespace foliot::inline core::seam
