#include <foliot/runtime/net/udp_socket.hpp>

#include <algorithm>

#include <foliot/core/seam/sockets.hpp>
#include <foliot/runtime/detail/scheduler_calls.hpp>

#include "descriptors.hpp"

namespace foliot::runtime {

namespace {

using detail::descriptor;
using detail::descriptor_awaiter;
using detail::descriptor_ptr;
using detail::descriptor_use;
using detail::direction;
using detail::inner;
using detail::open_descriptor;
using detail::would_block;

/// `prepare` gives the socket its address.
template <class Prepare>
or_error<descriptor_ptr> open(const address& of, const Prepare& prepare) {
  static_cast<void>(detail::this_scheduler("a UDP socket"));  // throws before anything is made
  if (of.is_local()) return std::unexpected(std::make_error_code(std::errc::invalid_argument));
  const seam::address_family family = of.system().family();
  const auto opened = seam::open_datagram_socket(family);
  if (!opened) return std::unexpected(opened.error());
  open_descriptor fd(*opened);
  std::error_code failed;
  if (family == seam::address_family::ip6) failed = seam::keep_to_own_family(fd.get());
  if (!failed) failed = prepare(fd.get(), of.system());
  if (failed) return std::unexpected(failed);
  return detail::watch(fd);
}

/// Tries, waits, and tries again. There may be more datagrams, or more room, after each try that did not have to wait.
template <class Attempt>
auto perform(descriptor_use by, direction way, Attempt attempt) -> task<decltype(attempt(0))> {
  co_await inner(detail::checkpoint());  // a task that always finds datagrams never waits
  if (!by) co_return std::unexpected(make_error_code(io_errc::closed));
  for (;;) {
    const auto advice = by->prepare(way);
    if (!advice) co_return std::unexpected(advice.error());
    if (*advice == descriptor::advice::tries) {
      auto done = attempt(by->fd());
      if (!would_block(done)) {
        by->keep_ready(way);
        co_return done;
      }
    }
    co_await inner(descriptor_awaiter(*by, way));
  }
}

/// `to` may be no address. Returns the size of the datagram.
task<std::error_code> send_one(descriptor_ptr by, std::span<const std::byte> datagram, address to) {
  const auto attempt = [datagram, to](int socket) noexcept -> or_error<std::size_t> {
    const std::error_code failed = seam::send_datagram(socket, datagram, to.system());
    if (failed) return std::unexpected(failed);
    return datagram.size();
  };
  const auto sent = co_await inner(perform(descriptor_use(by), direction::out, attempt));
  co_return sent ? std::error_code() : sent.error();
}

task<or_error<received_datagram>> receive_one(descriptor_ptr by, std::span<std::byte> into) {
  const auto attempt = [into](int socket) noexcept { return seam::receive_datagram(socket, into); };
  const auto got = co_await inner(perform(descriptor_use(by), direction::in, attempt));
  if (!got) co_return std::unexpected(got.error());
  co_return received_datagram{
      .size = std::min(got->size, into.size()), .length = got->size, .from = address(got->from)};
}

}  // namespace

or_error<udp_socket> udp_socket::bind(const address& at) {
  auto opened = open(at, seam::bind_socket);
  if (!opened) return std::unexpected(opened.error());
  return udp_socket(std::move(*opened));
}

or_error<udp_socket> udp_socket::connected_to(const address& to) {
  auto opened = open(to, seam::connect_socket);
  if (!opened) return std::unexpected(opened.error());
  return udp_socket(std::move(*opened));
}

std::error_code udp_socket::connect(const address& to) const noexcept {
  const descriptor_use use(descriptor_);
  return use ? seam::connect_socket(use->fd(), to.system()) : make_error_code(io_errc::closed);
}

task<or_error<received_datagram>> udp_socket::receive_from(std::span<std::byte> into) const {
  return receive_one(descriptor_, into);
}

task<std::error_code> udp_socket::send_to(std::span<const std::byte> datagram, address to) const {
  return send_one(descriptor_, datagram, to);
}
task<std::error_code> udp_socket::send(std::span<const std::byte> datagram) const {
  return send_one(descriptor_, datagram, address());
}

or_error<address> udp_socket::local_address() const noexcept {
  return detail::own_address(descriptor_, seam::local_address);
}
or_error<address> udp_socket::peer_address() const noexcept {
  return detail::own_address(descriptor_, seam::peer_address);
}

}  // namespace foliot::runtime
