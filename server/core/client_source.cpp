#include "client_source.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstring>

namespace foliot::program {

std::string address_bytes(const runtime::address& of) {
  const seam::socket_address& system = of.system();
  const auto bytes = [&](std::size_t begin, std::size_t count) {
    std::string text(count, '\0');
    std::memcpy(text.data(), static_cast<const char*>(system.data()) + begin, count);
    return text;
  };
  if (system.family() == seam::address_family::ip4) return bytes(offsetof(sockaddr_in, sin_addr), 4);
  if (system.family() != seam::address_family::ip6) return {};
  std::string whole = bytes(offsetof(sockaddr_in6, sin6_addr), 16);
  const bool is_mapped = whole.starts_with(std::string(10, '\0') + "\xFF\xFF");
  return is_mapped ? whole.substr(12) : whole;
}

std::string source_of(const runtime::address& from) {
  constexpr std::size_t bytes_of_network = 8;
  std::string bytes = address_bytes(from);
  if (bytes.size() > bytes_of_network) bytes.resize(bytes_of_network);
  return bytes;
}

std::optional<runtime::address> address_without_port(std::string_view text) {
  const bool is_in_brackets = text.starts_with('[') && text.ends_with(']');
  const bool needs_brackets = !is_in_brackets && text.contains(':');
  const std::string alone(text);
  const auto parsed = runtime::address::parse(needs_brackets ? "[" + alone + "]:0" : alone + ":0");
  if (!parsed || parsed->is_local()) return std::nullopt;
  return *parsed;
}

std::string shown_address(const runtime::address& from) {
  const bool has_port = !source_of(from).empty() && from.port() != 0;  // a proxy has told none
  return has_port ? from.to_string() : shown_host(from);
}

std::string shown_host(const runtime::address& from) {
  if (source_of(from).empty()) return "a local socket";
  std::string text = from.to_string();
  text.resize(text.rfind(':'));
  return text;
}

}  // namespace foliot::program
