// What every connection has, whatever is said over it: a socket with deadlines, two addresses, and an end. The base of
// stream and tls_stream, which add how bytes are read and written.
//
// Thread safety: any task may set deadlines and call close_read() and close(), also while others read and write.
// Moving and destroying need the object for oneself.
#pragma once

#include <system_error>
#include <utility>

#include <foliot/core/export.h>
#include <foliot/runtime/detail/descriptor.hpp>
#include <foliot/runtime/net/address.hpp>
#include <foliot/runtime/net/deadlines.hpp>
#include <foliot/runtime/net/io_error.hpp>

namespace foliot::runtime {

/// The socket of a connection. Move-only; the destructor closes it.
class FOLIOT_EXPORT connection : public detail::with_deadlines {
 public:
  /// Ends reading at this side of the socket, and wakes a task that waits for data. A stream gives what has arrived,
  /// and then the end; a tls_stream fails with tls_errc::truncated once it has read what has arrived.
  std::error_code close_read() const noexcept;
  /// Closes the connection; data that the system has taken is still sent. Waiting operations return io_errc::closed.
  /// May be called repeatedly. For the peer of a tls_stream that has not called close_write() the connection is
  /// truncated.
  void close() noexcept { end(); }

  /// Whether the peer has ended its side of the socket, or the connection has failed or is closed; bytes that came
  /// before may be unread. Asks the system, without waiting. True after close_read(), too.
  [[nodiscard]] bool peer_has_ended() const noexcept;

  /// This side's address. io_errc::closed after close().
  [[nodiscard]] or_error<address> local_address() const noexcept;
  /// The other side's address. io_errc::closed after close().
  [[nodiscard]] or_error<address> peer_address() const noexcept;

  /// For foliot itself: how an operation without bytes would fail now, with io_errc::closed or deadline_exceeded.
  [[nodiscard]] std::error_code look(detail::direction way) const noexcept;
  /// For foliot itself.
  [[nodiscard]] const detail::descriptor_ptr& descriptor() const noexcept { return descriptor_; }

 protected:
  /// No connection: every operation fails with io_errc::closed.
  connection() noexcept = default;
  explicit connection(detail::descriptor_ptr descriptor) noexcept : with_deadlines(std::move(descriptor)) {}
  connection(connection&&) noexcept = default;
  /// Closes this connection, then takes over that of `other`.
  connection& operator=(connection&& other) noexcept {
    if (this != &other) {
      end();
      with_deadlines::operator=(std::move(other));
    }
    return *this;
  }
  ~connection() { end(); }
};

}  // namespace foliot::runtime
