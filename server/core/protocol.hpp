// The interface of a protocol, which is spoken on the connections of a listener. The way of a connection is listener,
// access, protocol: a listener accepts it and makes it a byte_stream, access decides whether it may come in, and a
// protocol serves it.
//
// Thread safety: any task.
#pragma once

#include <string>

#include <foliot/runtime/task.hpp>

#include "access.hpp"
#include "byte_stream.hpp"

namespace foliot::program {

class protocol {
 public:
  protocol() noexcept = default;
  protocol(const protocol&) = delete;
  protocol& operator=(const protocol&) = delete;
  virtual ~protocol() = default;

  /// Serves one connection, until its client or the server ends it. An exception ends that connection, too. The
  /// protocol and the stream must outlive the task.
  [[nodiscard]] virtual task<> serve(byte_stream& peer) = 0;
  /// Whether connections from there bring the requests of others, which the protocol can tell: they do not count for
  /// the limit of connections by address.
  [[nodiscard]] virtual bool is_of_proxy(const runtime::address& from) const {
    static_cast<void>(from);
    return false;
  }
  /// The reply to a client that may not come in, because there are too many connections of this kind.
  /// Throws std::bad_alloc.
  [[nodiscard]] virtual std::string refusal(access_limit by) const = 0;
};

}  // namespace foliot::program
