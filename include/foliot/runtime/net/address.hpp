// The address of a socket: an IP address and a port, or a path.
//
//   address::parse("127.0.0.1:7000")     IPv4
//   address::parse("[::1]:7000")         IPv6; with a zone: "[fe80::1%eth0]:7000"
//   address::parse("unix:/run/x.sock")   a file
//   address::parse("unix:@x")            an abstract name, which is no file (Linux)
//
// Port 0 asks the system for a free port; listener::local_address() returns it. Host names are resolved by
// resolve() (names.hpp). Thread safety: a value.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <system_error>

#include <foliot/core/export.h>
#include <foliot/core/seam/socket_address.hpp>

namespace foliot::runtime {

/// The address of a socket. A value.
class FOLIOT_EXPORT address {
 public:
  /// No address: no socket can have it.
  address() noexcept = default;
  /// The address as the system has it.
  explicit address(const seam::socket_address& system) noexcept : system_(system) {}

  /// Parses the forms above. Returns errc::invalid_argument for any other text, for a port past 65,535, and for a path
  /// longer than 107 bytes.
  [[nodiscard]] static std::expected<address, std::error_code> parse(std::string_view text);
  /// 127.0.0.1 with that port.
  [[nodiscard]] static address loopback(std::uint16_t port);
  /// ::1 with that port.
  [[nodiscard]] static address loopback6(std::uint16_t port);

  /// The text that parse() takes; "unix:" for a local address without a name, and an empty text for no address.
  [[nodiscard]] std::string to_string() const;

  /// Whether it is a path or an abstract name.
  [[nodiscard]] bool is_local() const noexcept { return system_.family() == seam::address_family::local; }
  /// The port; 0 if there is none.
  [[nodiscard]] std::uint16_t port() const noexcept { return system_.port(); }
  /// The address as the system has it.
  [[nodiscard]] const seam::socket_address& system() const noexcept { return system_; }

  friend bool operator==(const address& a, const address& b) noexcept { return a.system_ == b.system_; }

 private:
  seam::socket_address system_;
};

}  // namespace foliot::runtime
