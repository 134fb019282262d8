// Shows a runtime to other processes: a local (Unix-domain) socket that answers each connection with its statistics and
// with what its tasks do, as text, and closes it. `foliot top PATH` reads it.
//
//   foliot::task<int> serve() {
//     foliot::runtime_statistics_socket shown{foliot::this_runtime(), "/run/server/runtime"};
//     …
//
// The thread, access, and the path: as in core/text_socket.hpp; the thread is named `foliot-stats`. It is none of the
// runtime's, and so answers also while all workers are stuck in tasks. An answer looks at each task (task_report.hpp).
//
// Deadlocks: the socket holds no handle of its own, so that on virtual time it does not keep a runtime from its end. On
// real time its thread is one that might wake a task (run_options::deadlocks).
//
// Thread safety: no other thread may use the object while it is made or destroyed.
// Lifetime: it may outlive the runtime; the answers are then empty. In the child of a fork it answers nothing, and may
// be destroyed.
#pragma once

#include <string>

#include <foliot/core/export.h>
#include <foliot/core/text_socket.hpp>
#include <foliot/runtime/runtime_handle.hpp>

namespace foliot::runtime {

/// A socket that answers each connection with what a runtime does: see the head of this file.
class FOLIOT_EXPORT runtime_statistics_socket {
 public:
  /// Listens at `path`: connections are answered from the return on. Throws std::logic_error for an empty handle;
  /// otherwise as text_socket's constructor.
  runtime_statistics_socket(const runtime_handle& of, std::string path);

  /// The path as it was given to the constructor.
  [[nodiscard]] const std::string& path() const noexcept { return socket_.path(); }

 private:
  text_socket socket_;
};

}  // namespace foliot::runtime

namespace foliot {
using runtime::runtime_statistics_socket;
}  // namespace foliot
