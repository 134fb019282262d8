// Writes what each task does whenever a signal comes, as Go does for SIGQUIT: for a server that hangs.
//
//   foliot::task<int> serve() {
//     const foliot::dump_on_signal dumps{foliot::this_runtime()};     // kill -QUIT, or Ctrl-\ in a terminal
//     …
//
// The object makes one thread of its own, `foliot-dump`, which sleeps until the signal comes. It is none of the
// runtime's, and so writes also while all workers are stuck in tasks. The process goes on afterwards.
//
// The signal: as with a signal_set (signal_set.hpp), which may watch it, too. The disposition from before comes back
// when the last of them is destroyed. Signals that come while a dump is written are one.
//
// Deadlocks: as with a runtime_statistics_socket.
//
// Thread safety: no other thread may use the object while it is made or destroyed.
// Lifetime: it may outlive the runtime; it then writes that the runtime has ended. In the child of a fork it does
// nothing, and may be destroyed.
#pragma once

#include <csignal>
#include <functional>
#include <string>

#include <foliot/core/export.h>
#include <foliot/core/seam/poller.hpp>
#include <foliot/core/seam/signals.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/runtime/detail/intrusive_ptr.hpp>
#include <foliot/runtime/detail/runtime_gate.hpp>
#include <foliot/runtime/runtime_handle.hpp>

namespace foliot::runtime {

/// A thread that writes what each task does whenever a signal comes: see the head of this file.
class FOLIOT_EXPORT dump_on_signal {
 public:
  /// Gets the text of a dump (task_report.hpp), on the thread `foliot-dump`. Its exceptions are swallowed.
  using writer = std::function<void(const std::string&)>;

  /// Watches the signal from the return on. Without `write` the dumps go to standard error. Throws std::logic_error for
  /// an empty handle; std::invalid_argument for a signal that cannot be watched, as signal_set::watch() does;
  /// std::system_error if there is no descriptor left, or the thread cannot be started; std::bad_alloc.
  explicit dump_on_signal(const runtime_handle& of, int signal = SIGQUIT, writer write = {});
  /// Waits until a dump that has begun is written.
  ~dump_on_signal();
  dump_on_signal(const dump_on_signal&) = delete;
  dump_on_signal& operator=(const dump_on_signal&) = delete;

 private:
  void work() noexcept;
  void write_dump() const noexcept;

  const detail::intrusive_ptr<detail::runtime_gate> gate_;
  const writer write_;
  seam::signal_watch signal_;
  seam::poller poller_;
  seam::atomic<bool> ending_{false};  // published by the poller's wake-up
  seam::thread thread_;
};

}  // namespace foliot::runtime

namespace foliot {
using runtime::dump_on_signal;
}  // namespace foliot
