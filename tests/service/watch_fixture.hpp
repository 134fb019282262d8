// The fixture of the tests of watches: a service with the engine epoll-heap, and two connected sockets.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <utility>

#include <foliot/service.hpp>

#include "support/engines.hpp"

namespace foliot::test {

/// Two connected sockets. They do not block, unless the test makes them.
class connection {
 public:
  explicit connection(int type = SOCK_NONBLOCK) {
    if (::socketpair(AF_UNIX, SOCK_STREAM | type, 0, ends_.data()) != 0) ADD_FAILURE() << "cannot make sockets";
  }
  ~connection() {
    ::close(ends_[0]);
    if (ends_[1] >= 0) ::close(ends_[1]);
  }
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  [[nodiscard]] int here() const noexcept { return ends_[0]; }
  [[nodiscard]] int there() const noexcept { return ends_[1]; }
  /// Writes a byte to the other end, so that this end is readable.
  void write() const noexcept { EXPECT_EQ(::write(there(), "x", 1), 1); }
  /// Reads a byte. Returns whether there was one.
  bool read() const noexcept {
    char byte = 0;
    return ::read(here(), &byte, 1) == 1;
  }
  void close_there() noexcept { ::close(std::exchange(ends_[1], -1)); }

 private:
  std::array<int, 2> ends_{-1, -1};
};

/// A suite with a service that watches descriptors.
class watching_suite : public ::testing::Test {
 protected:
  static service_options reactor() { return with_engine("epoll-heap"); }

  timer_service timers{reactor()};
};

}  // namespace foliot::test
