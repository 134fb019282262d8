// Where a client comes from. What clients have in common that count together, where there are limits by address: the
// IPv4 address, or the network of 64 bits of an IPv6 address, of which one machine may have all. An IPv4 address within
// IPv6 counts as itself.
//
// Thread safety: pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <foliot/runtime/net/address.hpp>

namespace foliot::program {

/// The bytes of the address that count; empty for clients of local sockets, and for no address. Throws std::bad_alloc.
[[nodiscard]] std::string source_of(const runtime::address& from);

/// The bytes of the address: 4 of IPv4, also within IPv6, or 16; empty for local sockets, and for no address. Throws
/// std::bad_alloc.
[[nodiscard]] std::string address_bytes(const runtime::address& of);

/// An IP address that stands alone, without a port; that of IPv6 in brackets or not. Nothing for any other text.
[[nodiscard]] std::optional<runtime::address> address_without_port(std::string_view text);

/// The address for the log; `a local socket` for clients of those.
[[nodiscard]] std::string shown_address(const runtime::address& from);
/// The same without the port.
[[nodiscard]] std::string shown_host(const runtime::address& from);

}  // namespace foliot::program
