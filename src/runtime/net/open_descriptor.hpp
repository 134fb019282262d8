// A descriptor of the system that has no other owner yet: closed by the destructor, unless release() was called. Thread
// safety: a plain object.
#pragma once

#include <utility>

#include <foliot/core/seam/sockets.hpp>

namespace foliot::runtime::detail {

class open_descriptor {
 public:
  explicit open_descriptor(int fd) noexcept : fd_(fd) {}
  ~open_descriptor() {
    if (fd_ >= 0) seam::close_descriptor(fd_);
  }
  open_descriptor(const open_descriptor&) = delete;
  open_descriptor& operator=(const open_descriptor&) = delete;

  [[nodiscard]] int get() const noexcept { return fd_; }
  [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

}  // namespace foliot::runtime::detail
