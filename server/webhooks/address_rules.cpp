#include "address_rules.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <stdexcept>

#include <fmt/format.h>

namespace foliot::program::webhooks {

namespace {

struct row {
  std::string_view network, name, source;
};

// IANA, IPv4 and IPv6 Special-Purpose Address Registries; behind them what they lack. A row inside of another one is
// named by itself.
constexpr std::array special_rows{
    row{"0.0.0.0/8", "this network", "RFC 791"},
    row{"0.0.0.0/32", "this host on this network", "RFC 1122"},
    row{"10.0.0.0/8", "private use", "RFC 1918"},
    row{"100.64.0.0/10", "shared address space", "RFC 6598"},
    row{"127.0.0.0/8", "loopback", "RFC 1122"},
    row{"169.254.0.0/16", "link local", "RFC 3927"},
    row{"172.16.0.0/12", "private use", "RFC 1918"},
    row{"192.0.0.0/24", "IETF protocol assignments", "RFC 6890"},
    row{"192.0.0.0/29", "IPv4 service continuity prefix", "RFC 7335"},
    row{"192.0.0.8/32", "IPv4 dummy address", "RFC 7600"},
    row{"192.0.0.9/32", "port control protocol anycast", "RFC 7723"},
    row{"192.0.0.10/32", "TURN anycast", "RFC 8155"},
    row{"192.0.0.170/32", "NAT64/DNS64 discovery", "RFC 8880"},
    row{"192.0.0.171/32", "NAT64/DNS64 discovery", "RFC 8880"},
    row{"192.0.2.0/24", "documentation (TEST-NET-1)", "RFC 5737"},
    row{"192.31.196.0/24", "AS112-v4", "RFC 7535"},
    row{"192.52.193.0/24", "AMT", "RFC 7450"},
    row{"192.88.99.0/24", "deprecated 6to4 relay anycast", "RFC 7526"},
    row{"192.88.99.2/32", "6a44 relay anycast", "RFC 6751"},
    row{"192.168.0.0/16", "private use", "RFC 1918"},
    row{"192.175.48.0/24", "direct delegation AS112 service", "RFC 7534"},
    row{"198.18.0.0/15", "benchmarking", "RFC 2544"},
    row{"198.51.100.0/24", "documentation (TEST-NET-2)", "RFC 5737"},
    row{"203.0.113.0/24", "documentation (TEST-NET-3)", "RFC 5737"},
    row{"240.0.0.0/4", "reserved", "RFC 1112"},
    row{"255.255.255.255/32", "limited broadcast", "RFC 8190"},
    row{"::1/128", "loopback", "RFC 4291"},
    row{"::/128", "unspecified", "RFC 4291"},
    row{"::ffff:0:0/96", "IPv4-mapped", "RFC 4291"},
    row{"64:ff9b::/96", "IPv4-IPv6 translation (NAT64)", "RFC 6052"},
    row{"64:ff9b:1::/48", "local-use IPv4-IPv6 translation (NAT64)", "RFC 8215"},
    row{"100::/64", "discard only", "RFC 6666"},
    row{"100:0:0:1::/64", "IPv6 dummy prefix", "RFC 9780"},
    row{"2001::/23", "IETF protocol assignments", "RFC 2928"},
    row{"2001::/32", "Teredo", "RFC 4380"},
    row{"2001:1::1/128", "port control protocol anycast", "RFC 7723"},
    row{"2001:1::2/128", "TURN anycast", "RFC 8155"},
    row{"2001:1::3/128", "DNS-SD service registration anycast", "RFC 9665"},
    row{"2001:2::/48", "benchmarking", "RFC 5180"},
    row{"2001:3::/32", "AMT", "RFC 7450"},
    row{"2001:4:112::/48", "AS112-v6", "RFC 7535"},
    row{"2001:10::/28", "deprecated ORCHID", "RFC 4843"},
    row{"2001:20::/28", "ORCHIDv2", "RFC 7343"},
    row{"2001:30::/28", "drone remote identification", "RFC 9374"},
    row{"2001:db8::/32", "documentation", "RFC 3849"},
    row{"2002::/16", "6to4", "RFC 3056"},
    row{"2620:4f:8000::/48", "direct delegation AS112 service", "RFC 7534"},
    row{"3fff::/20", "documentation", "RFC 9637"},
    row{"5f00::/16", "segment routing (SRv6) SIDs", "RFC 9602"},
    row{"fc00::/7", "unique local", "RFC 4193"},
    row{"fe80::/10", "link local", "RFC 4291"},
    // Not in those registries.
    row{"168.63.129.16/32", "metadata of Azure, a public address", "Microsoft"},
    row{"169.254.169.254/32", "metadata of clouds", "AWS, Azure, Google and others"},
    row{"169.254.170.2/32", "metadata of Amazon ECS", "AWS"},
    row{"224.0.0.0/4", "multicast", "RFC 5771"},
    row{"::/96", "deprecated IPv4-compatible", "RFC 4291"},
    row{"fd00:ec2::254/128", "metadata of Amazon EC2", "AWS"},
    row{"fec0::/10", "deprecated site local", "RFC 3879"},
    row{"ff00::/8", "multicast", "RFC 4291"},
    // All but 2000::/3, as far as no row above is narrower.
    row{"::/3", "not global unicast", "RFC 4291"},
    row{"4000::/2", "not global unicast", "RFC 4291"},
    row{"8000::/1", "not global unicast", "RFC 4291"},
};

std::vector<special_network> parsed_rows() {
  std::vector<special_network> all;
  all.reserve(special_rows.size());
  for (const row& each : special_rows) {
    const auto network = ip_network::parse(each.network);
    if (!network) throw std::logic_error(fmt::format("'{}' is no network", each.network));
    all.push_back({*network, each.name, each.source});
  }
  // The narrowest first; of two that are as narrow no address is in both.
  std::ranges::sort(all, std::ranges::greater(), [](const special_network& one) { return one.network.prefix(); });
  return all;
}

std::optional<std::uint16_t> port_of_rule(std::string_view text) noexcept {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size() || port == 0) return std::nullopt;
  return port;
}

bool is_host_pattern(std::string_view host) noexcept {
  if (host == "*") return true;
  if (host.starts_with("*.")) host.remove_prefix(2);
  return !host.empty() && host.front() != '.' && host.back() != '.' && host.find("..") == std::string_view::npos &&
         std::ranges::all_of(host, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
         });
}

/// The rule that would allow the address.
std::string rule_for(const ip_address& address, std::string_view host, std::uint16_t port, bool is_public) {
  const std::string network = address.is_v6() ? fmt::format("[{}]", address.to_string()) : address.to_string();
  const bool is_name = !ip_address::parse(host);
  std::string rule = is_name && is_public ? std::string(host) : is_name ? fmt::format("{}={}", host, network) : network;
  return port == 443 ? rule : fmt::format("{}:{}", rule, port);
}

constexpr std::string_view forms_of_rules =
    "a rule is a host (hooks.example.com, *.example.com, *), a host and its addresses (billing.internal=10.1.0.0/16), "
    "or "
    "addresses (10.1.0.0/16), each with :PORT or without";

}  // namespace

std::span<const special_network> special_networks() {
  static const std::vector<special_network> all = parsed_rows();
  return all;
}

const special_network* find_special(const ip_address& address) noexcept {
  const auto all = special_networks();
  const auto found = std::ranges::find_if(all, [&](const auto& each) { return each.network.contains(address); });
  return found == all.end() ? nullptr : &*found;
}

std::expected<address_rules::rule, std::string> address_rules::parse(std::string_view text) {
  const auto refuse = [text](std::string_view why) {
    return std::unexpected(fmt::format("the rule '{}' {}; {}", text, why, forms_of_rules));
  };
  rule read;
  std::string_view rest = text;
  if (const std::size_t colon = rest.rfind(':');
      colon != std::string_view::npos && (rest.find(':') == colon || rest[colon - 1] == ']')) {
    read.port = port_of_rule(rest.substr(colon + 1));
    if (!read.port) return refuse("has a port that is no number from 1 to 65535");
    rest = rest.substr(0, colon);
  }
  const std::size_t equals = rest.find('=');
  std::string_view network = equals == std::string_view::npos ? rest : rest.substr(equals + 1);
  if (network.starts_with('[') && network.ends_with(']')) network = network.substr(1, network.size() - 2);
  read.at = ip_network::parse(network);
  if (equals == std::string_view::npos && read.at) return read;
  if (equals != std::string_view::npos && !read.at)
    return refuse("has no network behind '=', such as 10.1.0.0/16, in which no bit behind the prefix is set");
  std::string host(equals == std::string_view::npos ? rest : rest.substr(0, equals));
  if (host.find('/') != std::string::npos)
    return refuse("is no network: write ADDRESS/BITS, in which no bit behind the prefix is set, and no URL");
  for (char& c : host) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (!is_host_pattern(host)) return refuse("has no host that can be one");
  read.host = host.starts_with("*.") ? host.substr(1) : host;
  return read;
}

std::expected<address_rules, std::string> address_rules::make(const address_rules_options& options) {
  address_rules made;
  made.allows_http_ = options.allows_http;
  for (const std::string& text : options.allow) {
    auto one = parse(text);
    if (!one) return std::unexpected(one.error());
    if (one->at && one->at->prefix() == 0) {
      made.warnings_.push_back(
          fmt::format("the rule '{}' allows deliveries to every address, those of this machine, its "
                      "network and its cloud's metadata among them: '*' allows public ones alone",
                      text));
    }
    made.rules_.push_back(*std::move(one));
  }
  for (const std::string& text : options.nat64) {
    const auto prefix = ip_network::parse(text);
    if (!prefix || !prefix->first().is_v6() || prefix->prefix() != 96)
      return std::unexpected(fmt::format("'{}' is no prefix of NAT64 with 96 bits, such as 64:ff9b::/96", text));
    made.nat64_.push_back(*prefix);
  }
  return made;
}

bool address_rules::matches_host(const rule& one, std::string_view host) noexcept {
  if (one.host == "*") return true;
  if (one.host.starts_with('.')) return host.size() > one.host.size() && host.ends_with(one.host);
  return one.host == host;
}

bool address_rules::matches_port(const rule& one, std::uint16_t port) const noexcept {
  return one.port ? *one.port == port : port == 443 || (port == 80 && allows_http_);
}

ip_address address_rules::unwrapped(const ip_address& address) const noexcept {
  const bool is_wrapped = std::ranges::any_of(nat64_, [&](const auto& each) { return each.contains(address); });
  return is_wrapped ? address.last_four_bytes() : address;
}

std::expected<void, std::string> address_rules::vet_target(const target_url& url) const {
  if (!url.is_https() && !allows_http_) return std::unexpected("the operator does not allow targets by http://");
  if (url.has_address()) return vet_address(*ip_address::parse(url.host()), url.host(), url.port());
  bool is_other_port = false;
  for (const rule& each : rules_) {
    if (each.host.empty() || !matches_host(each, url.host())) continue;
    if (matches_port(each, url.port())) return {};
    is_other_port = true;
  }
  if (is_other_port) {
    return std::unexpected(
        fmt::format("no rule allows port {} of {}: the operator may add '{}:{}' to the allowed targets", url.port(),
                    url.host(), url.host(), url.port()));
  }
  return std::unexpected(fmt::format("no rule allows the host {}: the operator may add '{}' to the allowed targets",
                                     url.host(), url.host()));
}

std::expected<void, std::string> address_rules::vet_address(const ip_address& address, std::string_view host,
                                                            std::uint16_t port) const {
  const ip_address vetted = unwrapped(address);
  const special_network* const special = find_special(vetted);
  for (const rule& each : rules_) {
    if (!matches_port(each, port) || (!each.host.empty() && !matches_host(each, host))) continue;
    if (each.at ? each.at->contains(vetted) : special == nullptr) return {};
  }
  const std::string shown =
      vetted == address ? address.to_string() : fmt::format("{} ({})", vetted.to_string(), address.to_string());
  const std::string rule = rule_for(vetted, host, port, special == nullptr);
  if (special != nullptr) {
    return std::unexpected(
        fmt::format("the address {} of {} is not public ({}, {}): the operator may add '{}' to the "
                    "allowed targets",
                    shown, host, special->name, special->network.to_string(), rule));
  }
  return std::unexpected(
      fmt::format("no rule allows the address {} of {} with port {}: the operator may add '{}' to the "
                  "allowed targets",
                  shown, host, port, rule));
}

}  // namespace foliot::program::webhooks
