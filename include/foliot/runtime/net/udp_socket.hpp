// Datagrams by UDP.
//
//   auto socket = udp_socket::bind(address::loopback(5000));
//   std::array<std::byte, 1500> buffer;
//   const auto got = co_await socket->receive_from(buffer);
//   if (!got) …                                     // io_errc::deadline_exceeded, …
//   const auto sent = co_await socket->send_to(std::span(buffer).first(got->size), got->from);
//
// A datagram arrives whole, or not at all, and datagrams may come in any order. What does not fit into the buffer of a
// receive is lost: received_datagram::is_truncated().
//
// A socket that is connected to an address receives from that address only, and send() sends to it. It also gets the
// errors that come back, such as errc::connection_refused where nobody listens: by the next operation, whichever that
// is, which has then done nothing.
//
// Broadcast, multicast, buffer sizes and other options: setsockopt() on native_handle().
//
// Errors, deadlines, `cancelled` and thread safety: as in stream.hpp. One task may receive while another one sends. A
// send waits only while the system has no room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include <foliot/core/export.h>
#include <foliot/runtime/net/address.hpp>
#include <foliot/runtime/net/deadlines.hpp>
#include <foliot/runtime/net/io_error.hpp>
#include <foliot/runtime/task.hpp>

namespace foliot::runtime {

/// What udp_socket::receive_from() has received. A value.
struct received_datagram {
  std::size_t size = 0;    ///< how many bytes are in the buffer
  std::size_t length = 0;  ///< how many bytes the datagram had
  address from{};          ///< the sender

  /// Whether the end of the datagram did not fit into the buffer, and is lost.
  [[nodiscard]] bool is_truncated() const noexcept { return length > size; }
};

/// A UDP socket. Move-only; the destructor closes it.
class FOLIOT_EXPORT udp_socket : public detail::with_deadlines {
 public:
  /// No socket: every operation fails with io_errc::closed.
  udp_socket() noexcept = default;
  udp_socket(udp_socket&&) noexcept = default;
  /// Closes this socket, then takes over that of `other`.
  udp_socket& operator=(udp_socket&& other) noexcept {
    if (this != &other) {
      close();
      with_deadlines::operator=(std::move(other));
    }
    return *this;
  }
  /// Closes the socket.
  ~udp_socket() { close(); }

  /// Receives at that address, and sends from it; port 0 asks the system for a free port (local_address()). An IPv6
  /// address does not include IPv4. Returns errc::invalid_argument for a path, and the errors of the system. Throws
  /// std::logic_error outside of a runtime, std::bad_alloc.
  [[nodiscard]] static or_error<udp_socket> bind(const address& at);
  /// A socket with an address that the system chooses, connected to `to`. Otherwise as bind().
  [[nodiscard]] static or_error<udp_socket> connected_to(const address& to);

  /// Connects the socket to that address, or to another one than before.
  std::error_code connect(const address& to) const noexcept;

  /// Waits for a datagram, and reads as much of it as fits into `into`.
  [[nodiscard]] task<or_error<received_datagram>> receive_from(std::span<std::byte> into) const;
  /// The same for characters.
  [[nodiscard]] task<or_error<received_datagram>> receive_from(std::span<char> into) const {
    return receive_from(std::as_writable_bytes(into));
  }

  /// Waits until the system has room, and sends one datagram. errc::message_size if it is too large.
  [[nodiscard]] task<std::error_code> send_to(std::span<const std::byte> datagram, address to) const;
  /// The same for characters.
  [[nodiscard]] task<std::error_code> send_to(std::string_view datagram, address to) const {
    return send_to(std::as_bytes(std::span(datagram)), to);
  }
  /// The same to the address that the socket is connected to; errc::destination_address_required if it is not.
  [[nodiscard]] task<std::error_code> send(std::span<const std::byte> datagram) const;
  /// The same for characters.
  [[nodiscard]] task<std::error_code> send(std::string_view datagram) const {
    return send(std::as_bytes(std::span(datagram)));
  }

  /// Closes the socket. Waiting operations return io_errc::closed. Any task, and repeatedly.
  void close() noexcept { end(); }

  /// This side's address. io_errc::closed after close().
  [[nodiscard]] or_error<address> local_address() const noexcept;
  /// The address that the socket is connected to; errc::not_connected if it is not.
  [[nodiscard]] or_error<address> peer_address() const noexcept;

 private:
  explicit udp_socket(detail::descriptor_ptr descriptor) noexcept : with_deadlines(std::move(descriptor)) {}
};

}  // namespace foliot::runtime
