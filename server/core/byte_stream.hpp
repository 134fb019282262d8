// A connection with a client, as the protocols of the server see it: bytes in both directions, deadlines, and an end.
// Whether the bytes travel in plain, under TLS or within a simulation is known where the connection was opened
// (stream_over.hpp), and nowhere behind that.
//
//   std::array<char, 512> bytes;
//   const auto got = co_await peer.read_some(std::span(bytes));
//   if (!got || *got == 0) co_return;                     // an error, or the client writes no more
//   const auto sent = co_await peer.write_some(answer);   // the first bytes of it
//
// Errors are those of a runtime::stream. A client that goes away without saying so fails a read under TLS, and ends the
// stream in plain: a protocol treats both as the end.
//
// Thread safety: one task may read while another one writes; any task may call the functions that do not wait. The
// object must outlive the operations.
//
// Cost: one virtual call for each operation, and the task of the stream below. A put, a reserve and a
// delete, client included, take 44,300 instructions with it and 44,400 without (callgrind, means of three and of four
// runs, which differ by up to 800).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/runtime/net/address.hpp>
#include <foliot/runtime/net/io_error.hpp>
#include <foliot/runtime/task.hpp>

namespace foliot::program {

class byte_stream {
 public:
  byte_stream() noexcept = default;
  byte_stream(const byte_stream&) = delete;
  byte_stream& operator=(const byte_stream&) = delete;
  virtual ~byte_stream() = default;

  /// Waits until there is data, and reads as much as there is, at most into.size() bytes. Returns how much; 0 if the
  /// client writes no more, or if `into` is empty.
  [[nodiscard]] virtual task<runtime::or_error<std::size_t>> read_some(std::span<char> into) = 0;
  /// Waits until there is room, and writes as much as there is room for. Returns how much.
  [[nodiscard]] virtual task<runtime::or_error<std::size_t>> write_some(std::string_view from) = 0;

  /// Reads that wait at the deadline, and later ones, fail with io_errc::deadline_exceeded; never() removes it. Throws
  /// std::bad_alloc.
  virtual void set_read_deadline(instant deadline) = 0;
  /// The same `from_now` from now.
  virtual void set_read_deadline(duration from_now) = 0;
  /// The same for writes, and for close_write().
  virtual void set_write_deadline(duration from_now) = 0;

  /// Tells the client that no more comes. Waits until that has left, where it takes bytes. Errors are ignored: the
  /// connection is to be closed.
  [[nodiscard]] virtual task<> close_write() = 0;
  /// Reads give what has arrived, and then end.
  virtual void end_reading() noexcept = 0;
  /// Closes the connection, without a word to the client. Waiting operations fail with io_errc::closed.
  virtual void close() noexcept = 0;

  /// Whether it is known, without reading, that the client has gone, or that the connection has failed or is closed;
  /// bytes that came before may be unread. Under TLS a client that has only said that it writes no more is not known to
  /// have gone.
  [[nodiscard]] virtual bool peer_has_ended() const noexcept = 0;
  /// Whether close() was called.
  [[nodiscard]] virtual bool is_closed() const noexcept = 0;
  /// The client's address; none where there is no socket.
  [[nodiscard]] virtual runtime::address peer_address() const noexcept { return {}; }

  /// The SHA-256 of the certificate by which the client has proved who it is, in 64 hexadecimal digits; empty if it has
  /// shown none, as always in plain. An authority that the server trusts has signed it. Throws std::bad_alloc.
  [[nodiscard]] virtual std::string certificate_fingerprint() const { return {}; }
};

/// Ends a connection whose client may be sending: unread bytes would end it before the answers are there. Tells the
/// client that no more comes, and drops what it sends, up to 1 MiB and for a second.
[[nodiscard]] task<> drop_the_rest(byte_stream& of);

/// Writes all of the text. Returns false if that was not possible.
[[nodiscard]] task<bool> write_all(byte_stream& to, std::string_view text);

}  // namespace foliot::program
