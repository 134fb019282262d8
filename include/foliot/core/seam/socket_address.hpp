// Where a socket is, as the system has it: an address of IPv4 or IPv6 with a port, or a path of this machine.
//
// Numbers and paths only: names are looked up elsewhere. Thread safety: a value.
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

class FOLIOT_EXPORT socket_address {
 public:
  /// What the system's own may be long: 110 bytes are the longest, of a path.
  static constexpr std::size_t capacity = 112;

  /// None.
  socket_address() noexcept = default;

  /// Of "127.0.0.1" or "::1" (with a zone: "fe80::1%eth0", or its number). None for what is neither.
  [[nodiscard]] static std::optional<socket_address> from_ip(std::string_view text, std::uint16_t port);
  /// Of a path, or of an abstract name, which begins with '@' and is no file. None for an empty one, one that is too
  /// long (107 bytes), or that has a zero in it.
  [[nodiscard]] static std::optional<socket_address> from_path(std::string_view path);

  [[nodiscard]] address_family family() const noexcept;
  /// Of an IP address; else 0.
  [[nodiscard]] std::uint16_t port() const noexcept;
  /// The number of an IP address, as text; else empty.
  [[nodiscard]] std::string ip() const;
  /// Of a local address; empty for one that has none.
  [[nodiscard]] std::string path() const;

  // For the seam.
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
