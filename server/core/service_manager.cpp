#include "service_manager.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include <foliot/runtime/run.hpp>

namespace foliot::program {

namespace {

/// The path of the manager's socket, or null.
const char* path_of_manager() noexcept {
  const char* const path = std::getenv("NOTIFY_SOCKET");  // NOLINT(concurrency-mt-unsafe): nobody changes it
  if (path == nullptr || (path[0] != '/' && path[0] != '@')) return nullptr;
  return std::strlen(path) < sizeof(sockaddr_un::sun_path) ? path : nullptr;
}

}  // namespace

service_manager::service_manager() : path_(path_of_manager()) {
  if (path_ == nullptr) return;
  socket_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket_ < 0) throw std::system_error(errno, std::generic_category(), "cannot open a socket to NOTIFY_SOCKET");
}

service_manager::~service_manager() {
  if (socket_ >= 0) ::close(socket_);
}

bool service_manager::tell(std::string_view state) const noexcept {
  if (path_ == nullptr) return true;
  sockaddr_un to{};
  const std::size_t length = std::strlen(path_);
  to.sun_family = AF_UNIX;
  std::memcpy(to.sun_path, path_, length);
  if (path_[0] == '@') to.sun_path[0] = '\0';  // an abstract name
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length);
  constexpr int how = MSG_NOSIGNAL | MSG_DONTWAIT;  // a manager that does not read holds up nothing
  return ::sendto(socket_, state.data(), state.size(), how, reinterpret_cast<const sockaddr*>(&to), size) >= 0;
}

void readiness_notice::try_to_tell() noexcept {
  constexpr duration longest_pause = std::chrono::seconds(1);
  if (runtime::now() < next_) return;
  next_ = to_.tell("READY=1") ? instant::never() : runtime::now() + pause_;
  pause_ = std::min(pause_ + pause_, longest_pause);
}

duration watchdog_time() noexcept {
  const char* const process = std::getenv("WATCHDOG_PID");  // NOLINT(concurrency-mt-unsafe): nobody changes it
  if (process != nullptr && std::strtoll(process, nullptr, 10) != ::getpid()) return duration::zero();
  const char* const length = std::getenv("WATCHDOG_USEC");  // NOLINT(concurrency-mt-unsafe): nobody changes it
  if (length == nullptr) return duration::zero();
  constexpr long long longest = 1'000'000'000'000'000;  // microseconds, some 31 years
  return duration::nanoseconds(std::clamp<long long>(std::strtoll(length, nullptr, 10), 0, longest) * 1000);
}

}  // namespace foliot::program
