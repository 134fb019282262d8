// The file of a local (Unix-domain) socket: remembers which file a bind has made, and removes that file and no other.
//
//   socket_file file(path);                       // before the bind: nothing can fail between the bind and claim()
//   … bind a socket to `path` …
//   const std::error_code failed = file.claim();  // after it
//   …
//   file.remove();                                // before the socket is closed
//
// The file is known by its absolute path and by its device and inode, so remove() leaves alone what another process
// has put in its place, and what has the same relative path after a chdir. While the socket is open the system keeps
// the inode, so no other file can have its number: remove() comes before the close.
// Two windows stay open, because the system has no call that compares and removes: another process may replace the file
// between the bind and claim(), or between remove()'s look at the file and its unlink.
//
// Real side: src/core/seam/socket_file.cpp. There is no simulated one, as for sockets.
// Thread safety: as a plain object's. In the child of a fork remove() does nothing: the file is the parent's.
#pragma once

#include <foliot/core/language.hpp>

#include <sys/types.h>

#include <string>
#include <system_error>
#include <utility>

#include <foliot/core/export.h>

namespace foliot::inline core::seam {

class FOLIOT_EXPORT socket_file {
 public:
  /// No file.
  socket_file() noexcept = default;
  /// The file that a socket will be bound to at `path`, relative to the folder that the process is in now. Throws
  /// std::bad_alloc.
  explicit socket_file(const std::string& path);
  socket_file(socket_file&& other) noexcept
      : path_(std::exchange(other.path_, std::string())),
        device_(other.device_),
        inode_(other.inode_),
        maker_(std::exchange(other.maker_, 0)) {}
  socket_file& operator=(socket_file&& other) noexcept {
    path_ = std::exchange(other.path_, std::string());
    device_ = other.device_;
    inode_ = other.inode_;
    maker_ = std::exchange(other.maker_, 0);
    return *this;
  }
  ~socket_file() = default;

  /// The caller has bound its socket: the file that is there now is the one to remove. Why not, if there is none.
  [[nodiscard]] std::error_code claim() noexcept;
  /// Removes the file that claim() has seen, if it is still at its path. Again for nothing.
  void remove() noexcept;

 private:
  std::string path_;  // absolute, unless the system could not tell the folder
  ::dev_t device_ = 0;
  ::ino_t inode_ = 0;
  ::pid_t maker_ = 0;  // the process that has claimed the file; 0: none has, or it is removed
};

}  // namespace foliot::inline core::seam
