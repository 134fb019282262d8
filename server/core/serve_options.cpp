#include "serve_options.hpp"

#include <sys/utsname.h>

#include <algorithm>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <foliot/jobs/limits.hpp>

#include "session_name.hpp"
#include "text/address_text.hpp"
#include "text/duration_text.hpp"
#include "text/failure.hpp"
#include "text/printable.hpp"
#include "tube_name.hpp"

namespace foliot::program {

namespace {

/// Whether only programs of this machine can connect to it.
bool is_closed_to_others(const runtime::address& at) {
  if (at.is_local()) return true;
  const std::string text = at.to_string();
  return text.starts_with("127.") || text.starts_with("[::1]:");
}

/// What follows from the lock that is missing, and how to get it.
std::string_view sentence_without(const locks& has) {
  if (has.tokens) {
    return "without TLS everybody on the way can read its jobs and the access tokens: add --tls-certificate FILE";
  }
  if (has.tls) {
    return "TLS alone lets every client that reaches it read and delete all jobs: add --tokens FILE, which 'foliot "
           "token make' writes";
  }
  return "it has neither TLS nor access tokens: add --tls-certificate FILE, and --tokens FILE, which 'foliot token "
         "make' writes";
}

}  // namespace

std::optional<runtime::address> listen_address(const std::string& option, const std::string& text, const locks& has) {
  if (text == "off") return std::nullopt;
  const runtime::address at = find_address_to_listen_at(option, text, "off");
  const bool is_locked = has.tls && has.tokens;
  if (!is_locked && !has.insecure && !is_closed_to_others(at)) {
    throw failure(
        fmt::format("{} {} can be reached from other machines, and {}; or name a loopback address or a path; or do "
                    "without by --insecure",
                    option, at.to_string(), sentence_without(has)));
  }
  return at;
}

std::optional<runtime::address> default_http_address(const std::optional<runtime::address>& beanstalk) {
  if (!beanstalk || beanstalk->is_local() || !is_closed_to_others(*beanstalk)) return std::nullopt;
  return runtime::address::parse("127.0.0.1:11380").value();
}

std::vector<runtime::address> http_addresses(const std::vector<std::string>& texts, const locks& has) {
  std::vector<runtime::address> all;
  for (const std::string& each : texts) {
    const auto at = listen_address("--http", each, has);
    if (!at && texts.size() > 1) throw failure("--http off stands alone: leave it out, or leave out the other --http");
    if (at) all.push_back(*at);
  }
  return all;
}

std::vector<runtime::address> metrics_addresses(const std::vector<std::string>& texts, const locks& has) {
  std::vector<runtime::address> all;
  for (const std::string& each : texts) {
    const auto at = listen_address("--metrics", each, has);
    if (!at) throw failure("--metrics off is what there is without --metrics: leave it out");
    all.push_back(*at);
  }
  return all;
}

std::vector<std::string> tube_patterns(const std::vector<std::string>& texts) {
  if (texts.size() > tube_choice::most_patterns) {
    throw failure(fmt::format("--metrics-tubes may come {} times, and comes {} times: let one pattern match more tubes",
                              tube_choice::most_patterns, texts.size()));
  }
  for (const std::string& each : texts) {
    const bool is_right = std::ranges::all_of(each, [](char c) { return c == '*' || is_tube_character(c); });
    if (is_right && !each.empty() && each.size() <= jobs::longest_tube_name) continue;
    throw failure(
        fmt::format("--metrics-tubes '{}' is no pattern of tubes: write a name, in which * stands for any "
                    "characters, such as 'mail.*'",
                    printable(each)));
  }
  return texts;
}

network proxy_network(const std::string& text) {
  const auto known = network::parse(text);
  if (known && known->is_everybody()) {
    throw failure(
        fmt::format("--proxy '{}' is everybody, so that each client could choose its address: name the proxies alone",
                    printable(text)));
  }
  if (known) return *known;
  throw failure(
      fmt::format("--proxy '{}' is no proxy: write its address such as 192.0.2.7, a network such as 10.1.0.0/16, or "
                  "'unix' for those that connect to a path",
                  printable(text)));
}

std::string host_name(const std::string& text) {
  const auto is_part = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
           c == '_';
  };
  const bool is_name = !text.empty() && text.size() <= 253 && std::ranges::all_of(text, is_part) &&
                       !text.starts_with('.') && !text.ends_with('.');
  if (is_name) return text;
  throw failure(
      fmt::format("--host '{}' is no name of a machine: write one such as timers.example, without http:// and "
                  "without a port; addresses need no --host",
                  printable(text)));
}

std::string node_name(const std::string& asked, const std::optional<runtime::address>& listener) {
  if (asked.size() > longest_node) {
    throw failure(fmt::format("--node has {} bytes: a name has 1 to {}", asked.size(), longest_node));
  }
  if (node_of_session(asked) != asked) {
    throw failure(fmt::format("--node '{}' ends as the name of a session does, ' (session NUMBER)': choose another one",
                              printable(asked)));
  }
  if (!asked.empty()) return asked;
  if (!listener || (!listener->is_local() && listener->port() == 0)) {
    throw failure("--store needs --node NAME here: there is no fixed address that could name the node");
  }
  utsname machine{};
  ::uname(&machine);
  return fmt::format("{}/{}", machine.nodename, listener->to_string()).substr(0, longest_node);
}

duration node_timeout(const std::string& text) {
  const auto length = parse_duration(text);
  if (!length) throw failure("--node-timeout: " + length.error());
  if (*length < least_node_timeout) {
    throw failure(fmt::format("--node-timeout {} is too short: the least is {}", text, to_string(least_node_timeout)));
  }
  if (*length > longest_node_timeout) {
    throw failure(fmt::format("--node-timeout {} is too long: the most is {}", text, to_string(longest_node_timeout)));
  }
  return *length;
}

duration client_timeout(const std::string& text) {
  if (text == "off") return duration::forever();
  const auto length = parse_duration(text);
  if (!length) throw failure("--client-timeout: " + length.error() + "; or write 'off'");
  if (*length < least_client_timeout) {
    throw failure(
        fmt::format("--client-timeout {} is too short: the least is {}", text, to_string(least_client_timeout)));
  }
  return *length;
}

std::optional<duration> sync_period(const std::vector<std::string>& words) {
  if (words == std::vector<std::string>{"always"}) return std::nullopt;
  const bool has_every = words.size() == 2 && words[0] == "every";
  if (words.size() != 1 && !has_every) {
    throw failure(fmt::format("--sync '{}' is unknown: write 'always', or 'every' and a duration such as 50ms",
                              fmt::join(words, " ")));
  }
  const auto length = parse_duration(words.back());
  if (!length) throw failure("--sync: " + length.error() + "; or write 'always'");
  return *length;
}

}  // namespace foliot::program
