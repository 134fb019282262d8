// The clients' addresses, user names and user agents, all invented.
//
// Addresses are from the ranges for documentation and private networks, and no two clients have the same: services have
// 192.0.2.0/24, 198.51.100.0/24 and 203.0.113.0/24 as far as these suffice, all others 10.0.0.0/8 and, every fourth,
// 2001:db8::/32.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <foliot/core/seam/random.hpp>

namespace foliot::program {

enum class client_kind : std::uint8_t { visitor, crawler, monitor, feed_reader };

/// As many clients as have addresses of their own.
inline constexpr std::uint32_t most_clients = 10'000'000;

/// The properties of a client that do not change.
struct identity {
  std::uint32_t number = 0;  ///< counted from 0
  client_kind kind = client_kind::visitor;
  std::uint8_t agent = 0;
  std::uint16_t user = 0;  ///< 0 for no name
};

/// Draws agent and user.
[[nodiscard]] identity make_identity(std::uint32_t number, client_kind kind, random_stream& random) noexcept;

void append_address(std::string& to, const identity& who);
/// A user name, some of which contain a space, or `-`.
void append_user(std::string& to, const identity& who);
[[nodiscard]] std::string_view agent_of(const identity& who) noexcept;

}  // namespace foliot::program
