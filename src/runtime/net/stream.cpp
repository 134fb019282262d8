#include <foliot/runtime/net/stream.hpp>

#include <chrono>

#include <foliot/core/seam/sockets.hpp>
#include <foliot/runtime/detail/scheduler_calls.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/sleep.hpp>

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

/// How often a connect to a local listener without room is tried again: the system does not report room.
constexpr duration between_tries = std::chrono::milliseconds(1);

/// Tries, waits, and tries again. A try that transferred less than all of `bytes` has used up what there was, and a new
/// edge will report more. The end of the other side is remembered separately (descriptor::side::stays_ready).
template <class Bytes>
task<or_error<std::size_t>> transfer_some(descriptor_use by, direction way, Bytes bytes,
                                          or_error<std::size_t> (*attempt)(int, Bytes) noexcept) {
  co_await inner(detail::checkpoint());  // a task that always finds data never waits
  if (!by) co_return std::unexpected(make_error_code(io_errc::closed));
  for (;;) {
    const auto advice = by->prepare(way);
    if (!advice) co_return std::unexpected(advice.error());
    if (bytes.empty()) {
      if (*advice == descriptor::advice::tries) by->keep_ready(way);  // nothing was tried
      co_return std::size_t{0};
    }
    if (*advice == descriptor::advice::tries) {
      const or_error<std::size_t> done = attempt(by->fd(), bytes);
      if (!would_block(done)) {
        if (!done || *done == 0 || *done == bytes.size()) by->keep_ready(way);
        co_return done;
      }
    }
    co_await inner(descriptor_awaiter(*by, way));
  }
}

task<or_error<std::size_t>> receive_all(descriptor_ptr by, std::span<std::byte> into) {
  std::size_t sum = 0;
  while (sum < into.size()) {
    const auto got = co_await inner(transfer_some(descriptor_use(by), direction::in, into.subspan(sum), seam::receive));
    if (!got) co_return got;
    if (*got == 0) break;
    sum += *got;
  }
  co_return sum;
}

task<or_error<std::size_t>> send_all(descriptor_ptr by, std::span<const std::byte> from) {
  std::size_t sum = 0;
  do {
    const auto sent = co_await inner(transfer_some(descriptor_use(by), direction::out, from.subspan(sum), seam::send));
    if (!sent) co_return sent;
    sum += *sent;
  } while (sum < from.size());
  co_return sum;
}

/// A socket may connect with itself: if no socket listens at the port, and the system chose that port for the
/// connecting socket.
bool is_connected_with_itself(int fd) noexcept {
  const auto here = seam::local_address(fd);
  const auto there = seam::peer_address(fd);
  return here && there && here->family() != seam::address_family::local && *here == *there;
}

task<std::error_code> finish_connect(descriptor_use by) {
  for (;;) {
    const auto advice = by->prepare(direction::out);
    if (!advice) co_return advice.error();
    const std::error_code outcome = seam::connect_outcome(by->fd());
    if (outcome != std::errc::operation_in_progress) {
      by->keep_ready(direction::out);  // prepare() may have cleared the edge, and there is no other one
      co_return outcome;
    }
    co_await inner(descriptor_awaiter(*by, direction::out));
  }
}

task<or_error<stream>> connect_from(address to, address from, instant deadline) {
  const detail::scheduler& here = detail::this_scheduler("a connection");
  if (is_due(deadline, detail::now(here))) co_return std::unexpected(make_error_code(io_errc::deadline_exceeded));
  const auto opened = seam::open_socket(to.system().family());
  if (!opened) co_return std::unexpected(opened.error());
  open_descriptor fd(*opened);
  if (from.system().family() != seam::address_family::none) {
    if (!from.is_local()) seam::choose_port_late(fd.get());  // an old kernel chooses it in bind
    const std::error_code bound = seam::bind_socket(fd.get(), from.system());
    if (bound) co_return std::unexpected(bound);
  }
  std::error_code outcome = seam::connect_socket(fd.get(), to.system());
  while (to.is_local() && outcome == std::errc::operation_would_block) {
    co_await inner(sleep_until(std::min(deadline, detail::now(here) + between_tries)));
    if (is_due(deadline, detail::now(here))) co_return std::unexpected(make_error_code(io_errc::deadline_exceeded));
    outcome = seam::connect_socket(fd.get(), to.system());
  }
  const bool waits = outcome == std::errc::operation_in_progress;
  if (outcome && !waits) co_return std::unexpected(outcome);
  auto descriptor = detail::watch(fd);
  if (!descriptor) co_return std::unexpected(descriptor.error());
  const descriptor_ptr& by = *descriptor;
  if (waits) {
    by->set_deadline(direction::out, deadline);
    outcome = co_await inner(finish_connect(descriptor_use(by)));
    if (outcome) co_return std::unexpected(outcome);
    by->set_deadline(direction::out, instant::never());
  }
  if (is_connected_with_itself(by->fd())) {
    co_return std::unexpected(std::make_error_code(std::errc::connection_refused));
  }
  if (!to.is_local()) seam::set_no_delay(by->fd(), true);
  co_return stream(std::move(*descriptor));
}

}  // namespace

or_error<stream> detail::stream_over(open_descriptor& fd) {
  auto descriptor = watch(fd);
  if (!descriptor) return std::unexpected(descriptor.error());
  return stream(std::move(*descriptor));
}

task<or_error<stream>> stream::connect(address to, instant deadline) { return connect_from(to, address(), deadline); }
task<or_error<stream>> stream::connect(address to, address from, instant deadline) {
  return connect_from(to, from, deadline);
}

or_error<std::pair<stream, stream>> stream::pair() {
  static_cast<void>(detail::this_scheduler("a stream"));  // throws before anything is made
  const auto opened = seam::open_socket_pair();
  if (!opened) return std::unexpected(opened.error());
  open_descriptor first(opened->first);
  open_descriptor second(opened->second);
  auto one = detail::stream_over(first);
  if (!one) return std::unexpected(one.error());
  auto other = detail::stream_over(second);
  if (!other) return std::unexpected(other.error());
  return std::pair(std::move(*one), std::move(*other));
}

task<or_error<std::size_t>> stream::read_some(std::span<std::byte> into) const {
  return transfer_some(descriptor_use(descriptor_), direction::in, into, seam::receive);
}
task<or_error<std::size_t>> stream::read_all(std::span<std::byte> into) const { return receive_all(descriptor_, into); }
task<or_error<std::size_t>> stream::write_some(std::span<const std::byte> from) const {
  return transfer_some(descriptor_use(descriptor_), direction::out, from, seam::send);
}
task<or_error<std::size_t>> stream::write_all(std::span<const std::byte> from) const {
  return send_all(descriptor_, from);
}

std::error_code stream::close_write() const noexcept {
  const descriptor_use use(descriptor_);
  return use ? seam::shut_down(use->fd(), seam::half::writing) : make_error_code(io_errc::closed);
}
void stream::reset() noexcept {
  const descriptor_use use(descriptor_);
  if (use) seam::reset_at_close(use->fd());
  close();
}

std::error_code stream::set_no_delay(bool on) const noexcept {
  const descriptor_use use(descriptor_);
  return use ? seam::set_no_delay(use->fd(), on) : make_error_code(io_errc::closed);
}

}  // namespace foliot::runtime
