// Runs a task, and the tasks that it spawns, on a new runtime.
//
//   foliot::task<int> serve(std::string address) { … }
//
//   int main() { return foliot::run(serve("localhost")); }
//
// run() returns when the main task has ended. Tasks that are still waiting then are destroyed, the innermost call
// first, and their destructors run. Calls by blocking() that have begun are waited for; the others are not made. The
// calling thread runs tasks meanwhile. On real time the runtime also has one thread for each further processor, one for
// the monitor, and those of blocking(); on virtual time it has none.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include <foliot/core/export.h>
#include <foliot/runtime/detail/intrusive_ptr.hpp>
#include <foliot/runtime/detail/scheduler_calls.hpp>
#include <foliot/runtime/run_options.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/statistics.hpp>
#include <foliot/runtime/task.hpp>

namespace foliot::runtime {

namespace detail {

/// Owns a scheduler, whose type only the library knows.
class FOLIOT_EXPORT own_scheduler {
 public:
  explicit own_scheduler(const run_options& options);
  ~own_scheduler();
  own_scheduler(const own_scheduler&) = delete;
  own_scheduler& operator=(const own_scheduler&) = delete;

  [[nodiscard]] scheduler& get() const noexcept { return *scheduler_; }
  void run(task_state& main, frame& body);

 private:
  std::unique_ptr<scheduler> scheduler_;
};

}  // namespace detail

/// Runs `main` to its end on a new runtime, and returns its result, or throws what it threw. Throws
/// std::invalid_argument for options out of range; std::system_error if a thread or a file descriptor cannot be made;
/// deadlock if all tasks wait for ever (run_options::deadlocks); std::logic_error inside of a runtime, and for a task
/// that is empty or has run.
template <class Result>
Result run(task<Result> main, const run_options& options = {}) {
  detail::spawned<Result>::check(main);
  detail::own_scheduler scheduler(options);
  auto* const state = new detail::spawned<Result>(scheduler.get(), "main", std::move(main));
  state->retain();
  const detail::intrusive_ptr<detail::spawned<Result>> keep(*state);
  scheduler.run(*state, state->prepare());
  return state->take();
}

/// Calls `main`, and runs the task that it returns. The callable lives until the run ends, so a closure may be a
/// coroutine.
template <class Main>
  requires requires(Main& main) { typename std::invoke_result_t<Main&>::promise_type; }
auto run(Main main, const run_options& options = {}) {
  return run(main(), options);
}

/// Changes the number of processors of the caller's runtime (run_options::processors). The tasks and timers of removed
/// processors move to others. Throws std::invalid_argument; std::system_error or std::bad_alloc, with as many
/// processors as could be made; std::logic_error outside of a runtime.
FOLIOT_EXPORT void set_processors(std::size_t count);
/// The number of processors of the caller's runtime. Throws std::logic_error outside of a runtime.
[[nodiscard]] FOLIOT_EXPORT std::size_t processors();

/// The time by the clock of the caller's runtime, by which its timers go. Throws std::logic_error outside of a runtime.
[[nodiscard]] FOLIOT_EXPORT instant now();

}  // namespace foliot::runtime

namespace foliot {
using runtime::run;
}  // namespace foliot
