// The addresses of a socket that has a descriptor. Thread safety: any task.
#pragma once

#include <foliot/core/seam/sockets.hpp>
#include <foliot/runtime/detail/descriptor.hpp>
#include <foliot/runtime/net/address.hpp>
#include <foliot/runtime/net/io_error.hpp>

namespace foliot::runtime::detail {

/// What `ask` says of the socket: seam::local_address or seam::peer_address. io_errc::closed if it is closed.
inline or_error<address> own_address(const descriptor_ptr& of,
                                     or_error<seam::socket_address> (*ask)(int) noexcept) noexcept {
  const descriptor_use use(of);
  if (!use) return std::unexpected(make_error_code(io_errc::closed));
  const auto system = ask(use->fd());
  if (!system) return std::unexpected(system.error());
  return address(*system);
}

}  // namespace foliot::runtime::detail
