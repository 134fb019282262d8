// The file of a local (Unix-domain) socket: remembers which file bind() created, and removes that file and no other.
//
//   socket_file file(path);                       // before the bind: nothing can fail between the bind and claim()
//   … bind a socket to `path` …
//   const std::error_code failed = file.claim();  // after it
//   …
//   file.remove();                                // before the socket is closed
//
// The file is identified by its absolute path, device and inode, so remove() does not remove a file by which another
// process has replaced it, nor a file that has the same relative path after the working directory has changed. The
// system keeps the inode while the socket is open, so that no other file can get its number: remove() must come before
// the close.
// Two races remain, because the system has no call that compares and removes: another process may replace the file
// between bind() and claim(), or between the lstat() and the unlink() of remove().
//
// Real side: src/core/seam/socket_file.cpp. There is no simulated side.
// Thread safety: a plain object's. In the child of a fork remove() does nothing: the file belongs to the parent.
#pragma once

#include <foliot/core/language.hpp>

#include <sys/types.h>

#include <string>
#include <system_error>
#include <utility>

#include <foliot/core/export.h>

namespace foliot::inline core::seam {

/// The file of one local socket, or none. Can be moved; the moved-from object has no file.
class FOLIOT_EXPORT socket_file {
 public:
  /// No file.
  socket_file() noexcept = default;
  /// The file that bind() will create at `path`. A relative path refers to the present working directory. Throws
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

  /// Remembers the file that is at the path now; to be called after bind(). Returns the system's error if there is
  /// none.
  [[nodiscard]] std::error_code claim() noexcept;
  /// Removes the file that claim() found, if it is still at the path. Does nothing when called again.
  void remove() noexcept;

 private:
  std::string path_;  // absolute, unless the system could not tell the working directory
  ::dev_t device_ = 0;
  ::ino_t inode_ = 0;
  ::pid_t maker_ = 0;  // the process that claimed the file; 0 if it was not claimed, or was removed
};

}  // namespace foliot::inline core::seam
