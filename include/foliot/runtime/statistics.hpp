// A snapshot of a runtime's counters and histograms.
//
//   foliot::runtime::run_options options;
//   options.measure = true;
//   …
//   const foliot::runtime_statistics now = foliot::runtime::statistics();   // in a task
//   handle.statistics();                                                    // anywhere: runtime_handle.hpp
//
// Each number is right by itself; they are read one after the other while the runtime goes on. `tasks` may be read
// before a task ends that `running` still counts.
//
// Thread safety: plain values. runtime_statistics is about 30 KiB.
#pragma once

#include <cstddef>
#include <cstdint>

#include <foliot/core/export.h>
#include <foliot/core/histogram.hpp>

namespace foliot::runtime {

/// What a runtime has done so far, and has now.
struct runtime_counters {
  std::uint64_t spawned = 0;      ///< tasks, the main task included
  std::uint64_t turns = 0;        ///< times that a worker ran a task until it waited, ended or had spent its budget
  std::uint64_t spent_turns = 0;  ///< turns that ended because the budget was spent: 128 steps without a wait
  std::uint64_t fired = 0;        ///< timers that came due, those of sleeps, deadlines and timeouts included
  std::uint64_t steals = 0;       ///< times that a worker took tasks from another processor's run queue
  std::uint64_t stolen = 0;       ///< tasks that were taken so
  std::uint64_t parks = 0;        ///< times that a worker went to sleep
  std::uint64_t polls = 0;        ///< looks and waits for descriptors
  std::uint64_t rounds = 0;       ///< searches of all workers for work
  std::uint64_t rescues = 0;      ///< how often the monitor stepped in for a processor that was stuck in a task

  std::size_t tasks = 0;             ///< tasks that have not ended
  std::size_t running = 0;           ///< tasks that a worker runs
  std::size_t ready = 0;             ///< tasks in the run queues; the others that have not ended wait
  std::size_t descriptor_waits = 0;  ///< tasks that wait for sockets and other descriptors
  std::size_t timers = 0;            ///< timers that are pending at the processors
  std::size_t blocking_calls = 0;    ///< calls by blocking() that have not returned
  std::size_t blocking_threads = 0;  ///< threads for such calls
  std::size_t processors = 0;        ///< as set_processors() has set it
  std::size_t idle = 0;              ///< processors whose workers sleep, or are about to

  friend bool operator==(const runtime_counters&, const runtime_counters&) = default;
  /// How many tasks neither run nor are ready.
  [[nodiscard]] std::size_t waiting() const noexcept { return tasks > running + ready ? tasks - running - ready : 0; }
};

/// The result of statistics().
struct runtime_statistics {
  runtime_counters counters;
  /// Whether the runtime measures (run_options::measure). If not, the histograms are empty.
  bool measured = false;
  /// How long after its deadline each timer was found due.
  histogram lateness;
  /// How long each task that could run stood in a run queue.
  histogram queue_time;
  /// How long each turn of a task took.
  histogram turn_time;

  friend bool operator==(const runtime_statistics&, const runtime_statistics&) = default;
};

/// The counters of the caller's runtime. Throws std::logic_error outside of a runtime. Complexity: O(the number of
/// processors), with a lock for each.
[[nodiscard]] FOLIOT_EXPORT runtime_counters counters();
/// The counters, and the histograms if the runtime measures. Otherwise as above.
[[nodiscard]] FOLIOT_EXPORT runtime_statistics statistics();

}  // namespace foliot::runtime

namespace foliot {
using runtime::runtime_counters;
using runtime::runtime_statistics;
}  // namespace foliot
