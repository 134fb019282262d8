// Timers of an hour that are pending at each processor while something else is measured, as many as in Go's suites
// ("garbage" there).
//
// Thread safety: one task.
#pragma once

#include <cstddef>
#include <vector>

#include <foliot/runtime/callback_timer.hpp>
#include <foliot/runtime/task.hpp>

namespace foliot::program::bench {

class pending_timers {
 public:
  static constexpr std::size_t for_each_processor = 32'768;

  /// Starts them: each processor's by a task that runs there.
  runtime::task<> plant(std::size_t processors, std::size_t each);

 private:
  std::vector<std::vector<runtime::callback_timer>> planted_;
};

}  // namespace foliot::program::bench
