// The seam to local (Unix-domain) sockets: a listener at a path, which gives each who connects one text.
//
// Real side: src/core/seam/local_socket.cpp. There is no simulated one: nothing of foliot's protocols depends on it.
//
// Thread safety: as the members say.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include <foliot/core/export.h>
#include <foliot/core/seam/socket_file.hpp>
#include <foliot/core/seam/sync.hpp>

namespace foliot::inline core::seam {

class FOLIOT_EXPORT local_listener {
 public:
  /// Takes the path, also from a listener that has gone without removing it. Throws std::invalid_argument for a path
  /// that no socket can have, else std::system_error.
  explicit local_listener(std::string path);
  /// Removes the file at the path, if it is still this listener's (socket_file.hpp); not in the child of a fork.
  ~local_listener();
  local_listener(const local_listener&) = delete;
  local_listener& operator=(const local_listener&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// Whether this process is the one that made it, and not the child of a fork.
  [[nodiscard]] bool is_here() const noexcept;

  /// Waits for somebody to connect. False: shut_down() was called. One thread's.
  [[nodiscard]] bool accept() noexcept;
  /// Gives the text to who has connected, as much of it as the system takes at once, and hangs up. The same thread's.
  void answer(std::string_view text) noexcept;
  /// From now on accept() returns false, also one that waits. From any thread.
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
