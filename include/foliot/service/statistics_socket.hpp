// Shows a service's statistics to other processes: a local (Unix-domain) socket that answers each connection with one
// snapshot, as text, and closes it. `foliot top PATH` reads it.
//
//   foliot::timer_service timers{std::move(options)};
//   foliot::statistics_socket shown{timers, "/run/server/timers"};
//
// It makes one thread of its own, `foliot-stats`, which sleeps until somebody connects: with nobody looking it never
// wakes. A connection is never waited for.
//
// Who may connect: who may write the socket's file, as the process' umask leaves it; as a rule its owner.
// A path where a process still listens is refused, at once, also if that process hangs and its backlog is full; one
// that a process has left behind is taken over. Two that take over the same path at the same moment may both believe
// that they have it: give each its own. The file goes when the object does, wherever the process has changed its folder
// to; what another process has put in its place stays.
//
// Thread safety: making and destroying it need it to oneself. Lifetime: the service outlives it. In the child of a fork
// it shows nothing, and may be destroyed.
#pragma once

#include <string>

#include <foliot/core/export.h>
#include <foliot/core/seam/local_socket.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/service/timer_service.hpp>

namespace foliot::inline service {

class FOLIOT_EXPORT statistics_socket {
 public:
  /// From the return on, who connects is answered. Throws std::invalid_argument for a path that no socket can have
  /// (empty, longer than 107 bytes); std::system_error where the path is in use, is no socket, or cannot be
  /// made, and when there is no thread; std::bad_alloc.
  statistics_socket(const timer_service& timers, std::string path);
  /// Waits for an answer that is being given.
  ~statistics_socket();
  statistics_socket(const statistics_socket&) = delete;
  statistics_socket& operator=(const statistics_socket&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return listener_.path(); }

 private:
  void answer() noexcept;

  const timer_service& timers_;
  seam::local_listener listener_;
  seam::thread thread_;
};

}  // namespace foliot::inline service
