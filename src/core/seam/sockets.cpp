// The real side of the socket seam: Linux.
#include <foliot/core/seam/sockets.hpp>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace foliot::inline core::seam {

namespace {

std::error_code error_of(int number) noexcept { return {number, std::generic_category()}; }
std::unexpected<std::error_code> failure(int number) noexcept { return std::unexpected(error_of(number)); }

/// Repeats the call as long as a signal interrupts it.
template <class Call>
auto uninterrupted(Call call) noexcept {
  for (;;) {
    const auto result = call();
    if (result >= 0 || errno != EINTR) return result;
  }
}

std::error_code outcome(int result) noexcept { return result < 0 ? error_of(errno) : std::error_code(); }

std::error_code set_option(int socket, int level, int option, int value) noexcept {
  return outcome(::setsockopt(socket, level, option, &value, sizeof(value)));
}

// The system's interface reads any kind of address through a pointer to sockaddr.
const sockaddr* system_address(const socket_address& address) noexcept {
  return static_cast<const sockaddr*>(address.data());
}

template <class Call>
or_error<socket_address> address_by(Call call, int socket) noexcept {
  socket_address address;
  socklen_t size = socket_address::capacity;
  if (call(socket, static_cast<sockaddr*>(address.data()), &size) < 0) return failure(errno);
  address.set_size(std::min<std::uint32_t>(size, socket_address::capacity));
  return address;
}

or_error<int> open_socket_of(address_family family, int type) noexcept {
  constexpr std::array system{AF_UNSPEC, AF_INET, AF_INET6, AF_UNIX};
  const int made = ::socket(system[static_cast<std::size_t>(family)], type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (made < 0) return failure(errno);
  return made;
}

}  // namespace

or_error<int> open_socket(address_family family) noexcept { return open_socket_of(family, SOCK_STREAM); }

or_error<std::pair<int, int>> open_socket_pair() noexcept {
  std::array<int, 2> made{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, made.data()) < 0) return failure(errno);
  return std::pair(made[0], made[1]);
}

std::error_code reuse_address(int socket) noexcept { return set_option(socket, SOL_SOCKET, SO_REUSEADDR, 1); }
std::error_code keep_to_own_family(int socket) noexcept { return set_option(socket, IPPROTO_IPV6, IPV6_V6ONLY, 1); }
std::error_code choose_port_late(int socket) noexcept {
  return set_option(socket, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
}

std::error_code bind_socket(int socket, const socket_address& to) noexcept {
  return outcome(::bind(socket, system_address(to), to.size()));
}

std::error_code listen_socket(int socket, int backlog) noexcept { return outcome(::listen(socket, backlog)); }

or_error<int> accept_socket(int socket) noexcept {
  for (;;) {
    const int accepted = ::accept4(socket, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (accepted >= 0) return accepted;
    switch (errno) {
      case EINTR: break;
      // This connection failed before it was accepted: accept(2) says to try again.
      case ECONNABORTED:
      case ENETDOWN:
      case EPROTO:
      case ENOPROTOOPT:
      case EHOSTDOWN:
      case ENONET:
      case EHOSTUNREACH:
      case ENETUNREACH: break;
      default: return failure(errno);
    }
  }
}

std::error_code connect_socket(int socket, const socket_address& to) noexcept {
  if (::connect(socket, system_address(to), to.size()) == 0) return {};
  // An interrupted connect goes on in the background and must not be called again.
  return error_of(errno == EINTR ? EINPROGRESS : errno);
}

std::error_code connect_outcome(int socket) noexcept {
  int error = 0;
  socklen_t size = sizeof(error);
  if (::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) < 0) return error_of(errno);
  if (error != 0) return error_of(error);
  const or_error<socket_address> peer = peer_address(socket);
  if (!peer) return error_of(peer.error().value() == ENOTCONN ? EINPROGRESS : peer.error().value());
  return {};
}

or_error<std::size_t> receive(int socket, std::span<std::byte> into) noexcept {
  const auto got = uninterrupted([&] { return ::recv(socket, into.data(), into.size(), 0); });
  if (got < 0) return failure(errno);
  return static_cast<std::size_t>(got);
}

or_error<std::size_t> send(int socket, std::span<const std::byte> from) noexcept {
  const auto sent = uninterrupted([&] { return ::send(socket, from.data(), from.size(), MSG_NOSIGNAL); });
  if (sent < 0) return failure(errno);
  return static_cast<std::size_t>(sent);
}

or_error<int> open_datagram_socket(address_family family) noexcept { return open_socket_of(family, SOCK_DGRAM); }

or_error<received_datagram> receive_datagram(int socket, std::span<std::byte> into) noexcept {
  received_datagram result;
  iovec buffer{.iov_base = into.data(), .iov_len = into.size()};
  msghdr message{};
  message.msg_name = result.from.data();
  message.msg_namelen = socket_address::capacity;
  message.msg_iov = &buffer;
  message.msg_iovlen = 1;
  const auto got = uninterrupted([&] { return ::recvmsg(socket, &message, MSG_TRUNC); });
  if (got < 0) return failure(errno);
  result.size = static_cast<std::size_t>(got);
  result.from.set_size(message.msg_namelen);
  return result;
}

std::error_code send_datagram(int socket, std::span<const std::byte> from, const socket_address& to) noexcept {
  const bool has_address = to.family() != address_family::none;
  const sockaddr* const where = has_address ? system_address(to) : nullptr;
  const auto sent = uninterrupted(
      [&] { return ::sendto(socket, from.data(), from.size(), MSG_NOSIGNAL, where, has_address ? to.size() : 0); });
  return sent < 0 ? error_of(errno) : std::error_code();
}

std::error_code shut_down(int socket, half which) noexcept {
  return outcome(::shutdown(socket, which == half::reading ? SHUT_RD : SHUT_WR));
}

// Not repeated after EINTR: on Linux the descriptor is closed even then, and another may already have its number.
void close_descriptor(int descriptor) noexcept { ::close(descriptor); }

or_error<socket_address> local_address(int socket) noexcept { return address_by(::getsockname, socket); }
or_error<socket_address> peer_address(int socket) noexcept { return address_by(::getpeername, socket); }

std::error_code set_no_delay(int socket, bool on) noexcept {
  return set_option(socket, IPPROTO_TCP, TCP_NODELAY, on ? 1 : 0);
}

std::error_code reset_at_close(int socket) noexcept {
  const linger now{.l_onoff = 1, .l_linger = 0};
  return outcome(::setsockopt(socket, SOL_SOCKET, SO_LINGER, &now, sizeof(now)));
}

readiness ready_now(int descriptor, readiness which) noexcept {
  pollfd asked{};
  asked.fd = descriptor;
  if (has(which, readiness::readable)) asked.events |= POLLIN;
  if (has(which, readiness::writable)) asked.events |= POLLOUT;
  if (has(which, readiness::peer_closed)) asked.events |= POLLRDHUP;
  if (uninterrupted([&] { return ::poll(&asked, 1, 0); }) <= 0) return readiness::none;
  readiness ready = readiness::none;
  if ((asked.revents & POLLIN) != 0) ready = ready | readiness::readable;
  if ((asked.revents & POLLOUT) != 0) ready = ready | readiness::writable;
  if ((asked.revents & POLLRDHUP) != 0) ready = ready | readiness::peer_closed;
  if ((asked.revents & POLLHUP) != 0) ready = ready | readiness::hung_up;
  if ((asked.revents & (POLLERR | POLLNVAL)) != 0) ready = ready | readiness::failed;
  return ready;
}

}  // namespace foliot::inline core::seam
