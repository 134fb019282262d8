// The options of a runtime. Thread safety: values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>

#include <foliot/core/export.h>
#include <foliot/core/virtual_clock.hpp>
#include <foliot/runtime/slow_task.hpp>
#include <foliot/runtime/stuck_task.hpp>

namespace foliot::runtime {

/// Called with the exception of a task that no other task joins, and of a timer's function. Any thread of the runtime
/// calls it, several at once too; and so does a thread outside that drops the handle of a task that has failed, which
/// the end of the runtime waits for. Exceptions that it throws are swallowed, and the run goes on.
using failure_handler = std::function<void(std::string_view task, const std::exception_ptr& failure)>;

/// When run() throws `deadlock` on real time: all tasks wait, no timer is pending, and no task waits for a descriptor,
/// for blocking() or for a foreign awaiter. The runtime cannot know whether another thread of the process will wake a
/// task, by a channel, a wait group, a context, a timer or a handle, or spawn one.
enum class deadlock_reports : std::uint8_t {
  /// If the process has no threads but this runtime's own. With any other thread (also of a timer_service, of another
  /// runtime, or of a sanitizer), or without /proc, the run waits on.
  when_certain,
  /// Regardless of other threads. The program promises that only threads of this runtime wake its tasks.
  always,
  /// Not on real time.
  never,
};

/// The options of run().
struct run_options {
  /// The number of processors that run tasks, from 1 to 256. 0: as many as this program may use; on virtual time one,
  /// so that a run is the same on every machine.
  std::size_t processors = 0;
  /// The queue for the timers of each processor: `foliot`; `processor-heaps`, as in Go 1.16 to 1.22; or
  /// `processor-heaps-1.14`, as in Go 1.14 and 1.15.
  std::string timers = "foliot";
  /// The clock of virtual time; null: real time. Virtual time stands still while any task can run, and jumps to the
  /// next deadline when all tasks wait. All processors then take turns on the calling thread, in an order that `seed`
  /// decides. The clock must outlive the run.
  virtual_clock* clock = nullptr;
  /// On virtual time: whether time advances by itself, or only by advance().
  bool time_jumps = true;
  /// Seeds the random sources of the processors, and thereby decides the order in which tasks run on virtual time.
  std::uint64_t seed = 0;
  /// On virtual time: whether `seed` decides the order of timers that are due at the same instant, instead of the order
  /// of their starts. For `foliot`; the heaps promise no order among such timers.
  bool shuffles_ties = false;
  /// Null: failures are reported on standard error.
  failure_handler on_failure{};
  /// How many calls by blocking() may run at once, at least 1. Their threads are made when needed.
  std::size_t blocking_threads = 64;
  /// When a run whose tasks all wait for ever throws `deadlock`, on real time. On virtual time it always does, unless
  /// there is a runtime_handle, by which another thread may spawn, and this is not `always`.
  deadlock_reports deadlocks = deadlock_reports::when_certain;
  /// Measures how late timers are, how long tasks stand in run queues, and how long their turns take (statistics.hpp).
  /// Costs three readings of the clock for each turn of a task, and 28 KiB for each processor.
  bool measure = false;
  /// Reports each turn of a task that took too long, when it has ended (slow_task.hpp).
  slow_task_report slow_task{};
  /// Reports turns that take too long and have not ended (stuck_task.hpp). On real time only.
  stuck_task_report stuck_task{};
};

/// All tasks wait, and nothing can end their waits: see run_options::deadlocks. what() names each task and the source
/// line where it waits. Before run() throws it, the tasks are destroyed as at the end of every run.
class FOLIOT_EXPORT deadlock : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

}  // namespace foliot::runtime
