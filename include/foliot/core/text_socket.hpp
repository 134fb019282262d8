// A local (Unix-domain) socket that answers each connection with one text, and closes it: what the statistics sockets
// of the service and of the runtime have in common.
//
// The object makes one thread of its own, which sleeps until another process connects: without connections it never
// wakes. It never waits for a slow reader.
//
// Access: every process that may write the socket's file may connect. The process' umask decides that; as a rule it is
// the owner alone.
//
// The path: a path at which a process still listens is refused at once, also if that process hangs and its backlog is
// full. A file that a process has left behind is replaced. If two processes replace the same file at the same moment,
// both may succeed, and only one is reached: each must have a path of its own. The destructor removes the file, also if
// the process has changed its working directory since; a file that another process has put in its place stays.
//
// Thread safety: no other thread may use the object while it is made or destroyed.
// Lifetime: what the source uses must outlive the object. In the child of a fork it answers nothing, and may be
// destroyed.
#pragma once

#include <functional>
#include <string>

#include <foliot/core/export.h>
#include <foliot/core/seam/local_socket.hpp>
#include <foliot/core/seam/sync.hpp>

namespace foliot::inline core {

/// A socket that answers each connection with a text: see the head of this file.
class FOLIOT_EXPORT text_socket {
 public:
  /// Returns the text for one connection. If it throws, the answer is empty.
  using source = std::function<std::string()>;

  /// Listens at `path`: connections are answered from the return on, by a thread that is named `thread`. Throws
  /// std::invalid_argument for a path that no socket can have (empty, or longer than 107 bytes); std::system_error if
  /// the path is in use, is no socket or cannot be made, or if the thread cannot be started; std::bad_alloc.
  text_socket(std::string path, const char* thread, source text);
  /// Removes the file, and waits until an answer that has begun is written.
  ~text_socket();
  text_socket(const text_socket&) = delete;
  text_socket& operator=(const text_socket&) = delete;

  /// The path as it was given to the constructor.
  [[nodiscard]] const std::string& path() const noexcept { return listener_.path(); }

 private:
  void answer() noexcept;

  const source text_;
  seam::local_listener listener_;
  seam::thread thread_;
};

}  // namespace foliot::inline core
