#include "client_source.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstring>

namespace foliot::program {

std::string source_of(const runtime::address& from) {
  const seam::socket_address& system = from.system();
  const auto bytes = [&](std::size_t begin, std::size_t count) {
    std::string text(count, '\0');
    std::memcpy(text.data(), static_cast<const char*>(system.data()) + begin, count);
    return text;
  };
  if (system.family() == seam::address_family::ip4) return bytes(offsetof(sockaddr_in, sin_addr), 4);
  if (system.family() != seam::address_family::ip6) return {};
  std::string whole = bytes(offsetof(sockaddr_in6, sin6_addr), 16);
  const bool is_mapped = whole.starts_with(std::string(10, '\0') + "\xFF\xFF");
  return is_mapped ? whole.substr(12) : whole.substr(0, 8);
}

std::string shown_address(const runtime::address& from) {
  return source_of(from).empty() ? "a local socket" : from.to_string();
}

}  // namespace foliot::program
