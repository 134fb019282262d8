#include <foliot/runtime/net/listener.hpp>

#include <array>
#include <chrono>

#include <foliot/core/seam/socket_file.hpp>
#include <foliot/core/seam/sockets.hpp>
#include <foliot/runtime/detail/scheduler_calls.hpp>

#include "descriptors.hpp"

namespace foliot::runtime {

namespace {

using detail::descriptor;
using detail::descriptor_awaiter;
using detail::descriptor_use;
using detail::direction;
using detail::inner;
using detail::open_descriptor;

/// How long accept() waits before its second try, if there was no descriptor for the connection.
constexpr duration pause_without_resources = std::chrono::milliseconds(10);

bool lacks_resources(std::error_code error) noexcept {
  constexpr std::array lacking{std::errc::too_many_files_open, std::errc::too_many_files_open_in_system,
                               std::errc::no_buffer_space, std::errc::not_enough_memory};
  return std::ranges::any_of(lacking, [&](std::errc each) { return error == each; });
}

or_error<stream> stream_of(int accepted) {
  open_descriptor fd(accepted);
  auto made = detail::stream_over(fd);
  if (made) seam::set_no_delay(accepted, true);  // has no effect on a local socket
  return made;
}

task<or_error<stream>> accept_one(descriptor_use by) {
  co_await inner(detail::checkpoint());  // a task that always finds a connection never waits
  if (!by) co_return std::unexpected(make_error_code(io_errc::closed));
  bool has_paused = false;
  for (;;) {
    const auto advice = by->prepare(direction::in);
    if (!advice) co_return std::unexpected(advice.error());
    instant pause = instant::never();
    if (*advice == descriptor::advice::tries) {
      const auto accepted = seam::accept_socket(by->fd());
      if (accepted || accepted.error() != std::errc::operation_would_block) by->keep_ready(direction::in);
      if (accepted) co_return stream_of(*accepted);
      if (accepted.error() != std::errc::operation_would_block) {
        if (has_paused || !lacks_resources(accepted.error())) co_return std::unexpected(accepted.error());
        has_paused = true;
        pause = detail::now(by->owner()) + pause_without_resources;
      }
    }
    co_await inner(descriptor_awaiter(*by, direction::in, pause));
  }
}

}  // namespace

or_error<listener> listener::listen(const address& at, int backlog) {
  static_cast<void>(detail::this_scheduler("a listener"));  // throws before anything is made
  // Everything that may throw comes before the bind: an exception after it would leave the file behind.
  const std::string path = at.system().path();
  const bool has_file = !path.empty() && !path.starts_with('@');
  seam::socket_file file = has_file ? seam::socket_file(path) : seam::socket_file();
  const auto opened = seam::open_socket(at.system().family());
  if (!opened) return std::unexpected(opened.error());
  open_descriptor fd(*opened);
  std::error_code failed;
  if (!at.is_local()) failed = seam::reuse_address(fd.get());
  if (!failed && at.system().family() == seam::address_family::ip6) failed = seam::keep_to_own_family(fd.get());
  if (!failed) failed = seam::bind_socket(fd.get(), at.system());
  if (!failed && has_file) failed = file.claim();
  if (!failed) failed = seam::listen_socket(fd.get(), backlog);
  if (failed) {
    file.remove();
    return std::unexpected(failed);
  }
  auto descriptor = detail::watch(fd);
  if (!descriptor) {
    file.remove();
    return std::unexpected(descriptor.error());
  }
  return listener(std::move(*descriptor), std::move(file));
}

task<or_error<stream>> listener::accept() const { return accept_one(descriptor_use(descriptor_)); }

// The file is removed while the socket is open, which keeps its inode from being reused (socket_file.hpp), and before
// any task learns of the close and may listen at the same path again.
void listener::close() noexcept {
  if (!descriptor_ || !descriptor_->begin_close()) return;
  file_.remove();
  descriptor_->finish_close();
}

or_error<address> listener::local_address() const noexcept {
  return detail::own_address(descriptor_, seam::local_address);
}

}  // namespace foliot::runtime
