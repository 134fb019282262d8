// Trials: workloads that a contestant does as a whole. It makes its timers, warms up and measures behind
// one call, in threads or in a process of its own, and says what came out. (The workloads of one thread go
// step by step, see contestant.hpp.)
//
//   const finding found = contestant.run({.what = workload::w5w2, .timers = 1'000, .threads = 2, …});
//
// Thread safety: none, one thread; a trial may use as many as it likes until it returns.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "../timer_set.hpp"
#include "../workload.hpp"

namespace foliot::program::bench {

/// What is asked.
struct trial {
  workload what = workload::w5w1;
  std::size_t timers = 1;        ///< pending, of all threads together
  int threads = 1;               ///< that work at the same time, or processors of a runtime
  std::int64_t nanoseconds = 0;  ///< how long to measure, after warming up
  std::size_t sleeps = 0;        ///< of lateness: how many, one after the other
  std::uint64_t seed = 1;
  bool quick = false;  ///< hardly warms up
};

/// What came out.
struct finding {
  double figure = 0;                      ///< in unit_of(workload); of lateness: nothing
  std::vector<std::uint32_t> lateness{};  ///< ns, one for each sleep
  std::optional<double> worst{};          ///< where the figure is an average
  std::optional<double> bytes{};          ///< of memory, for each task
  std::string wrong{};                    ///< why there is no figure, a sentence; empty if there is one
};

struct trial_contestant {
  std::string name{};
  std::string version{};
  std::string remark{};
  time_kind time = time_kind::real_time;
  std::vector<workload> takes{};  ///< what it takes part in
  /// It needs what is not this program's, a toolchain or a system call: what is wrong with it leaves it out,
  /// and does not end the run.
  bool may_be_left_out = false;
  /// Makes it ready, and says its version. Called once, before its first trial. Throws failure where that
  /// cannot be done. May be empty.
  std::function<std::string()> prepare{};
  std::function<finding(const trial& asked)> run{};

  [[nodiscard]] bool takes_part(workload what) const noexcept { return std::ranges::find(takes, what) != takes.end(); }
};

}  // namespace foliot::program::bench
