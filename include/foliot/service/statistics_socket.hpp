// Shows a service's statistics to other processes: a local (Unix-domain) socket that answers each connection with one
// snapshot, as text, and closes it. `foliot top PATH` reads it.
//
//   foliot::timer_service timers{std::move(options)};
//   foliot::statistics_socket shown{timers, "/run/server/timers"};
//
// The thread, access, and the path: as in core/text_socket.hpp; the thread is named `foliot-stats`.
//
// Thread safety: no other thread may use the object while it is made or destroyed.
// Lifetime: the service must outlive it. In the child of a fork it answers nothing, and may be destroyed.
#pragma once

#include <string>

#include <foliot/core/export.h>
#include <foliot/core/text_socket.hpp>
#include <foliot/service/timer_service.hpp>

namespace foliot::inline service {

/// A socket that answers each connection with the service's statistics: see the head of this file.
class FOLIOT_EXPORT statistics_socket {
 public:
  /// Listens at `path`: connections are answered from the return on. Throws as text_socket's constructor.
  statistics_socket(const timer_service& timers, std::string path);

  /// The path as it was given to the constructor.
  [[nodiscard]] const std::string& path() const noexcept { return socket_.path(); }

 private:
  text_socket socket_;
};

}  // namespace foliot::inline service
