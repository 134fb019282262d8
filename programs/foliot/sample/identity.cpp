#include "identity.hpp"

#include <array>
#include <iterator>

#include <fmt/format.h>

#include "draws.hpp"

namespace foliot::program {

namespace {

// The frequent ones are in the list more than once.
constexpr std::array<std::string_view, 10> browsers{
    "Wanderer/128.0 (Phone; en)",        "Wanderer/128.0 (Phone; en)",  "Wanderer/128.0 (Desktop; en)",
    "Wanderer/127.2 (Desktop; de)",      "Periscope/19.3 (Phone; en)",  "Periscope/19.3 (Phone; fr)",
    "Periscope/18.6 (Desktop; es)",      "Lantern/141.0 (Desktop; en)", "Lantern/140.0 (Desktop; ja)",
    "Oldtimer/4.7 [en] (Workstation; U)"};
constexpr std::array<std::string_view, 3> crawlers{"ExampleCrawler/2.1 (+https://crawler.example/about)",
                                                   "Archivist/0.9 (+https://archive.example/bot)", "NightlyIndex/1.0"};
constexpr std::string_view monitor_agent = "uptime-check/1.4";
constexpr std::string_view feed_agent = "FeedPigeon/3.0 (1 subscriber)";

constexpr std::array<std::string_view, 3> service_networks{"192.0.2", "198.51.100", "203.0.113"};
constexpr std::uint32_t hosts_per_network = 254;

constexpr unsigned named_permille = 25;
constexpr std::uint16_t most_users = 9999;

/// A permutation of the numbers of 24 bits.
constexpr std::uint32_t scattered(std::uint32_t number) noexcept {
  constexpr std::uint32_t odd = 0x9e3779b1;
  return (number * odd) & 0xffffff;
}

}  // namespace

identity make_identity(std::uint32_t number, client_kind kind, random_stream& random) noexcept {
  identity made{number, kind, static_cast<std::uint8_t>(random.below(browsers.size())), 0};
  if (kind == client_kind::visitor && chance(random, named_permille)) {
    made.user = static_cast<std::uint16_t>(random.below(most_users) + 1);
  }
  return made;
}

void append_address(std::string& to, const identity& who) {
  const auto out = std::back_inserter(to);
  const std::uint32_t network = who.number / hosts_per_network;
  if (who.kind != client_kind::visitor && network < service_networks.size()) {
    fmt::format_to(out, "{}.{}", service_networks[network], who.number % hosts_per_network + 1);
    return;
  }
  const std::uint32_t bits = scattered(who.number);
  if (who.number % 4 == 3) {
    fmt::format_to(out, "2001:db8:{:x}:{:x}::{:x}", bits >> 12, bits & 0xfff, who.number % 0xffff + 1);
  } else {
    fmt::format_to(out, "10.{}.{}.{}", bits >> 16, bits >> 8 & 0xff, bits & 0xff);
  }
}

void append_user(std::string& to, const identity& who) {
  if (who.user == 0) {
    to += '-';
  } else {
    fmt::format_to(std::back_inserter(to), "{}{}", who.user % 8 == 0 ? "guest " : "member", who.user);
  }
}

std::string_view agent_of(const identity& who) noexcept {
  switch (who.kind) {
    case client_kind::visitor: return browsers[who.agent];
    case client_kind::crawler: return crawlers[who.agent % crawlers.size()];
    case client_kind::monitor: return monitor_agent;
    case client_kind::feed_reader: return feed_agent;
  }
  return "-";
}

}  // namespace foliot::program
