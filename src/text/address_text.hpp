// Addresses of servers as people write them: what runtime::address::parse() takes, a port alone, on 127.0.0.1, or the
// name of a host and a port, such as localhost:11300.
//
// Thread safety: any thread outside of a runtime. A name is looked up by the system, which may take seconds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <foliot/runtime/net/address.hpp>

namespace foliot::program {

/// The address, or nothing if the text is none; a name of a host is none.
[[nodiscard]] std::optional<runtime::address> parse_address(const std::string& text);

/// The host and the port of NAME:PORT; nothing if the text is not of this form. What ends in a number is no name: it is
/// an IP address that is mistyped.
[[nodiscard]] std::optional<std::pair<std::string, std::uint16_t>> parse_named_address(const std::string& text);

/// All addresses that the text means, at least one: more only where it is a name. Throws failure, which begins with
/// `argument`, if the text is no address, or if there is no such host. `more` is what the user may write beside an
/// address.
[[nodiscard]] std::vector<runtime::address> find_addresses(std::string_view argument, const std::string& text,
                                                           std::string_view more = "");

/// The one at which a listener listens: the first of IPv4, so that a name means the same everywhere; else the first.
[[nodiscard]] runtime::address find_address_to_listen_at(std::string_view argument, const std::string& text,
                                                         std::string_view more = "");

/// The one of a server: the first at which one answers, in the order in which they should be tried; where none does
/// within 10 s, the first.
[[nodiscard]] runtime::address find_server(std::string_view argument, const std::string& text);

}  // namespace foliot::program
