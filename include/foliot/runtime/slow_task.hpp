// Reports of slow tasks: which task kept its worker for too long without waiting, and from where on.
//
//   foliot::runtime::run_options options;
//   options.slow_task = {.longer_than = 10ms, .tell = [](const foliot::slow_task& slow) {
//     std::printf("%s after %s:%u: %lld ns\n", slow.name.data(), slow.resumed_at.file_name(), slow.resumed_at.line(),
//                 (long long)slow.took.count());
//   }};
//
// Such a task delays the timers and tasks behind it until another worker or the monitor helps: what computes for long
// or blocks belongs into blocking(). stuck_task.hpp reports turns that have not ended. With
// this option each turn of a task costs two readings of the clock and a copy of the task's name. Without it none of
// that.
#pragma once

#include <source_location>
#include <string_view>

#include <foliot/core/duration.hpp>
#include <foliot/core/shared_callable.hpp>

namespace foliot::runtime {

/// A turn of a task that took longer than slow_task_report::longer_than, and has ended.
struct slow_task {
  /// From just before the turn to just after it, by the runtime's clock.
  duration took;
  /// The task's name, the first 63 bytes of it. Valid during the call of `tell`, and followed by a zero byte.
  std::string_view name;
  /// The co_await that the task went on from: the slow code comes after it. line() is 0 for a task's first turn.
  std::source_location resumed_at;
};

/// The limit, and the function that gets the reports. Off while `tell` is empty.
struct slow_task_report {
  /// Turns that take longer than this are reported. Must not be negative.
  duration longer_than{};
  /// Called on the worker that ran the task, between two tasks, without any lock; by several workers at once. It must
  /// not block. Its exceptions go to run_options::on_failure.
  shared_callable<void(const slow_task&)> tell{};
};

}  // namespace foliot::runtime

namespace foliot {
using runtime::slow_task;
using runtime::slow_task_report;
}  // namespace foliot
