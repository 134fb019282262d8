#include <foliot/runtime/net/listener.hpp>

#include <array>
#include <chrono>

#include <foliot/core/seam/sockets.hpp>
#include <foliot/runtime/detail/scheduler_calls.hpp>
#include <foliot/runtime/this_task.hpp>

#include "watch.hpp"

namespace foliot::runtime {

namespace {

using detail::descriptor;
using detail::descriptor_awaiter;
using detail::descriptor_use;
using detail::direction;

/// How long an accept waits that found no descriptor for the connection.
constexpr duration pause_without_resources = std::chrono::milliseconds(10);

bool lacks_resources(std::error_code error) noexcept {
  constexpr std::array lacking{std::errc::too_many_files_open, std::errc::too_many_files_open_in_system,
                               std::errc::no_buffer_space, std::errc::not_enough_memory};
  return std::ranges::any_of(lacking, [&](std::errc each) { return error == each; });
}

or_error<stream> stream_of(int fd) {
  auto share = detail::watch(fd, detail::at_end::closes);
  if (!share) return std::unexpected(share.error());
  seam::set_no_delay(fd, true);  // a local one has no such thing
  return stream(std::move(*share));
}

task<or_error<stream>> accept_one(descriptor_use by) {
  if (!by) co_return std::unexpected(make_error_code(io_errc::closed));
  bool has_paused = false;
  for (;;) {
    const auto advice = by->prepare(direction::in);
    if (!advice) co_return std::unexpected(advice.error());
    instant pause = instant::never();
    if (*advice == descriptor::advice::tries) {
      const auto accepted = seam::accept_socket(by->fd());
      if (accepted || accepted.error() != std::errc::operation_would_block) by->remember(direction::in);
      if (accepted) co_return stream_of(*accepted);
      if (accepted.error() != std::errc::operation_would_block) {
        if (has_paused || !lacks_resources(accepted.error())) co_return std::unexpected(accepted.error());
        has_paused = true;
        pause = detail::now(by->owner()) + pause_without_resources;
      }
    }
    if (*advice == descriptor::advice::yields) {
      co_await yield();
    } else {
      co_await descriptor_awaiter(*by, direction::in, pause);
    }
  }
}

}  // namespace

or_error<listener> listener::listen(const address& at, int backlog) {
  static_cast<void>(detail::this_scheduler("a listener"));  // throws before there is anything to lose
  const auto opened = seam::open_socket(at.system().family());
  if (!opened) return std::unexpected(opened.error());
  const int fd = *opened;
  std::error_code failed;
  if (!at.is_local()) failed = seam::reuse_address(fd);
  if (!failed && at.system().family() == seam::address_family::ip6) failed = seam::keep_to_own_family(fd);
  if (!failed) failed = seam::bind_socket(fd, at.system());
  std::string file;
  if (!failed && at.is_local() && !at.system().path().starts_with('@')) file = at.system().path();
  if (!failed) failed = seam::listen_socket(fd, backlog);
  if (failed) {
    if (!file.empty()) seam::remove_file(file.c_str());
    seam::close_descriptor(fd);
    return std::unexpected(failed);
  }
  auto share = detail::watch(fd, detail::at_end::closes);
  if (!share) {
    if (!file.empty()) seam::remove_file(file.c_str());
    return std::unexpected(share.error());
  }
  return listener(std::move(*share), std::move(file));
}

task<or_error<stream>> listener::accept() const { return accept_one(descriptor_use(share_)); }

void listener::close() noexcept {
  if (!*this) return;
  if (!file_.empty()) seam::remove_file(file_.c_str());  // first: it may be another's as soon as nobody listens
  end();
}

or_error<address> listener::local_address() const noexcept {
  const descriptor_use use(share_);
  if (!use) return std::unexpected(make_error_code(io_errc::closed));
  const auto system = seam::local_address(use->fd());
  if (!system) return std::unexpected(system.error());
  return address(*system);
}

}  // namespace foliot::runtime
