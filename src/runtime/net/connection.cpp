#include <foliot/runtime/net/connection.hpp>

#include <foliot/core/readiness.hpp>
#include <foliot/core/seam/sockets.hpp>

#include "descriptors.hpp"

namespace foliot::runtime {

std::error_code connection::close_read() const noexcept {
  const detail::descriptor_use use(descriptor_);
  return use ? seam::shut_down(use->fd(), seam::half::reading) : make_error_code(io_errc::closed);
}

bool connection::peer_has_ended() const noexcept {
  const detail::descriptor_use use(descriptor_);
  return !use || seam::ready_now(use->fd(), readiness::peer_closed) != readiness::none;
}

std::error_code connection::look(detail::direction way) const noexcept {
  const detail::descriptor_use use(descriptor_);
  if (!use) return make_error_code(io_errc::closed);
  const auto advice = use->prepare(way);
  if (!advice) return advice.error();
  if (*advice == detail::descriptor::advice::tries)
    use->share_ready(way);  // nothing was tried, and another task may wait
  return {};
}

or_error<address> connection::local_address() const noexcept {
  return detail::own_address(descriptor_, seam::local_address);
}
or_error<address> connection::peer_address() const noexcept {
  return detail::own_address(descriptor_, seam::peer_address);
}

}  // namespace foliot::runtime
