// Runs a task, and all that it spawns, on a runtime of its own.
//
//   foliot::task<int> serve(std::string address) { … }
//
//   int main() { return foliot::run(serve("localhost")); }
//
// It returns when that task has ended: what it spawned and did not wait for is destroyed where it waits, the innermost
// call first, and its destructors run. Calls by blocking() that have begun are waited for, the others are not made. The
// calling thread runs tasks meanwhile. Threads: one for each further processor, one for the monitor, and those of
// blocking(); on virtual time none.
//
// Throws what the task threw; std::invalid_argument for options that cannot be; std::system_error where there are no
// threads or file descriptors; deadlock, when all tasks wait and nothing will ever happen (run_options::deadlocks);
// std::logic_error inside of a runtime, and for a task that is empty or has run.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include <foliot/core/export.h>
#include <foliot/runtime/detail/intrusive_ptr.hpp>
#include <foliot/runtime/detail/scheduler_calls.hpp>
#include <foliot/runtime/run_options.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/task.hpp>

namespace foliot::runtime {

namespace detail {

/// A scheduler that is made and destroyed by whoever does not know what it looks like.
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

/// Calls `main`, which returns the task. The callable lives until the end, so that it may be a closure.
template <class Main>
  requires requires(Main& main) { typename std::invoke_result_t<Main&>::promise_type; }
auto run(Main main, const run_options& options = {}) {
  return run(main(), options);
}

/// Changes the number of processors of the runtime that the caller is in: see run_options::processors. What those that
/// go away have goes on elsewhere. Throws std::invalid_argument; std::system_error or std::bad_alloc, with as many as
/// could be had; std::logic_error outside of a runtime.
FOLIOT_EXPORT void set_processors(std::size_t count);
[[nodiscard]] FOLIOT_EXPORT std::size_t processors();

/// Of the runtime that the caller is in.
[[nodiscard]] FOLIOT_EXPORT runtime_counters counters();

/// The clock of the runtime that the caller is in: what timers go by.
[[nodiscard]] FOLIOT_EXPORT instant now();

}  // namespace foliot::runtime

namespace foliot {
using runtime::run;
}  // namespace foliot
