// Helpers of the socket tests: the two ends of a connection, of each kind.
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <foliot/runtime/net/listener.hpp>
#include <foliot/runtime/net/stream.hpp>
#include <foliot/runtime/net/watched_descriptor.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/this_task.hpp>

#include "runtime/worlds.hpp"

namespace foliot::test {

/// The two ends of a local connection: written data arrives at once, so virtual time cannot pass in between.
inline std::pair<runtime::stream, runtime::stream> local_pair() {
  auto both = runtime::stream::pair();
  EXPECT_TRUE(both.has_value());
  return both ? std::move(*both) : std::pair<runtime::stream, runtime::stream>();
}

/// An abstract name that no other test and no other run of this test uses.
inline runtime::address fresh_name() {
  static int count = 0;
  const std::string name = "unix:@foliot-" + std::to_string(::getpid()) + "-" + std::to_string(++count);
  return runtime::address::parse(name).value();
}

/// Writes to a connection from which no task reads until its buffers are full. Returns the number of bytes.
inline std::size_t fill(const runtime::stream& target) {
  const std::string block(65'536, 'x');
  std::size_t sum = 0;
  for (;;) {
    const auto sent = ::send(target.native_handle(), block.data(), block.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent <= 0) return sum;
    sum += static_cast<std::size_t>(sent);
  }
}

}  // namespace foliot::test
