// What the classes of this folder do with descriptors: own one that has no other owner yet, watch it, ask for its
// addresses, and see that a call would have blocked.
//
// Thread safety: watch() and stream_over() by any thread of the runtime, the other functions by any thread; an
// open_descriptor is a plain object.
#pragma once

#include <expected>
#include <system_error>
#include <utility>

#include <foliot/core/seam/sockets.hpp>
#include <foliot/runtime/detail/descriptor.hpp>
#include <foliot/runtime/net/address.hpp>
#include <foliot/runtime/net/io_error.hpp>
#include <foliot/runtime/net/stream.hpp>

namespace foliot::runtime::detail {

/// A descriptor of the system that has no other owner yet: closed by the destructor, unless release() was called.
class open_descriptor {
 public:
  explicit open_descriptor(int fd) noexcept : fd_(fd) {}
  ~open_descriptor() {
    if (fd_ >= 0) seam::close_descriptor(fd_);
  }
  open_descriptor(const open_descriptor&) = delete;
  open_descriptor& operator=(const open_descriptor&) = delete;

  [[nodiscard]] int get() const noexcept { return fd_; }
  [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

/// Watches a descriptor that stays its owner's. Throws std::logic_error outside of a runtime.
[[nodiscard]] std::expected<descriptor_ptr, std::error_code> watch(int fd);
/// Watches a descriptor, and takes it over: it is closed with the last reference. On an error, and on std::logic_error
/// outside of a runtime, it stays the caller's.
[[nodiscard]] std::expected<descriptor_ptr, std::error_code> watch(open_descriptor& fd);
/// A stream over a connected socket, which it takes over as watch() does.
[[nodiscard]] or_error<stream> stream_over(open_descriptor& fd);

/// What `ask` says of the socket: seam::local_address or seam::peer_address. io_errc::closed if it is closed.
inline or_error<address> own_address(const descriptor_ptr& of,
                                     or_error<seam::socket_address> (*ask)(int) noexcept) noexcept {
  const descriptor_use use(of);
  if (!use) return std::unexpected(make_error_code(io_errc::closed));
  const auto system = ask(use->fd());
  if (!system) return std::unexpected(system.error());
  return address(*system);
}

/// Whether a call of the socket seam has done nothing, because it would have blocked.
template <class Value>
[[nodiscard]] bool would_block(const or_error<Value>& result) noexcept {
  return !result && result.error() == std::errc::operation_would_block;
}

}  // namespace foliot::runtime::detail
