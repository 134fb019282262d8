// Reports of stuck tasks: which task keeps its worker, told while it does so.
//
//   foliot::runtime::run_options options;
//   options.stuck_task = {.longer_than = 1s, .tell = [](const foliot::stuck_task& one) { log(to_string(one)); }};
//
// slow_task.hpp reports turns that have ended; a task that never waits again, in a loop or in a function that blocks,
// has none. With this option the runtime's monitor reports it while it runs, also at the end of a run that waits for
// its worker. The monitor looks every 10 ms while a worker is awake, so a report comes up to that much later than the
// limit says, or later on a busy machine. On virtual time there is no monitor, and no such report.
//
// The functions of timers (after_func, callback_timer), and the destructors of a task that ends, run between turns, and
// are not reported. A task that waits for ever is not stuck in this sense: task_report.hpp shows it.
//
// Each turn of a task costs two readings of the clock, a copy of the task's name, a system call, and two uncontended
// locks. Without the option there is no such cost.
#pragma once

#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>

#include <foliot/core/duration.hpp>
#include <foliot/core/export.h>
#include <foliot/core/shared_callable.hpp>

namespace foliot::runtime {

/// A turn of a task that has taken longer than stuck_task_report::longer_than, and goes on.
struct stuck_task {
  /// Since the turn began, by the runtime's clock.
  duration running;
  /// The task's name, the first 63 bytes of it. Valid during the call of `tell`, and followed by a zero byte.
  std::string_view name;
  /// The co_await that the task went on from: the code that keeps the worker comes after it. line() is 0 for a task's
  /// first turn.
  std::source_location resumed_at;
  /// The system's number of the worker's thread, as debuggers and /proc show it.
  std::uint32_t thread;
};

/// A line for a log, without a line break: the task, the thread, how long, to three digits, and since where. Throws
/// std::bad_alloc.
[[nodiscard]] FOLIOT_EXPORT std::string to_string(const stuck_task& one);

/// The limit, and the function that gets the reports. Off while `tell` is empty.
struct stuck_task_report {
  /// A turn is reported when it has taken for longer than this, and then each time when it has taken twice as long as
  /// at the report before. Must be positive.
  duration longer_than{};
  /// Called on the monitor's thread, without any lock. It must not block: the monitor is what helps the timers and
  /// tasks behind the stuck one. Its exceptions go to run_options::on_failure.
  shared_callable<void(const stuck_task&)> tell{};
};

}  // namespace foliot::runtime

namespace foliot {
using runtime::stuck_task;
using runtime::stuck_task_report;
}  // namespace foliot
