#include "address_text.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <foliot/core/duration.hpp>
#include <foliot/runtime/net/names.hpp>
#include <foliot/runtime/net/stream.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/task.hpp>

#include "failure.hpp"

namespace foliot::program {

namespace {

constexpr std::size_t longest_host = 253;
/// How long a server that may be at several addresses is looked for.
constexpr duration longest_search = std::chrono::seconds(10);

bool is_digit(char c) noexcept { return '0' <= c && c <= '9'; }

bool is_in_host(char c) noexcept {
  return is_digit(c) || ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || c == '-' || c == '.' || c == '_';
}

bool is_port(std::string_view text) noexcept {
  return !text.empty() && text.size() <= 5 && std::ranges::all_of(text, is_digit);
}

/// Whether the system would read the host as a number: 1.2.3, 0x7f.1.
bool ends_in_number(std::string_view host) noexcept {
  if (host.ends_with('.')) host.remove_suffix(1);
  const std::string_view last = host.substr(host.rfind('.') + 1);
  return std::ranges::all_of(last, is_digit) || last.starts_with("0x") || last.starts_with("0X");
}

/// A name with a dot at its end is complete, but the system's table of hosts has this one without the dot.
bool is_local(std::string_view host) noexcept {
  constexpr std::string_view local = "localhost.";
  const auto lower = [](char c) { return 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::ranges::equal(host, local, {}, lower);
}

runtime::run_options one_thread() {
  runtime::run_options options;
  options.processors = 1;
  return options;
}

task<> look_up(std::string host, std::uint16_t port, runtime::or_error<std::vector<runtime::address>>& found) {
  auto looking = runtime::resolve(std::move(host), port);
  found = co_await looking;
}

task<> find_answering(std::vector<runtime::address> all, runtime::address& found) {
  auto connecting = runtime::connect_to_any(std::move(all), runtime::now() + longest_search);
  const auto peer = co_await connecting;
  if (!peer) co_return;
  if (const auto at = peer->peer_address()) found = *at;
}

}  // namespace

std::optional<runtime::address> parse_address(const std::string& text) {
  const auto at = runtime::address::parse(is_port(text) ? "127.0.0.1:" + text : text);
  return at ? std::optional(*at) : std::nullopt;
}

std::optional<std::pair<std::string, std::uint16_t>> parse_named_address(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) return std::nullopt;
  std::string host = text.substr(0, colon);
  const std::string port = text.substr(colon + 1);
  const bool is_host = !host.empty() && host.size() <= longest_host && host.front() != '-' &&
                       std::ranges::all_of(host, is_in_host) && !ends_in_number(host);
  std::uint32_t number = 0;
  std::from_chars(port.data(), port.data() + port.size(), number);
  if (!is_host || !is_port(port) || number > 65'535) return std::nullopt;
  if (is_local(host)) host.pop_back();
  return std::pair(std::move(host), static_cast<std::uint16_t>(number));
}

std::vector<runtime::address> find_addresses(std::string_view argument, const std::string& text,
                                             std::string_view more) {
  if (const auto at = parse_address(text)) return {*at};
  const auto named = parse_named_address(text);
  if (!named) {
    throw failure(
        fmt::format("{} '{}' is no address: write 127.0.0.1:11300, localhost:11300, [::1]:11300, "
                    "unix:/run/foliot.sock, {}a port alone{}{}",
                    argument, text, more.empty() ? "or " : "", more.empty() ? "" : ", or ", more));
  }
  runtime::or_error<std::vector<runtime::address>> found;
  runtime::run(look_up(named->first, named->second, found), one_thread());
  if (!found) {
    throw failure(
        fmt::format("{} {}: the host '{}' cannot be found: {}", argument, text, named->first, found.error().message()));
  }
  return *std::move(found);
}

runtime::address find_address_to_listen_at(std::string_view argument, const std::string& text, std::string_view more) {
  const std::vector<runtime::address> all = find_addresses(argument, text, more);
  const auto first = std::ranges::find_if(
      all, [](const runtime::address& each) { return each.system().family() == seam::address_family::ip4; });
  return first != all.end() ? *first : all.front();
}

runtime::address find_server(std::string_view argument, const std::string& text) {
  std::vector<runtime::address> all = find_addresses(argument, text);
  runtime::address found = all.front();
  if (all.size() > 1) runtime::run(find_answering(std::move(all), found), one_thread());
  return found;
}

}  // namespace foliot::program
