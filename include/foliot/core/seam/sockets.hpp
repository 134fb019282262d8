// The socket seam: the only door to the kernel's stream sockets. Nothing here waits.
//
// What cannot be done now is errc::operation_would_block, and for a connect errc::operation_in_progress. A call that a
// signal interrupts is made again here. No call raises SIGPIPE. Descriptors are not inherited by other programs, and
// do not block.
//
// Real side: src/core/seam/sockets.cpp, Linux. Tests make its system calls fail one by one (tests/runtime/net).
// Thread safety: as the system's.
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

[[nodiscard]] FOLIOT_EXPORT or_error<int> open_socket(address_family family) noexcept;
/// Two local ones that are connected.
[[nodiscard]] FOLIOT_EXPORT or_error<std::pair<int, int>> open_socket_pair() noexcept;

/// So that a server may come back to its port at once; a port that somebody listens at stays refused.
FOLIOT_EXPORT std::error_code reuse_address(int socket) noexcept;
/// An IPv6 socket takes no IPv4 connections.
FOLIOT_EXPORT std::error_code keep_to_own_family(int socket) noexcept;
/// An IP socket that is bound to port 0 gets its port when it connects: one that others have for other peers will do,
/// and it is found sooner.
FOLIOT_EXPORT std::error_code choose_port_late(int socket) noexcept;
FOLIOT_EXPORT std::error_code bind_socket(int socket, const socket_address& to) noexcept;
FOLIOT_EXPORT std::error_code listen_socket(int socket, int backlog) noexcept;
[[nodiscard]] FOLIOT_EXPORT or_error<int> accept_socket(int socket) noexcept;
FOLIOT_EXPORT std::error_code connect_socket(int socket, const socket_address& to) noexcept;
/// How a connect has ended that was in progress: none, or errc::operation_in_progress still, or why not.
[[nodiscard]] FOLIOT_EXPORT std::error_code connect_outcome(int socket) noexcept;

/// 0 is the end of the stream. Precondition: there is room.
[[nodiscard]] FOLIOT_EXPORT or_error<std::size_t> receive(int socket, std::span<std::byte> into) noexcept;
[[nodiscard]] FOLIOT_EXPORT or_error<std::size_t> send(int socket, std::span<const std::byte> from) noexcept;

enum class half : std::uint8_t { reading, writing };
FOLIOT_EXPORT std::error_code shut_down(int socket, half which) noexcept;
/// Whatever it is; sockets discard nothing that is to be sent.
FOLIOT_EXPORT void close_descriptor(int descriptor) noexcept;

[[nodiscard]] FOLIOT_EXPORT or_error<socket_address> local_address(int socket) noexcept;
[[nodiscard]] FOLIOT_EXPORT or_error<socket_address> peer_address(int socket) noexcept;
/// TCP sends small pieces at once, and does not gather them (TCP_NODELAY).
FOLIOT_EXPORT std::error_code set_no_delay(int socket, bool on) noexcept;
/// A close sends a reset, and discards what is still to be sent.
FOLIOT_EXPORT std::error_code reset_at_close(int socket) noexcept;

/// Which of these a descriptor is ready for now, or that it hangs up, or has failed.
[[nodiscard]] FOLIOT_EXPORT readiness ready_now(int descriptor, readiness which) noexcept;

}  // namespace foliot::inline core::seam
