// The address of a socket in the system's own form: an IPv4 or IPv6 address with a port, or a local path.
//
// Numeric addresses and paths only, no host names. A plain value.
#pragma once

#include <foliot/core/language.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <foliot/core/export.h>

namespace foliot::inline core::seam {

enum class address_family : std::uint8_t { none, ip4, ip6, local };

/// The address of a socket, or none. A plain value.
class FOLIOT_EXPORT socket_address {
 public:
  /// The most bytes of an address; the longest of the system's are 110, for a path.
  static constexpr std::size_t capacity = 112;

  /// No address.
  socket_address() noexcept = default;

  /// From an IPv4 address ("127.0.0.1") or an IPv6 address ("::1"; with a zone by name or number: "fe80::1%eth0").
  /// std::nullopt if `text` is neither.
  [[nodiscard]] static std::optional<socket_address> from_ip(std::string_view text, std::uint16_t port);
  /// From a path, or from an abstract name, which begins with '@' and has no file. std::nullopt if it is empty, longer
  /// than 107 bytes, or contains a zero byte.
  [[nodiscard]] static std::optional<socket_address> from_path(std::string_view path);

  [[nodiscard]] address_family family() const noexcept;
  /// The port of an IP address; 0 for other families.
  [[nodiscard]] std::uint16_t port() const noexcept;
  /// An IP address as text; empty for other families.
  [[nodiscard]] std::string ip() const;
  /// The path or the name of a local address; empty if it has none, and for other families.
  [[nodiscard]] std::string path() const;

  // The system's representation, for the seam.
  [[nodiscard]] const void* data() const noexcept { return bytes_.data(); }
  [[nodiscard]] void* data() noexcept { return bytes_.data(); }
  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }
  void set_size(std::uint32_t size) noexcept { size_ = size; }

  FOLIOT_EXPORT friend bool operator==(const socket_address& a, const socket_address& b) noexcept;

 private:
  alignas(8) std::array<std::byte, capacity> bytes_{};
  std::uint32_t size_ = 0;
};

}  // namespace foliot::inline core::seam
