#include <foliot/runtime/net/watched_descriptor.hpp>

#include <foliot/core/seam/sockets.hpp>
#include <foliot/runtime/detail/scheduler_calls.hpp>

#include "descriptors.hpp"
#include "runtime/scheduler.hpp"

namespace foliot::runtime {

namespace detail {

std::expected<descriptor_ptr, std::error_code> watch(int fd) {
  scheduler& here = this_scheduler("a descriptor");
  return here.descriptors().add(fd, at_end::leaves_open, here);
}
std::expected<descriptor_ptr, std::error_code> watch(open_descriptor& fd) {
  scheduler& here = this_scheduler("a descriptor");
  auto descriptor = here.descriptors().add(fd.get(), at_end::closes, here);
  if (descriptor) static_cast<void>(fd.release());
  return descriptor;
}

// prepare() clears the memory of edges before the look at the system, so a change after that look is a new edge.
bool readiness_operation::try_complete() noexcept {
  failure_ = {};  // the operation may be used repeatedly
  wait_.reset();
  const descriptor_use use(descriptor_);
  if (!use) {
    failure_ = io_errc::closed;
    return true;
  }
  const auto advice = use->prepare(way_);
  if (!advice) {
    failure_ = advice.error();
    return true;
  }
  const readiness which = way_ == direction::in ? readiness::readable : readiness::writable;
  return seam::ready_now(use->fd(), which) != readiness::none;
}

std::expected<void, std::error_code> readiness_operation::result() noexcept {
  if (wait_) {
    const auto advice = descriptor_->prepare(way_);
    if (!advice) failure_ = advice.error();
  }
  if (failure_) return std::unexpected(failure_);
  return {};
}

}  // namespace detail

std::expected<watched_descriptor, std::error_code> watched_descriptor::watch(int fd) {
  auto descriptor = detail::watch(fd);
  if (!descriptor) return std::unexpected(descriptor.error());
  return watched_descriptor(std::move(*descriptor));
}

}  // namespace foliot::runtime
