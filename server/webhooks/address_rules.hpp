// Which targets the operator allows, and which addresses a delivery may connect to. Closed by default: without a rule
// nothing is sent.
//
//   const auto rules = address_rules::make({.allow = {"*.example.com", "billing.internal=10.1.0.0/16",
//   "10.9.0.0/24:8080"}}); rules->vet_target(url)                        when a target is made or changed
//   rules->vet_address(address, host, port)       for each socket, before it connects
//
// A rule is one of these, with an optional `:PORT` at its end. Without a port it means 443, and 80 where http is
// allowed. (An IPv6 network with a port stands in brackets.)
//
//   hooks.example.com         this host, at public addresses
//   *.example.com             all hosts below, at public addresses
//   *                         every host, at public addresses
//   billing.internal=10.1.0.0/16     this host, or those of `*.internal=10.1.0.0/16`, there alone
//   10.9.0.0/24               these addresses, as hosts of URLs, and for each host that another rule allows
//
// An address is public if no row of special_networks() contains it: the two registries of special-purpose addresses of
// IANA as of 2025-10, also the rows that IANA marks as globally reachable, and what those registries lack: multicast,
// site-local addresses, `::/96`, the address of Azure's metadata, and IPv6 outside of 2000::/3.
//
// NAT64: behind DNS64 each host that has IPv4 alone appears as 64:ff9b::/96, which is a special row. With the prefix in
// `nat64`, the IPv4 address inside is vetted instead.
//
// Thread safety: values; const members from any thread. O(rules + rows).
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ip_network.hpp"
#include "target_url.hpp"

namespace foliot::program::webhooks {

/// A row of special addresses.
struct special_network {
  ip_network network;
  std::string_view name;    ///< as the registry has it
  std::string_view source;  ///< the RFC, or who uses it
};

/// All rows.
[[nodiscard]] std::span<const special_network> special_networks();
/// The narrowest row that contains the address; null for a public address.
[[nodiscard]] const special_network* find_special(const ip_address& address) noexcept;

struct address_rules_options {
  std::vector<std::string> allow;  ///< rules, see above
  std::vector<std::string> nat64;  ///< prefixes of NAT64, each with 96 bits
  bool allows_http = false;
};

class address_rules {
 public:
  /// Nothing is allowed.
  address_rules() = default;

  /// Returns what is wrong with a rule.
  [[nodiscard]] static std::expected<address_rules, std::string> make(const address_rules_options& options);

  /// Sentences for the operator about rules that allow more than one would think, such as 0.0.0.0/0.
  [[nodiscard]] const std::vector<std::string>& warnings() const noexcept { return warnings_; }
  [[nodiscard]] url_options urls() const noexcept { return {.allows_http = allows_http_}; }

  /// Whether there may be such a target. Returns why not, and which rule would allow it. A host with a name is looked
  /// up at each connect, not here.
  [[nodiscard]] std::expected<void, std::string> vet_target(const target_url& url) const;
  /// Whether a delivery to that host and port may connect to that address; else why not.
  [[nodiscard]] std::expected<void, std::string> vet_address(const ip_address& address, std::string_view host,
                                                             std::uint16_t port) const;

 private:
  struct rule {
    std::string host;  ///< a name; `.example.com` for all below; `*` for all; empty: a rule for addresses
    std::optional<std::uint16_t> port;
    std::optional<ip_network> at;
  };

  [[nodiscard]] static std::expected<rule, std::string> parse(std::string_view text);
  [[nodiscard]] static bool matches_host(const rule& one, std::string_view host) noexcept;
  [[nodiscard]] bool matches_port(const rule& one, std::uint16_t port) const noexcept;
  /// The address inside of a NAT64 address; else the address itself.
  [[nodiscard]] ip_address unwrapped(const ip_address& address) const noexcept;

  std::vector<rule> rules_;
  std::vector<ip_network> nat64_;
  std::vector<std::string> warnings_;
  bool allows_http_ = false;
};

}  // namespace foliot::program::webhooks
