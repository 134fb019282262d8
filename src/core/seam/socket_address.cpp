#include <foliot/core/seam/socket_address.hpp>

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace foliot::inline core::seam {

namespace {

static_assert(sizeof(sockaddr_un) <= socket_address::capacity && sizeof(sockaddr_in6) <= socket_address::capacity);

constexpr std::size_t path_begins = offsetof(sockaddr_un, sun_path);
constexpr std::size_t longest_path = sizeof(sockaddr_un::sun_path) - 1;

// By memcpy: the bytes are no object of the system's type.
template <class System>
System as(const socket_address& address) noexcept {
  System system{};
  std::memcpy(&system, address.data(), std::min<std::size_t>(sizeof(system), address.size()));
  return system;
}
template <class System>
socket_address of(const System& system, std::size_t size = sizeof(System)) noexcept {
  socket_address address;
  std::memcpy(address.data(), &system, size);
  address.set_size(static_cast<std::uint32_t>(size));
  return address;
}

/// The index of a network interface, given its index or its name.
std::optional<std::uint32_t> zone_of(const std::string& text) noexcept {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size()) return number;
  number = ::if_nametoindex(text.c_str());
  return number != 0 ? std::optional(number) : std::nullopt;
}

}  // namespace

std::optional<socket_address> socket_address::from_ip(std::string_view text, std::uint16_t port) {
  if (text.find('\0') != std::string_view::npos) return std::nullopt;
  sockaddr_in four{};
  four.sin_family = AF_INET;
  four.sin_port = htons(port);
  if (::inet_pton(AF_INET, std::string(text).c_str(), &four.sin_addr) == 1) return of(four);

  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(port);
  const std::size_t percent = text.find('%');
  if (::inet_pton(AF_INET6, std::string(text.substr(0, percent)).c_str(), &six.sin6_addr) != 1) return std::nullopt;
  if (percent != std::string_view::npos) {
    const std::optional<std::uint32_t> zone = zone_of(std::string(text.substr(percent + 1)));
    if (!zone) return std::nullopt;
    six.sin6_scope_id = *zone;
  }
  return of(six);
}

std::optional<socket_address> socket_address::from_path(std::string_view path) {
  const bool abstract = path.starts_with('@');
  if (path.empty() || path == "@" || path.size() > longest_path || path.find('\0') != std::string_view::npos) {
    return std::nullopt;
  }
  sockaddr_un local{};
  local.sun_family = AF_UNIX;
  std::memcpy(local.sun_path, path.data(), path.size());
  if (abstract) local.sun_path[0] = '\0';
  return of(local, path_begins + path.size() + (abstract ? 0 : 1));
}

address_family socket_address::family() const noexcept {
  if (size_ < sizeof(sa_family_t)) return address_family::none;
  switch (as<sockaddr>(*this).sa_family) {
    case AF_INET: return address_family::ip4;
    case AF_INET6: return address_family::ip6;
    case AF_UNIX: return address_family::local;
    default: return address_family::none;
  }
}

std::uint16_t socket_address::port() const noexcept {
  switch (family()) {
    case address_family::ip4: return ntohs(as<sockaddr_in>(*this).sin_port);
    case address_family::ip6: return ntohs(as<sockaddr_in6>(*this).sin6_port);
    default: return 0;
  }
}

std::string socket_address::ip() const {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (family() == address_family::ip4) {
    const auto four = as<sockaddr_in>(*this);
    return ::inet_ntop(AF_INET, &four.sin_addr, text.data(), text.size());
  }
  if (family() != address_family::ip6) return {};
  const auto six = as<sockaddr_in6>(*this);
  std::string ip = ::inet_ntop(AF_INET6, &six.sin6_addr, text.data(), text.size());
  if (six.sin6_scope_id != 0) ip += '%' + std::to_string(six.sin6_scope_id);
  return ip;
}

std::string socket_address::path() const {
  if (family() != address_family::local || size_ <= path_begins) return {};
  const auto local = as<sockaddr_un>(*this);
  std::string path(local.sun_path, size_ - path_begins);
  if (path.front() == '\0') {
    path.front() = '@';
  } else {
    path.resize(std::min(path.size(), path.find('\0')));  // the system's size includes at least one zero at the end
  }
  return path;
}

bool operator==(const socket_address& a, const socket_address& b) noexcept {
  return a.size_ == b.size_ && std::memcmp(a.bytes_.data(), b.bytes_.data(), a.size_) == 0;
}

}  // namespace foliot::inline core::seam
