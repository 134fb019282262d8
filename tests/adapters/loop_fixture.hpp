// Timers of a loop on virtual time, which record the calls that set the loop's alarm.
#pragma once

#include <foliot/adapters/loop_timers.hpp>

#include <gtest/gtest.h>

#include <foliot/core/virtual_clock.hpp>

#include <vector>

namespace foliot::test {

/// Records the calls that set the alarm.
class told_timers : public loop_timers {
 public:
  using loop_timers::loop_timers;
  std::vector<instant> wake_ups;
  std::vector<bool> any;
  [[nodiscard]] instant alarm() const { return wake_ups.empty() ? instant::never() : wake_ups.back(); }

 private:
  void wake_at(instant next) noexcept override { wake_ups.push_back(next); }
  void any_pending(bool now_so) noexcept override { any.push_back(now_so); }
};

/// Timers on a clock that stands still.
class loop_fixture : public testing::Test {
 protected:
  expiry after(duration d, budget limit = unlimited) {
    clock.stall(d);
    return timers.expire(clock.now(), limit);
  }
  instant at(duration d) const { return instant{} + d; }

  virtual_clock clock;
  told_timers timers{clock};
  std::vector<int> fired;
};

}  // namespace foliot::test
