// What the named proxies in front of the server say of a request: from whose address it comes, and for which host. It
// is read in `Forwarded` (RFC 7239), and in `X-Forwarded-For` and `X-Forwarded-Host`, of requests from a named proxy.
//
// Each proxy writes the address that it sees at the right end, behind what the client itself may have sent. So the
// fields are read from the right, as long as the address in hand is that of a named proxy: the first other one is the
// client's. If a proxy says nothing, the request is its own, such as a check of health. If it says what is no address
// (`unknown`, a name that hides one), the client is unknown; it must not count as the proxy, whose own requests would
// then be refused for those of others. So it is if the two fields tell different addresses: a proxy writes one of them
// and passes on the other one, which the client may have made up.
//
// The scheme by which a client has come decides nothing here, and is not read.
//
// Thread safety: pure functions. O(length of the fields).
#pragma once

#include <optional>
#include <string>

#include <foliot/runtime/net/address.hpp>

#include "message.hpp"
#include "server/core/named_proxies.hpp"

namespace foliot::program::http {

/// The client's address, of a request from `peer`; nothing if it is unknown. What is malformed is no error.
/// Precondition: `peer` is a named proxy.
[[nodiscard]] std::optional<runtime::address> forwarded_client(const request& head, const runtime::address& peer,
                                                               const named_proxies& proxies);
/// The host that the client has asked for, as the nearest proxy says; nothing if that says none. Empty,
/// which is no host, if the two fields tell different ones: the client may have made up one of them.
[[nodiscard]] std::optional<std::string> forwarded_host(const request& head);

}  // namespace foliot::program::http
