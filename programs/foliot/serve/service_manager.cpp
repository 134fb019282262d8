#include "service_manager.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace foliot::program {

bool tell_service_manager(std::string_view state) noexcept {
  const char* const path = std::getenv("NOTIFY_SOCKET");  // NOLINT(concurrency-mt-unsafe): nobody changes it
  if (path == nullptr || (path[0] != '/' && path[0] != '@')) return true;
  sockaddr_un to{};
  const std::size_t length = std::strlen(path);
  if (length >= sizeof(to.sun_path)) return true;
  to.sun_family = AF_UNIX;
  std::memcpy(to.sun_path, path, length);
  if (path[0] == '@') to.sun_path[0] = '\0';  // an abstract name
  const int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return false;
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length);
  constexpr int how = MSG_NOSIGNAL | MSG_DONTWAIT;  // a manager that does not read holds up nothing
  const auto sent = ::sendto(socket, state.data(), state.size(), how, reinterpret_cast<const sockaddr*>(&to), size);
  ::close(socket);
  return sent >= 0;
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
