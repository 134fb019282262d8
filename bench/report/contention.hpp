// Where threads begin to contend: the number of them from which on each does less than half of what it did among the
// fewest. It is the verdict of `foliot bench` on W5 for a machine with many cores.
//
// With k threads that take `cost` ns for an operation of all together, each does 1 / (k * cost). If nothing is shared,
// `cost` falls as 1 / k, and that stays the same. More threads than the machine has cores take turns on them, so that
// each does less without any contention: they have a figure, and no verdict.
//
// Thread safety: plain values, and functions without a state.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "bench/record.hpp"

namespace foliot::program::bench {

struct contention {
  struct step {
    int threads = 1;
    double share = 1;          ///< what each thread does, beside the fewest threads, which have 1
    bool takes_turns = false;  /// there are fewer cores than threads
  };
  workload what = workload::w5w1;
  std::string contestant{};
  std::size_t timers = 0;
  std::vector<step> steps{};         ///< by the number of threads; two at least
  std::optional<int> begins_at{};    ///< threads; nothing if it does not begin
  std::optional<int> last_judged{};  ///< the most threads that do not take turns; nothing if only the fewest do not
};

/// One for each workload of threads, number of timers and contestant with two numbers of threads, in this order.
[[nodiscard]] std::vector<contention> contention_in(const results& all);

/// A table for each workload and number of timers; empty if there is no contention_in.
[[nodiscard]] std::string contention_text(const results& all);

}  // namespace foliot::program::bench
