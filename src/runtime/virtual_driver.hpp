// A runtime on virtual time: all processors take turns on one thread, and a seed decides which one is next.
//
// Time stands still while any task can run. When all tasks wait, the driver looks into the poller, and then moves time
// to the first deadline of any processor, or of anything else on the same clock. If there is none, and no task waits
// for a descriptor or for another thread, that is a deadlock.
//
// Thread safety: none; the thread that called run() uses it.
#pragma once

#include <foliot/core/instant.hpp>
#include <foliot/core/seam/random.hpp>

#include "scheduler.hpp"

namespace foliot::runtime::detail {

class virtual_driver {
 public:
  explicit virtual_driver(scheduler& scheduler);

  /// Runs until the main task has ended. Throws deadlock.
  void drive();

 private:
  [[nodiscard]] bool has_task() const noexcept;
  bool look_into_poller(instant until);
  bool run_some_task();
  bool fire_due();
  /// Ends the timeouts whose deadline has come, after everything else of this instant.
  bool expire_late_scopes();
  /// Returns false if all tasks wait and nothing can end their waits.
  bool move_time_on();

  scheduler& scheduler_;
  random_stream random_;
};

}  // namespace foliot::runtime::detail
