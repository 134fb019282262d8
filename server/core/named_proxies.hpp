// The proxies in front of the server, which the operator has named: what they say of their clients is believed, and
// nothing that others say.
//
//   const auto office = network::parse("10.1.0.0/16");    // or an address alone, or `unix`
//   const named_proxies proxies({*office});
//   if (proxies.have(peer.peer_address())) …
//
// `unix` stands for all clients of local sockets, which have no address.
//
// Thread safety: immutable. O(networks).
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <foliot/runtime/net/address.hpp>

namespace foliot::program {

/// The addresses with a common beginning.
class network {
 public:
  /// An address, an address with the number of bits that count behind a slash, or `unix`; nothing if the text is none
  /// of them, or has bits behind the prefix.
  [[nodiscard]] static std::optional<network> parse(std::string_view text);

  [[nodiscard]] bool has(const runtime::address& one) const;
  /// Whether it has each address of its family.
  [[nodiscard]] bool is_everybody() const noexcept { return !bytes_.empty() && bits_ == 0; }

 private:
  network(std::string bytes, std::size_t bits) : bytes_(std::move(bytes)), bits_(bits) {}

  std::string bytes_;  // of the address; empty: local sockets
  std::size_t bits_;   // of these that count
};

class named_proxies {
 public:
  explicit named_proxies(std::vector<network> all = {}) : all_(std::move(all)) {}

  [[nodiscard]] bool have(const runtime::address& one) const {
    return std::ranges::any_of(all_, [&](const network& each) { return each.has(one); });
  }

 private:
  std::vector<network> all_;
};

}  // namespace foliot::program
