// Who is measured: a queue of the project, a floor, or a peer, behind one interface, so that the order
// of the measurements can be shuffled. The interface is crossed once for thousands of operations.
//
//   auto bout = contestant.make(1'000'000, seed);
//   bout->begin(workload::w1);
//   tally result = bout->run(workload::w1, 8192);
//
// Thread safety: none, one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "tally.hpp"
#include "timer_set.hpp"
#include "workload.hpp"

namespace foliot::program::bench {

/// N timers of one contestant, alive.
class bout {
 public:
  virtual ~bout() = default;
  bout(const bout&) = delete;
  bout& operator=(const bout&) = delete;

  /// Starts all N timers as the workload wants them. Once, before anything else.
  virtual void begin(workload what) = 0;
  /// Does at least `operations` operations of a workload that does not time calls; W3 is done as a
  /// whole, however few are asked for. May follow a run of the same workload with or without prefetching.
  virtual tally run(workload what, std::uint64_t operations) = 0;
  /// Times calls. `steps` of 1 ms for worst_uniform; worst_one_slot goes until all have fired.
  virtual call_times time_calls(workload what, std::uint64_t steps) = 0;

 protected:
  bout() = default;
};

struct contestant {
  std::string name{};
  std::string version{};  ///< of a peer; empty for what is in this program
  std::string remark{};   ///< what a reader of its figures must know; may be empty
  time_kind time = time_kind::virtual_time;
  bool project_queue = false;
  std::function<std::unique_ptr<bout>(std::size_t count, std::uint64_t seed)> make{};

  [[nodiscard]] bool takes_part(workload what) const noexcept {
    return !is_trial(what) && (time != time_kind::no_time || !needs_fires(what));
  }
};

}  // namespace foliot::program::bench
