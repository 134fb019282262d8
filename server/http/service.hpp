// What answers the requests that come over HTTP, behind the session that reads and writes them.
//
// Thread safety: begin() any task; a conversation belongs to the task of its connection.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

#include <foliot/runtime/net/address.hpp>
#include <foliot/runtime/task.hpp>

#include "message.hpp"
#include "server/core/byte_stream.hpp"

namespace foliot::program::http {

/// Where the pieces of a body go.
class piece_writer {
 public:
  piece_writer() noexcept = default;
  piece_writer(const piece_writer&) = delete;
  piece_writer& operator=(const piece_writer&) = delete;
  virtual ~piece_writer() = default;

  /// Writes a piece, which must outlive the task. Returns false if the client takes it too slowly, or not at all: then
  /// the body must end.
  [[nodiscard]] virtual task<bool> write(std::string_view piece) = 0;
};

/// A body whose pieces come by and by.
class streamed_body {
 public:
  streamed_body() noexcept = default;
  streamed_body(const streamed_body&) = delete;
  streamed_body& operator=(const streamed_body&) = delete;
  virtual ~streamed_body() = default;

  /// Writes the pieces, of some KB each, until the body ends or its task is asked to stop.
  [[nodiscard]] virtual task<> write_to(piece_writer& out) = 0;
};

/// What an answer that is being made may ask of its connection.
class answering_side {
 public:
  answering_side() noexcept = default;
  answering_side(const answering_side&) = delete;
  answering_side& operator=(const answering_side&) = delete;
  virtual ~answering_side() = default;

  /// Waits until the server has room for so many bytes, which count as held until the answer has been written. Returns
  /// false if there will be none.
  [[nodiscard]] virtual task<bool> take_room(std::size_t bytes) = 0;
  /// Awaits a task that may take long. If the client goes away meanwhile, or the server ends, the task is asked to
  /// stop, and false is returned when it has ended; `runtime::cancelled` is no error then. Throws what the task throws.
  [[nodiscard]] virtual task<bool> wait_for(task<> what) = 0;
  /// Sends a response whose body comes in pieces: its head now, and then what `body` writes. When the client goes away,
  /// the server ends, or the reading from the connection is ended, the body is asked to stop. The connection ends with
  /// it. Returns what the answer must be then. Both must outlive the task.
  [[nodiscard]] virtual task<response> stream(const response& head, streamed_body& body) = 0;
};

/// Answers the requests of one connection, one after the other.
class conversation {
 public:
  conversation() noexcept = default;
  conversation(const conversation&) = delete;
  conversation& operator=(const conversation&) = delete;
  virtual ~conversation() = default;

  /// The answer to a request that is refused by its head, before its body has come; nothing if it is not. If the
  /// refused request has a body, the connection ends. What the client has shown to come in is here, and later no more.
  [[nodiscard]] virtual std::optional<response> refuse(const request& head) = 0;
  /// Answers a request, which may be changed. Both must outlive the task. An exception ends the connection.
  [[nodiscard]] virtual task<response> answer(request& what, answering_side& side) = 0;
  /// The answer has been written: to the connection, or into its buffers in the system. Called only for answers that
  /// want it (response::wants_word), before the next request. Without this call the connection ends.
  virtual void note_sent() noexcept {}
};

class service {
 public:
  service() noexcept = default;
  service(const service&) = delete;
  service& operator=(const service&) = delete;
  virtual ~service() = default;

  /// A conversation for a new connection. Both must outlive it. It may end the reading from the connection, and must
  /// neither read nor write there.
  [[nodiscard]] virtual std::unique_ptr<conversation> begin(byte_stream& peer) = 0;
  /// Whether a proxy is there whose requests say where they come from.
  [[nodiscard]] virtual bool is_of_proxy(const runtime::address& from) const {
    static_cast<void>(from);
    return false;
  }
};

}  // namespace foliot::program::http
