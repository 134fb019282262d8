// All tasks of a runtime, with what each of them does and where.
//
//   std::fputs(foliot::runtime::dump_tasks().c_str(), stderr);     // in a task
//   handle.dump_tasks();                                           // anywhere: runtime_handle.hpp
//
//   foliot: 1204 tasks on 2 processors: 1 running, 0 ready, 1203 waiting
//       1200  'session' waiting to read at server.cpp:31, up to 12.4s
//          3  'flush' waiting for a mutex at store.cpp:88, up to 1ms
//          1  'main' running, after server.cpp:57, 310us
//
// A task waits at a co_await of the program's: not at one inside of foliot. A task that runs, or is ready to, went on
// from it, or will. How long needs run_options::measure: for a task that is ready, since when it has been so; for one
// that runs or waits, since its last turn began.
//
// The other tasks go on meanwhile. A task that is never seen between two states is reported once; one that ends or
// begins meanwhile may be left out; of one that comes to its next wait meanwhile the place may be that of the wait
// before.
//
// Thread safety: the reports are plain values. Complexity: O(the number of tasks), under sixteen locks one after the
// other, which a spawn and the end of a task also take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include <foliot/core/duration.hpp>
#include <foliot/core/export.h>
#include <foliot/runtime/wait_kind.hpp>

namespace foliot::runtime {

/// What a task does.
enum class task_phase : std::uint8_t {
  ready,    ///< it is in a run queue
  running,  ///< a worker runs it
  waiting,  ///< it waits at a co_await
};
/// "ready", "running" or "waiting".
[[nodiscard]] FOLIOT_EXPORT std::string_view to_string(task_phase phase) noexcept;

/// One task.
struct task_report {
  std::string name{};
  task_phase phase = task_phase::waiting;
  /// What a waiting task waits for.
  wait_reason waits_for{};
  /// Its latest co_await. line() is 0 for a task that has not come to any.
  std::source_location where{};
  /// How long: see the head of this file. Empty if the runtime does not measure.
  std::optional<duration> for_so_long{};
};

/// Tasks of one name that do the same at the same place.
struct task_group {
  std::string name{};
  task_phase phase = task_phase::waiting;
  /// What they wait for, if they wait.
  wait_reason waits_for{};
  /// The file, without its folder, and the line of their latest co_await: "server.cpp:31". Empty if they have not come
  /// to any.
  std::string where{};
  std::size_t tasks = 0;
  /// The longest of them.
  std::optional<duration> for_so_long{};

  friend bool operator==(const task_group&, const task_group&) = default;
};

/// What the tasks do, and where: "waiting to read at server.cpp:31".
[[nodiscard]] FOLIOT_EXPORT std::string activity_text(const task_group& group);
/// A line for people, without a line break: see the head of this file.
[[nodiscard]] FOLIOT_EXPORT std::string to_string(const task_group& group);

/// All tasks of the caller's runtime that have not ended, in no certain order. Throws std::logic_error outside of a
/// runtime, std::bad_alloc.
[[nodiscard]] FOLIOT_EXPORT std::vector<task_report> tasks();
/// The same in groups, the largest first; groups of one size in the order of their places and names.
[[nodiscard]] FOLIOT_EXPORT std::vector<task_group> task_groups();
/// The groups as lines for people, with a line of totals before them.
[[nodiscard]] FOLIOT_EXPORT std::string dump_tasks();

}  // namespace foliot::runtime

namespace foliot {
using runtime::task_group;
using runtime::task_phase;
using runtime::task_report;
}  // namespace foliot
