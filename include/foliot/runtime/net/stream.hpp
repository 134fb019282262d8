// A connection, TCP or local (Unix). The bytes that one side writes are read by the other, in order.
//
//   auto peer = co_await stream::connect(address::loopback(7000));
//   if (!peer) …                                           // peer.error() says why
//   peer->set_read_deadline(30s);                          // from now
//   std::array<char, 512> buffer;
//   const auto got = co_await peer->read_some(buffer);
//   if (!got) …                                            // io_errc::deadline_exceeded, errc::connection_reset, …
//   else if (*got == 0) …                                  // the other side writes no more: the end
//
// Errors are returned as std::error_code, and nothing raises SIGPIPE. The end of the stream is no error: read_some()
// returns 0, and read_all() less than was asked for. Operations throw `cancelled` in a task that is asked to stop,
// before that call has read or written anything (read_all and write_all: possibly after a part); std::logic_error if
// two tasks wait in one direction; std::bad_alloc.
//
// Deadlines (Go's SetReadDeadline): each direction has one, for operations that wait and for later ones. Once it has
// passed, every operation in that direction fails at once with io_errc::deadline_exceeded, until the deadline is moved.
// Any task may set another deadline while an operation waits, and thereby decides when that operation ends: at once,
// sooner, later, or, with instant::never(), not at all. An operation whose deadline is moved before the operation has
// noticed that it passed goes on. To set a deadline while no task waits costs a lock and a look at the clock, no timer.
//
// Thread safety: one task may read while another one writes; any task may set deadlines and call close() and
// close_write(). An operation keeps the connection alive: the stream may be moved, closed or destroyed meanwhile, but
// the buffer must stay. close() ends waiting operations with io_errc::closed. Moving and destroying need the object for
// oneself. A stream must be made inside of a runtime, and used in that one.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include <foliot/core/duration.hpp>
#include <foliot/core/export.h>
#include <foliot/core/instant.hpp>
#include <foliot/runtime/detail/descriptor.hpp>
#include <foliot/runtime/net/address.hpp>
#include <foliot/runtime/net/connection.hpp>
#include <foliot/runtime/net/io_error.hpp>
#include <foliot/runtime/task.hpp>

namespace foliot::runtime {

/// One end of a connection. Move-only; the destructor closes it.
class FOLIOT_EXPORT stream : public connection {
 public:
  /// No connection: every operation fails with io_errc::closed.
  stream() noexcept = default;
  /// For foliot itself.
  explicit stream(detail::descriptor_ptr descriptor) noexcept : connection(std::move(descriptor)) {}

  /// Connects to a listener at `to`. Returns io_errc::deadline_exceeded if that takes until `deadline`. Throws
  /// std::logic_error outside of a runtime, `cancelled`, std::bad_alloc.
  [[nodiscard]] static task<or_error<stream>> connect(address to, instant deadline = instant::never());
  /// The same from the local address `from`, and from its port unless that is 0. If `from` is a path, the caller must
  /// remove its file.
  [[nodiscard]] static task<or_error<stream>> connect(address to, address from, instant deadline = instant::never());
  /// Two local streams that are connected with each other. Throws std::logic_error outside of a runtime.
  [[nodiscard]] static or_error<std::pair<stream, stream>> pair();

  /// Waits until there is data, and reads as much as there is, at most into.size() bytes. Returns how much; 0 at the
  /// end of the stream, or if `into` is empty.
  [[nodiscard]] task<or_error<std::size_t>> read_some(std::span<std::byte> into) const;
  /// The same for characters.
  [[nodiscard]] task<or_error<std::size_t>> read_some(std::span<char> into) const {
    return read_some(std::as_writable_bytes(into));
  }
  /// Reads until `into` is full. Returns less than into.size() if the stream ended first. After an error it is unknown
  /// how much was read.
  [[nodiscard]] task<or_error<std::size_t>> read_all(std::span<std::byte> into) const;
  /// The same for characters.
  [[nodiscard]] task<or_error<std::size_t>> read_all(std::span<char> into) const {
    return read_all(std::as_writable_bytes(into));
  }

  /// Waits until there is room, and writes as much as there is room for: at least one byte, unless `from` is empty.
  /// Returns how much.
  [[nodiscard]] task<or_error<std::size_t>> write_some(std::span<const std::byte> from) const;
  /// The same for characters.
  [[nodiscard]] task<or_error<std::size_t>> write_some(std::string_view from) const {
    return write_some(std::as_bytes(std::span(from)));
  }
  /// Writes all of `from`, and returns from.size(). After an error it is unknown how much was written.
  [[nodiscard]] task<or_error<std::size_t>> write_all(std::span<const std::byte> from) const;
  /// The same for characters.
  [[nodiscard]] task<or_error<std::size_t>> write_all(std::string_view from) const {
    return write_all(std::as_bytes(std::span(from)));
  }

  /// Half-closes the connection: the other side reads what was written, and then the end; it may go on writing. Any
  /// task.
  std::error_code close_write() const noexcept;
  /// Closes the connection and discards data that is not sent yet; the other side gets errc::connection_reset. (TCP; a
  /// local stream is closed.)
  void reset() noexcept;

  /// Whether TCP sends small pieces at once (true, as it is from the beginning) or gathers them.
  std::error_code set_no_delay(bool on) const noexcept;
};

}  // namespace foliot::runtime
