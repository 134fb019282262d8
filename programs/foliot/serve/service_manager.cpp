#include "service_manager.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace foliot::program {

void tell_service_manager(std::string_view state, bool may_be_lost) noexcept {
  const char* const path = std::getenv("NOTIFY_SOCKET");  // NOLINT(concurrency-mt-unsafe): nobody changes it
  if (path == nullptr || (path[0] != '/' && path[0] != '@')) return;
  sockaddr_un to{};
  const std::size_t length = std::strlen(path);
  if (length >= sizeof(to.sun_path)) return;
  to.sun_family = AF_UNIX;
  std::memcpy(to.sun_path, path, length);
  if (path[0] == '@') to.sun_path[0] = '\0';  // an abstract name
  const int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return;
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length);
  const int how = MSG_NOSIGNAL | (may_be_lost ? MSG_DONTWAIT : 0);
  static_cast<void>(::sendto(socket, state.data(), state.size(), how, reinterpret_cast<const sockaddr*>(&to), size));
  ::close(socket);
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
