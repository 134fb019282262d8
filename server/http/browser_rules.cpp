#include "browser_rules.hpp"

#include <algorithm>
#include <cstddef>

#include "front_check.hpp"
#include "server/core/client_source.hpp"

namespace foliot::program::http {

namespace {

/// A value of `Host` without its port; an IPv6 address keeps its brackets. Nothing if it has another form.
std::optional<std::string_view> name_in(std::string_view host) noexcept {
  const std::size_t end_of_address = host.starts_with('[') ? host.find(']') : 0;
  if (end_of_address == std::string_view::npos) return std::nullopt;
  const std::size_t colon = std::min(host.find(':', end_of_address), host.size());
  const std::string_view port = host.substr(std::min(colon + 1, host.size()));
  const bool is_port = port.size() <= 5 && std::ranges::all_of(port, [](char c) { return c >= '0' && c <= '9'; });
  if (!is_port) return std::nullopt;
  if (end_of_address == 0) return host.substr(0, colon);
  if (colon != end_of_address + 1) return std::nullopt;
  return host.substr(0, colon);
}

/// The host and port of an origin such as http://localhost:11380; empty if it has none, as `null`.
std::string_view host_of_origin(std::string_view origin) noexcept {
  const std::size_t scheme = origin.find("://");
  return scheme == std::string_view::npos ? std::string_view() : origin.substr(scheme + 3);
}

}  // namespace

bool is_safe(std::string_view method) noexcept { return method == "GET" || method == "HEAD" || method == "OPTIONS"; }

bool is_of_this_machine(const runtime::address& at) {
  if (at.is_local()) return true;
  const std::string bytes = address_bytes(at);
  constexpr std::string_view loopback_of_ipv6("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1", 16);
  return bytes.size() == 4 ? bytes.front() == 127 : bytes == loopback_of_ipv6;
}

browser_rules::host_kind browser_rules::kind_of(std::string_view host) const {
  const std::optional<std::string_view> name = name_in(host);
  if (!name || name->empty()) return host_kind::unknown;
  constexpr std::string_view local = "localhost";
  const std::string_view end = name->substr(name->size() - std::min(name->size(), local.size() + 1));
  if (equal_in_any_case(*name, local) || equal_in_any_case(end, ".localhost")) return host_kind::loopback;
  if (std::ranges::any_of(hosts_, [&](const std::string& known) { return equal_in_any_case(known, *name); })) {
    return host_kind::name;
  }
  const auto parsed = runtime::address::parse(std::string(*name) + ":1");
  if (!parsed || parsed->is_local()) return host_kind::unknown;
  return is_of_this_machine(*parsed) ? host_kind::loopback : host_kind::address;
}

std::optional<problem> browser_rules::check(const request& head, const std::optional<std::string>& asked_for) const {
  const std::optional<std::string_view> host = head.find("host");
  if (asked_for && !knows(*asked_for)) {
    return problem{421, "this server does not know the name that the proxy was asked for: it is known by --host",
                   where::header, "x-forwarded-host"};
  }
  if (host && !knows(*host)) {
    return problem{421,
                   "this server does not know that name: connect by an IP address or as localhost, or give the "
                   "server the name by --host",
                   where::header, "host"};
  }
  if (is_safe(head.method)) return std::nullopt;
  const problem stranger{403, "a page of another site must not change anything here"};
  if (const auto site = head.find("sec-fetch-site")) {
    if (*site == "same-origin" || *site == "none") return std::nullopt;
    return problem{stranger.status, stranger.detail, where::header, "sec-fetch-site"};
  }
  const auto origin = head.find("origin");
  const auto is_origin = [&](std::string_view name) { return equal_in_any_case(host_of_origin(*origin), name); };
  if (!origin || (host && is_origin(*host)) || (asked_for && is_origin(*asked_for))) return std::nullopt;
  return problem{stranger.status, stranger.detail, where::header, "origin"};
}

}  // namespace foliot::program::http
