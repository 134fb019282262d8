#include "listener.hpp"

#include <filesystem>
#include <string>
#include <system_error>

#include <sys/socket.h>

#include <fmt/format.h>

#include "stream_over.hpp"
#include "text/failure.hpp"

namespace foliot::program {

namespace {

/// What the user can do about an address that is in use.
std::string advice_for(const runtime::address& at) {
  const std::string path = at.system().path();
  std::error_code failed;
  const bool is_file = at.is_local() && !path.starts_with('@');
  if (is_file && !std::filesystem::is_socket(path, failed)) return ": it is a file, and no socket; name another path";
  return ": another server has it; name another address";
}

/// Removes the socket file of a server that was killed: there is a file, and no server listens behind it. If two
/// servers do this for one path at the same instant, both may go on, and only the second one has clients then.
task<bool> remove_left_file(const runtime::address& at) {
  const std::string path = at.system().path();
  std::error_code failed;
  if (!at.is_local() || path.starts_with('@') || !std::filesystem::is_socket(path, failed)) co_return false;
  const auto server = co_await runtime::stream::connect(at);
  if (server || server.error() != std::errc::connection_refused) co_return false;
  co_return std::filesystem::remove(path, failed);
}

}  // namespace

task<listener> listener::listen(runtime::address at, opening how) {
  auto gate = runtime::listener::listen(at);
  if (!gate && gate.error() == std::errc::address_in_use) {
    const bool is_free = co_await remove_left_file(at);
    if (is_free) gate = runtime::listener::listen(at);
  }
  if (!gate) {
    const std::string advice = gate.error() == std::errc::address_in_use ? advice_for(at) : "";
    throw failure(fmt::format("cannot listen at {}: {}{}", at.to_string(), gate.error().message(), advice));
  }
  co_return listener(std::move(*gate), std::move(how));
}

task<std::unique_ptr<byte_stream>> listener::in_plain(runtime::stream accepted) { co_return over(std::move(accepted)); }

task<runtime::or_error<runtime::stream>> listener::accept(duration patience) const {
  if (patience != duration::forever()) socket_.set_read_deadline(patience);
  auto accepted = co_await socket_.accept();
  if (accepted) {
    const int on = 1;  // so that a client whose machine has gone is noticed some day
    static_cast<void>(::setsockopt(accepted->native_handle(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on)));
  }
  co_return accepted;
}

task<> expect_free(const runtime::address& at) {
  auto listening = listener::listen(at);
  listener gate = co_await listening;
  gate.close();
}

}  // namespace foliot::program
