// The socket seam: all calls of the kernel's stream and datagram sockets. No call blocks.
//
// A call that would block fails with errc::operation_would_block, a connect that goes on in the background with
// errc::operation_in_progress. A call that a signal interrupts is repeated here. No call raises SIGPIPE. Descriptors
// are non-blocking and close-on-exec.
//
// Real side: src/core/seam/sockets.cpp, Linux. Tests make its system calls fail one by one (tests/runtime/net).
// Thread safety: as the system's calls, any thread. No function throws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <system_error>
#include <utility>

#include <foliot/core/export.h>
#include <foliot/core/readiness.hpp>
#include <foliot/core/seam/socket_address.hpp>

namespace foliot::inline core::seam {

template <class Value>
using or_error = std::expected<Value, std::error_code>;

/// A new stream socket.
[[nodiscard]] FOLIOT_EXPORT or_error<int> open_socket(address_family family) noexcept;
/// Two local sockets that are connected to each other.
[[nodiscard]] FOLIOT_EXPORT or_error<std::pair<int, int>> open_socket_pair() noexcept;

/// Lets a restarted server bind its port at once (SO_REUSEADDR); a port at which another socket listens stays refused.
FOLIOT_EXPORT std::error_code reuse_address(int socket) noexcept;
/// Makes an IPv6 socket accept no IPv4 connections (IPV6_V6ONLY).
FOLIOT_EXPORT std::error_code keep_to_own_family(int socket) noexcept;
/// Makes an IP socket that is bound to port 0 get its port at connect (IP_BIND_ADDRESS_NO_PORT): then the system may
/// choose a port that other sockets use for other peers, and finds one sooner.
FOLIOT_EXPORT std::error_code choose_port_late(int socket) noexcept;
/// Gives the socket its local address.
FOLIOT_EXPORT std::error_code bind_socket(int socket, const socket_address& to) noexcept;
/// Makes the socket accept connections, at most `backlog` of which wait.
FOLIOT_EXPORT std::error_code listen_socket(int socket, int backlog) noexcept;
/// The socket of the next connection; skips connections that failed before they were accepted.
[[nodiscard]] FOLIOT_EXPORT or_error<int> accept_socket(int socket) noexcept;
/// Begins to connect.
FOLIOT_EXPORT std::error_code connect_socket(int socket, const socket_address& to) noexcept;
/// The outcome of a connect that was in progress: no error once it is connected, errc::operation_in_progress while it
/// still is, else why it failed.
[[nodiscard]] FOLIOT_EXPORT std::error_code connect_outcome(int socket) noexcept;

/// Reads at least one byte and returns how many; 0 is the end of the stream. Precondition: `into` is not empty.
[[nodiscard]] FOLIOT_EXPORT or_error<std::size_t> receive(int socket, std::span<std::byte> into) noexcept;
/// Writes a first part of `from` and returns how many bytes it has.
[[nodiscard]] FOLIOT_EXPORT or_error<std::size_t> send(int socket, std::span<const std::byte> from) noexcept;

/// A new datagram socket.
[[nodiscard]] FOLIOT_EXPORT or_error<int> open_datagram_socket(address_family family) noexcept;
/// A datagram that was received.
struct received_datagram {
  std::size_t size = 0;  ///< of the datagram, also where the buffer was smaller
  socket_address from;
};
/// Reads a datagram, as much of it as fits; the rest of it is lost.
[[nodiscard]] FOLIOT_EXPORT or_error<received_datagram> receive_datagram(int socket,
                                                                         std::span<std::byte> into) noexcept;
/// Sends a datagram; to no address: to that which the socket is connected to.
FOLIOT_EXPORT std::error_code send_datagram(int socket, std::span<const std::byte> from,
                                            const socket_address& to) noexcept;

/// A direction of a connection.
enum class half : std::uint8_t { reading, writing };
/// Shuts one direction down.
FOLIOT_EXPORT std::error_code shut_down(int socket, half which) noexcept;
/// Closes any descriptor. A socket still sends the data that it has taken, unless reset_at_close() was called.
FOLIOT_EXPORT void close_descriptor(int descriptor) noexcept;

/// The socket's own address.
[[nodiscard]] FOLIOT_EXPORT or_error<socket_address> local_address(int socket) noexcept;
/// The address that the socket is connected to.
[[nodiscard]] FOLIOT_EXPORT or_error<socket_address> peer_address(int socket) noexcept;
/// Makes TCP send small pieces at once instead of gathering them (TCP_NODELAY).
FOLIOT_EXPORT std::error_code set_no_delay(int socket, bool on) noexcept;
/// Makes the close discard unsent data and send a reset (SO_LINGER of zero).
FOLIOT_EXPORT std::error_code reset_at_close(int socket) noexcept;

/// The flags of `which` that the descriptor is ready for now, and hung_up or failed where they apply.
[[nodiscard]] FOLIOT_EXPORT readiness ready_now(int descriptor, readiness which) noexcept;

}  // namespace foliot::inline core::seam
