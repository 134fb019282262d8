// The two clocks of a job store, given from outside, so that tests use virtual ones.
//
//   foliot::virtual_clock time;
//   foliot::jobs::virtual_wall_clock wall{time};
//   foliot::jobs::memory_store store{{&wall, &time}};   // time.advance() moves both, time.set_wall() sets one
#pragma once

#include <foliot/core/language.hpp>

#include <chrono>

#include <foliot/core/clock.hpp>
#include <foliot/core/export.h>
#include <foliot/core/instant.hpp>
#include <foliot/core/virtual_clock.hpp>
#include <foliot/jobs/job.hpp>

namespace foliot::jobs {

/// The clocks that a store reads, once for each batch. They must outlive the store.
struct store_clocks {
  const clock* wall = &wall_clock::instance();            ///< due times: nanoseconds since 1970 in UTC
  const clock* monotonic = &monotonic_clock::instance();  ///< the lengths of reservations and pauses

  /// The wall clock's time.
  [[nodiscard]] std::chrono::sys_time<std::chrono::nanoseconds> wall_time() const noexcept {
    return wall_clock::to_sys(wall->now());
  }
  /// The wall clock's time, rounded down, so that no job is ready early.
  [[nodiscard]] utc_time utc() const noexcept { return std::chrono::floor<milliseconds>(wall_time()); }
};

/// The simulated wall clock of a virtual clock, which must outlive it. Safe from any thread.
class FOLIOT_EXPORT virtual_wall_clock final : public clock {
 public:
  /// Shows `time.wall_now()`.
  explicit virtual_wall_clock(const virtual_clock& time) noexcept : time_(&time) {}
  [[nodiscard]] instant now() const noexcept override { return time_->wall_now(); }

 private:
  const virtual_clock* time_;
};

}  // namespace foliot::jobs
