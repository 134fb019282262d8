#include "named_proxies.hpp"

#include <charconv>
#include <system_error>

#include "client_source.hpp"

namespace foliot::program {

namespace {

/// Whether they agree in the first so many bits.
bool begin_alike(std::string_view one, std::string_view other, std::size_t bits) noexcept {
  const std::size_t whole = bits / 8;
  if (one.substr(0, whole) != other.substr(0, whole)) return false;
  if (bits % 8 == 0) return true;
  const auto differing = static_cast<unsigned char>(one[whole]) ^ static_cast<unsigned char>(other[whole]);
  return (differing >> (8 - bits % 8)) == 0;
}

/// Whether all bits behind the first so many are zero.
bool ends_with_zeros(std::string_view bytes, std::size_t bits) {
  std::string prefix(bytes);
  for (std::size_t i = bits; i < 8 * bytes.size(); ++i) {
    const auto mask = static_cast<unsigned char>(0x80U >> (i % 8));
    prefix[i / 8] = static_cast<char>(static_cast<unsigned char>(prefix[i / 8]) & static_cast<unsigned char>(~mask));
  }
  return prefix == bytes;
}

}  // namespace

std::optional<network> network::parse(std::string_view text) {
  if (text == "unix") return network(std::string(), 0);
  const std::size_t slash = std::min(text.find('/'), text.size());
  const std::optional<runtime::address> at = address_without_port(text.substr(0, slash));
  if (!at) return std::nullopt;
  std::string bytes = address_bytes(*at);
  std::size_t bits = 8 * bytes.size();
  if (slash < text.size()) {
    const std::string_view digits = text.substr(slash + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits);
    if (error != std::errc() || end != digits.data() + digits.size() || bits > 8 * bytes.size()) return std::nullopt;
  }
  if (!ends_with_zeros(bytes, bits)) return std::nullopt;
  return network(std::move(bytes), bits);
}

bool network::has(const runtime::address& one) const {
  if (bytes_.empty()) return one.is_local();
  const std::string other = address_bytes(one);
  return other.size() == bytes_.size() && begin_alike(bytes_, other, bits_);
}

}  // namespace foliot::program
