// A runtime on virtual time: all processors take turns on one thread, and a seed decides whose turn it is.
//
// While any task can run time stands still. When all wait, what the poller has is looked at, and then time moves on to
// the first deadline of any processor, or of anything else on the same clock. When there is none, and no descriptor is
// waited for, that is a deadlock.
#pragma once

#include <cstddef>
#include <vector>

#include <foliot/core/instant.hpp>
#include <foliot/core/seam/random.hpp>

#include "scheduler.hpp"

namespace foliot::runtime::detail {

class virtual_driver {
 public:
  explicit virtual_driver(scheduler& scheduler);

  /// Until `main` has ended. Throws deadlock.
  void drive(const task_state& main);

 private:
  bool run_some_task();
  bool fire_what_is_due();
  /// Timeouts that have come: after all else of this instant.
  bool expire_late_scopes();
  /// False: nothing will ever happen.
  bool move_time_on();

  scheduler& scheduler_;
  random_stream random_;
  std::vector<processor*> candidates_;
};

}  // namespace foliot::runtime::detail
