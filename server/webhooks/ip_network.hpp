// IP addresses as bytes, and networks of them (CIDR): what the rules for targets compare.
//
//   const auto private_use = ip_network::parse("10.0.0.0/8");
//   private_use->contains(*ip_address::parse("10.1.2.3"))
//
// An IPv4 address and the IPv6 address that maps it are different addresses.
//
// Thread safety: values.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

struct sockaddr;

namespace foliot::program::webhooks {

/// An IPv4 or IPv6 address, without a zone.
class ip_address {
 public:
  /// Four decimal numbers without leading zeros, or the forms of RFC 4291, without brackets.
  [[nodiscard]] static std::optional<ip_address> parse(std::string_view text) noexcept;
  /// The address in a socket address of the system; nothing for other families.
  [[nodiscard]] static std::optional<ip_address> of(const sockaddr& system) noexcept;

  [[nodiscard]] bool is_v6() const noexcept { return is_v6_; }
  /// 32 or 128.
  [[nodiscard]] unsigned bits() const noexcept { return is_v6_ ? 128 : 32; }
  /// In the form of RFC 5952.
  [[nodiscard]] std::string to_string() const;
  /// The IPv4 address in the last four bytes of an IPv6 address.
  [[nodiscard]] ip_address last_four_bytes() const noexcept;
  /// The address before, or after, of the same family; nothing beyond the ends.
  [[nodiscard]] std::optional<ip_address> previous() const noexcept;
  [[nodiscard]] std::optional<ip_address> next() const noexcept;

  friend bool operator==(const ip_address&, const ip_address&) noexcept = default;

 private:
  friend class ip_network;
  [[nodiscard]] std::size_t size() const noexcept { return is_v6_ ? 16 : 4; }

  std::array<unsigned char, 16> bytes_{};  // in the order of the network; IPv4 has the first four
  bool is_v6_ = false;
};

/// The addresses that have the first bits in common.
class ip_network {
 public:
  /// `ADDRESS/BITS`, or an address alone. Nothing if it is none, or if a bit behind the prefix is set.
  [[nodiscard]] static std::optional<ip_network> parse(std::string_view text) noexcept;

  [[nodiscard]] const ip_address& first() const noexcept { return first_; }
  [[nodiscard]] ip_address last() const noexcept;
  [[nodiscard]] unsigned prefix() const noexcept { return prefix_; }
  [[nodiscard]] bool contains(const ip_address& address) const noexcept;
  /// `ADDRESS/BITS`.
  [[nodiscard]] std::string to_string() const;

 private:
  ip_address first_;
  unsigned prefix_ = 0;
};

}  // namespace foliot::program::webhooks
