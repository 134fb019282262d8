// What a runtime can be told, and what it tells.
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

namespace foliot::runtime {

/// Gets what a task threw that nobody joins, and what the function of a timer threw. Called on any thread of the
/// runtime, also on several at once. What it throws itself is swallowed, and the run goes on.
using failure_handler = std::function<void(std::string_view task, const std::exception_ptr& failure)>;

/// When `run` throws `deadlock` on real time: all tasks wait, no timer is pending, no task waits for a descriptor, for
/// blocking() or for a foreign awaiter. What it cannot know is whether another thread of the process will wake a task:
/// by a channel, a wait group, a context, a timer or a handle.
enum class deadlock_reports : std::uint8_t {
  /// When the process has no threads but this runtime's own. A program with a thread of another kind (also a
  /// timer_service's, another runtime's, a sanitizer's), or without /proc, waits on.
  when_certain,
  /// Whatever threads there are. The program promises that only threads of this runtime ever wake its tasks.
  always,
  /// Not on real time.
  never,
};

struct run_options {
  /// How many processors run tasks, from 1 to 256; 0: as many as the machine gives to this program.
  std::size_t processors = 0;
  /// What the processors keep their timers in: `foliot`; `processor-heaps`, as Go 1.16 to 1.22; or
  /// `processor-heaps-1.14`, as Go 1.14 and 1.15.
  std::string timers = "foliot";
  /// Virtual time, or none. It stands still while a task can run, and goes on to the next deadline when all wait.
  /// All processors then take turns on the calling thread, as the seed says. It outlives the run.
  virtual_clock* clock = nullptr;
  /// On virtual time: whether time goes on by itself, or only by runtime::advance.
  bool time_jumps = true;
  /// Decides who runs when, on virtual time, and with several processors.
  std::uint64_t seed = 0;
  /// On virtual time: timers that are due in the same instant fire in an order that the seed decides, not in that of
  /// their starts. For `foliot`; the heaps promise no order among those.
  bool shuffles_ties = false;
  /// By default it is reported to standard error.
  failure_handler on_failure{};
  /// How many threads may be in blocking() at once, from 1 on. They are made when they are needed.
  std::size_t blocking_threads = 64;
  /// On real time: when a run whose tasks all wait for ever ends. On virtual time it always does.
  deadlock_reports deadlocks = deadlock_reports::when_certain;
};

/// All tasks wait, and nothing will ever happen: see run_options::deadlocks. Its what() names each task and where it
/// waits. The tasks have been destroyed there, as at the end of every run.
class FOLIOT_EXPORT deadlock : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// What a runtime has done.
struct runtime_counters {
  std::uint64_t rounds = 0;   ///< of all workers: looks for something to do
  std::uint64_t rescues = 0;  ///< times that the monitor stepped in for a processor that was stuck in a task
  std::size_t tasks = 0;      ///< that have not ended
  std::size_t timers = 0;     ///< pending at the processors
};

}  // namespace foliot::runtime
