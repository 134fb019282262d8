// A connection: TCP, or a local (Unix) one. What one side writes the other reads, in order, as bytes.
//
//   auto peer = co_await stream::connect(address::loopback(7000));
//   if (!peer) …                                           // peer.error() says why
//   peer->set_read_deadline(30s);                          // from now
//   std::array<char, 512> buffer;
//   const auto got = co_await peer->read_some(buffer);
//   if (!got) …                                            // io_errc::deadline_exceeded, errc::connection_reset, …
//   else if (*got == 0) …                                  // the other side writes no more: the end
//
// Errors are returned, as std::error_code; nothing raises SIGPIPE. The end of the stream is no error: read_some gives
// 0, and read_all less than was asked for. Thrown is `cancelled`, in a task that is to stop, before anything was read
// or written of that call (read_all, write_all: or after some); std::logic_error where two tasks wait in one direction;
// std::bad_alloc.
//
// Deadlines (Go's SetReadDeadline): a direction has one; it concerns what waits now and what begins later. Once it has
// come, every operation in that direction fails at once, with io_errc::deadline_exceeded, until it is moved. Whoever
// sets another one, from any task and also while an operation waits, decides when that one ends: at once, sooner,
// later, or, with instant::never(), not at all. An operation whose deadline is moved before it has noticed goes on.
// Setting one while nobody waits costs a lock and a clock, no timer.
//
// Thread safety: one task reads and another one writes, at the same time; deadlines, close() and close_write() from any
// task. An operation keeps the connection alive: the stream may be moved, closed or destroyed meanwhile; the buffer has
// to stay. close() ends the operations that wait, with io_errc::closed. Moving and destroying are the owner's. Made
// inside of a runtime, and used in that one.
#pragma once

#include <cstddef>
#include <expected>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include <foliot/core/duration.hpp>
#include <foliot/core/export.h>
#include <foliot/core/instant.hpp>
#include <foliot/runtime/detail/descriptor.hpp>
#include <foliot/runtime/net/address.hpp>
#include <foliot/runtime/net/deadlines.hpp>
#include <foliot/runtime/net/io_error.hpp>
#include <foliot/runtime/task.hpp>

namespace foliot::runtime {

template <class Value>
using or_error = std::expected<Value, std::error_code>;

class FOLIOT_EXPORT stream : public detail::with_deadlines {
 public:
  /// None: every operation fails with io_errc::closed.
  stream() noexcept = default;
  /// foliot's own.
  explicit stream(detail::descriptor_ptr descriptor) noexcept : with_deadlines(std::move(descriptor)) {}
  stream(stream&&) noexcept = default;
  stream& operator=(stream&& other) noexcept {
    if (this != &other) {
      close();
      with_deadlines::operator=(std::move(other));
    }
    return *this;
  }
  ~stream() { close(); }

  /// Connects to where somebody listens, until the deadline: then io_errc::deadline_exceeded. `from`: with that address
  /// of this machine, and its port, unless that is 0. The file of a local `from` is the caller's to remove.
  [[nodiscard]] static task<or_error<stream>> connect(address to, instant deadline = instant::never());
  [[nodiscard]] static task<or_error<stream>> connect(address to, address from, instant deadline = instant::never());
  /// Two local ones that are connected with each other.
  [[nodiscard]] static or_error<std::pair<stream, stream>> pair();

  /// Waits until there is something, and reads what there is, at most as much as there is room for. 0: the end (or no
  /// room).
  [[nodiscard]] task<or_error<std::size_t>> read_some(std::span<std::byte> into) const;
  [[nodiscard]] task<or_error<std::size_t>> read_some(std::span<char> into) const {
    return read_some(std::as_writable_bytes(into));
  }
  /// Until there is no more room. Less: the end came first. After an error it is not known how much was read.
  [[nodiscard]] task<or_error<std::size_t>> read_all(std::span<std::byte> into) const;
  [[nodiscard]] task<or_error<std::size_t>> read_all(std::span<char> into) const {
    return read_all(std::as_writable_bytes(into));
  }

  /// Waits until there is room, and writes what there is room for; at least one byte, of a text that has any.
  [[nodiscard]] task<or_error<std::size_t>> write_some(std::span<const std::byte> from) const;
  [[nodiscard]] task<or_error<std::size_t>> write_some(std::string_view from) const {
    return write_some(std::as_bytes(std::span(from)));
  }
  /// All of it. After an error it is not known how much was written.
  [[nodiscard]] task<or_error<std::size_t>> write_all(std::span<const std::byte> from) const;
  [[nodiscard]] task<or_error<std::size_t>> write_all(std::string_view from) const {
    return write_all(std::as_bytes(std::span(from)));
  }

  /// Half-close: the other side reads what was written, and then the end; it may go on writing.
  std::error_code close_write() const noexcept;
  /// Whoever reads here gets the end.
  std::error_code close_read() const noexcept;
  /// What was written is still sent.
  void close() noexcept { end(); }
  /// What was written and not sent is discarded, and the other side gets errc::connection_reset. (TCP; a local one is
  /// closed.)
  void reset() noexcept;

  [[nodiscard]] or_error<address> local_address() const noexcept;
  [[nodiscard]] or_error<address> peer_address() const noexcept;
  /// TCP gathers small pieces, or, as it is from the beginning, does not.
  std::error_code set_no_delay(bool on) const noexcept;
};

}  // namespace foliot::runtime
