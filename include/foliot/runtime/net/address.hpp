// The address of a socket: numbers and a port, or a path.
//
//   address::parse("127.0.0.1:7000")     IPv4
//   address::parse("[::1]:7000")         IPv6; with a zone: "[fe80::1%eth0]:7000"
//   address::parse("unix:/run/x.sock")   a file
//   address::parse("unix:@x")            an abstract name, which is no file (Linux)
//
// Port 0 asks the system for a free one: listener::local_address() tells which. Names are not looked up.
// Thread safety: a value.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <system_error>

#include <foliot/core/export.h>
#include <foliot/core/seam/socket_address.hpp>

namespace foliot::runtime {

class FOLIOT_EXPORT address {
 public:
  /// None: no socket can have it.
  address() noexcept = default;
  explicit address(const seam::socket_address& system) noexcept : system_(system) {}

  /// As above. errc::invalid_argument for any other text, a port past 65,535, and a path of more than 107 bytes.
  [[nodiscard]] static std::expected<address, std::error_code> parse(std::string_view text);
  /// 127.0.0.1, or ::1.
  [[nodiscard]] static address loopback(std::uint16_t port);
  [[nodiscard]] static address loopback6(std::uint16_t port);

  /// What parse() takes; "unix:" for a local one without a name, and an empty text for none.
  [[nodiscard]] std::string to_string() const;

  [[nodiscard]] bool is_local() const noexcept { return system_.family() == seam::address_family::local; }
  [[nodiscard]] std::uint16_t port() const noexcept { return system_.port(); }
  [[nodiscard]] const seam::socket_address& system() const noexcept { return system_; }

  friend bool operator==(const address& a, const address& b) noexcept { return a.system_ == b.system_; }

 private:
  seam::socket_address system_;
};

}  // namespace foliot::runtime
