#include <foliot/runtime/net/address.hpp>

#include <charconv>
#include <optional>

namespace foliot::runtime {

namespace {

constexpr std::string_view local_prefix = "unix:";

std::optional<std::uint16_t> port_of(std::string_view text) noexcept {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return port;
}

std::optional<seam::socket_address> parse_ip(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::optional<std::uint16_t> port = port_of(text.substr(colon + 1));
  if (!port) return std::nullopt;
  std::string_view number = text.substr(0, colon);
  // IPv6 stands in brackets, because it has colons itself.
  const bool brackets = number.size() > 2 && number.front() == '[' && number.back() == ']';
  if (brackets) number = number.substr(1, number.size() - 2);
  if (brackets != (number.find(':') != std::string_view::npos)) return std::nullopt;
  return seam::socket_address::from_ip(number, *port);
}

}  // namespace

std::expected<address, std::error_code> address::parse(std::string_view text) {
  const std::optional<seam::socket_address> system =
      text.starts_with(local_prefix) ? seam::socket_address::from_path(text.substr(local_prefix.size()))
                                     : parse_ip(text);
  if (!system) return std::unexpected(std::make_error_code(std::errc::invalid_argument));
  return address(*system);
}

address address::loopback(std::uint16_t port) { return address(*seam::socket_address::from_ip("127.0.0.1", port)); }
address address::loopback6(std::uint16_t port) { return address(*seam::socket_address::from_ip("::1", port)); }

std::string address::to_string() const {
  switch (system_.family()) {
    case seam::address_family::none: return {};
    case seam::address_family::local: return std::string(local_prefix) + system_.path();
    case seam::address_family::ip4: return system_.ip() + ':' + std::to_string(system_.port());
    case seam::address_family::ip6: return '[' + system_.ip() + "]:" + std::to_string(system_.port());
  }
  return {};
}

}  // namespace foliot::runtime
