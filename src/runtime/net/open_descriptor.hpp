// A descriptor of the system's that nothing else owns yet: closed at the end, unless it is released. Thread safety: as
// a plain object's.
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
