// A runtime on a thread of its own, for a program that has other threads.
//
//   int main() {
//     foliot::background_runtime background;
//     const foliot::runtime_handle handle = background.handle();
//     handle.spawn(serve_metrics());
//     std::puts(handle.call(ask("price")).c_str());
//   }                                              // destroys what has not ended, and waits for the runtime's end
//
// It runs until it is stopped, also while it has no task. Its end is that of run(): tasks that have not ended are
// destroyed where they wait, and calls by blocking() that have begun are waited for. So a stop must not come from a
// function that such a wait waits for.
//
// If the runtime cannot go on, because the system refuses it a thread, the constructor throws the error, or
// run_options::on_failure gets it under the name `background_runtime`; the handles then throw runtime_ended.
//
// A static background_runtime lets a task, a timer's function, a call by blocking() or run_options::on_failure end the
// program by exit(): its destructor does not wait for the thread that it runs on. The runtime is asked to stop then,
// and destroys no task.
//
// In the child of a fork a background_runtime has ended, unless one of its own tasks has forked: its handles throw
// runtime_ended, and its destructor leaves the memory of its tasks alone.
//
// Thread safety: all functions from any thread. A task of the runtime, a call by blocking(), or on_failure must not
// call stop(), and no other thread may use the object while it is destroyed.
#pragma once

#include <foliot/core/language.hpp>

#include <memory>

#include <foliot/core/export.h>
#include <foliot/runtime/run_options.hpp>
#include <foliot/runtime/runtime_handle.hpp>

namespace foliot::runtime {

/// Owns a thread that runs a runtime. Neither copied nor moved.
class FOLIOT_EXPORT background_runtime {
 public:
  /// Starts the runtime, and returns when it runs tasks. Throws as run() does for its options, and std::system_error if
  /// a thread or a file descriptor cannot be had.
  explicit background_runtime(const run_options& options = {});
  /// Stops the runtime, and waits for its end, as stop() does; but not in a thread of the runtime, which ends when the
  /// caller has returned to it.
  ~background_runtime();
  background_runtime(const background_runtime&) = delete;
  background_runtime& operator=(const background_runtime&) = delete;

  /// A handle to the runtime, by which any thread spawns tasks.
  [[nodiscard]] runtime_handle handle() const noexcept;

  /// Asks the runtime to end, and does not wait for that. A second request does nothing.
  void request_stop() noexcept;
  /// Asks the runtime to end, and returns when it has ended: all tasks have been destroyed, and no thread of the
  /// runtime exists. Throws std::logic_error in a task of the runtime, in a call by blocking(), and in on_failure.
  void stop();

 private:
  class state;
  std::unique_ptr<state> state_;
};

}  // namespace foliot::runtime

namespace foliot {
using runtime::background_runtime;
}  // namespace foliot
