// The seam to the names of hosts: the system's own resolution, with /etc/hosts, DNS and whatever else nsswitch.conf
// names (getaddrinfo).
//
// Real side: src/core/seam/names.cpp. The simulated worlds have no names. Thread safety: any thread.
#pragma once

#include <foliot/core/language.hpp>

#include <cstdint>
#include <expected>
#include <string>
#include <system_error>
#include <vector>

#include <foliot/core/export.h>
#include <foliot/core/seam/socket_address.hpp>

namespace foliot::inline core::seam {

/// The category of the errors of getaddrinfo (EAI_…), named "foliot names".
[[nodiscard]] FOLIOT_EXPORT const std::error_category& name_category() noexcept;

/// The addresses of a host, for streams, with this port, in the order of the system; at least one. Blocks, as a rule
/// until a server has answered or some seconds have passed. Returns errors of name_category() and of the system; the
/// latter also if it could not look everywhere for lack of descriptors or memory. Throws std::bad_alloc.
[[nodiscard]] FOLIOT_EXPORT std::expected<std::vector<socket_address>, std::error_code> addresses_of(
    const std::string& host, std::uint16_t port);

}  // namespace foliot::inline core::seam
