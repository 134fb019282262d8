// Shows a service's statistics to other processes: a local (Unix-domain) socket that answers each connection with one
// snapshot, as text, and closes it. `foliot top PATH` reads it.
//
//   foliot::timer_service timers{std::move(options)};
//   foliot::statistics_socket shown{timers, "/run/server/timers"};
//
// The object makes one thread of its own, `foliot-stats`, which sleeps until another process connects: without
// connections it never wakes. It never waits for a slow reader.
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
// Lifetime: the service must outlive it. In the child of a fork it answers nothing, and may be destroyed.
#pragma once

#include <string>

#include <foliot/core/export.h>
#include <foliot/core/seam/local_socket.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/service/timer_service.hpp>

namespace foliot::inline service {

/// A socket that answers each connection with the service's statistics: see the head of this file.
class FOLIOT_EXPORT statistics_socket {
 public:
  /// Listens at `path`: connections are answered from the return on. Throws std::invalid_argument for a path that no
  /// socket can have (empty, or longer than 107 bytes); std::system_error if the path is in use, is no socket or cannot
  /// be made, or if the thread cannot be started; std::bad_alloc.
  statistics_socket(const timer_service& timers, std::string path);
  /// Waits until an answer that has begun is written, and removes the file.
  ~statistics_socket();
  statistics_socket(const statistics_socket&) = delete;
  statistics_socket& operator=(const statistics_socket&) = delete;

  /// The path as it was given to the constructor.
  [[nodiscard]] const std::string& path() const noexcept { return listener_.path(); }

 private:
  void answer() noexcept;

  const timer_service& timers_;
  seam::local_listener listener_;
  seam::thread thread_;
};

}  // namespace foliot::inline service
