// The seam to local (Unix-domain) sockets: a listener at a path, which answers each connection with one text.
//
// Real side: src/core/seam/local_socket.cpp. There is no simulated side: no protocol of foliot depends on it.
//
// Thread safety: stated at each member.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include <foliot/core/export.h>
#include <foliot/core/seam/socket_file.hpp>
#include <foliot/core/seam/sync.hpp>

namespace foliot::inline core::seam {

/// A listening local socket with a file of its own.
class FOLIOT_EXPORT local_listener {
 public:
  /// Listens at `path`. Replaces the socket file of a listener that has ended without removing it. Throws
  /// std::invalid_argument for a path that no socket can have, and std::system_error where the system refuses.
  explicit local_listener(std::string path);
  /// Closes the socket, and removes the file at the path if it is still this listener's (socket_file.hpp). Does not
  /// remove it in the child of a fork.
  ~local_listener();
  local_listener(const local_listener&) = delete;
  local_listener& operator=(const local_listener&) = delete;

  /// The path that the constructor was given. Any thread.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// Whether this process made the listener: false in the child of a fork. Any thread.
  [[nodiscard]] bool is_here() const noexcept;

  /// Waits for a connection. Returns false after shut_down(). One thread at a time.
  [[nodiscard]] bool accept() noexcept;
  /// Sends `text` to the connection that accept() has returned for, as much as the system takes without blocking, and
  /// closes the connection. Must be called by the thread that called accept().
  void answer(std::string_view text) noexcept;
  /// Removes the socket file, then makes every accept() return false, also one that is waiting. In this order, so that
  /// a process that asks finds no file, rather than a socket that nobody listens at, as a killed process leaves it. One
  /// thread, once.
  void shut_down() noexcept;

 private:
  std::string path_;
  socket_file file_;
  int descriptor_ = -1;
  int connection_ = -1;
  ::pid_t maker_ = 0;
  // Set by shut_down(), read by accept().
  atomic<bool> ended_{false};
};

}  // namespace foliot::inline core::seam
