#include "target_url.hpp"

#include <algorithm>
#include <charconv>
#include <new>
#include <optional>

#include <curl/curl.h>
#include <fmt/format.h>

#include "ip_network.hpp"

namespace foliot::program::webhooks {

namespace {

using refusal = std::optional<std::string>;

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

std::string in_lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

refusal check_characters(std::string_view text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80) {
      return "the URL has a character that is not ASCII: write the A-label of an international host name (xn--…), and "
             "other characters as %XX";
    }
    if (byte <= ' ' || byte == 0x7f) return "the URL has a blank or a control character: write it as %XX";
    if (c == '\\') return "the URL has a back slash, which parsers take for different things: write %5C";
    if (c == '#') return "the URL has a fragment (#…), which is never sent: leave it out";
  }
  return std::nullopt;
}

/// What stands between `://` and the path.
struct split_url {
  std::string scheme;
  std::string_view authority;
};

std::expected<split_url, std::string> split(std::string_view text, url_options options) {
  const std::size_t colon = text.find("://");
  std::string scheme = in_lower_case(text.substr(0, colon == std::string_view::npos ? 0 : colon));
  const bool is_allowed = scheme == "https" || (scheme == "http" && options.allows_http);
  if (!is_allowed) {
    if (scheme == "http") {
      return std::unexpected(
          "the target is http://, which nobody on the way has to break to read and change it: use "
          "https://, or have the operator allow http");
    }
    return std::unexpected(std::string("the URL of a target begins with https://") +
                           (options.allows_http ? " or http://" : ""));
  }
  const std::string_view rest = text.substr(colon + 3);
  const std::string_view authority = rest.substr(0, rest.find_first_of("/?"));
  if (authority.empty()) return std::unexpected("the URL has no host: write https://HOST/PATH");
  return split_url{std::move(scheme), authority};
}

/// A label of a host name.
bool is_label(std::string_view label) noexcept {
  return !label.empty() && label.size() <= 63 && label.front() != '-' && label.back() != '-' &&
         std::ranges::all_of(label,
                             [](char c) { return (c >= 'a' && c <= 'z') || is_digit(c) || c == '-' || c == '_'; });
}

/// Whether other programs may take the name for a number: its last label is decimal, or begins with 0x.
bool may_be_a_number(std::string_view host) noexcept {
  const std::size_t dot = host.rfind('.');
  const std::string_view last = dot == std::string_view::npos ? host : host.substr(dot + 1);
  return last.starts_with("0x") || (!last.empty() && std::ranges::all_of(last, is_digit));
}

/// `host` in lower case, without brackets.
refusal check_host(std::string_view host, bool in_brackets) {
  const auto address = ip_address::parse(host);
  if (in_brackets) {
    if (!address || !address->is_v6())
      return "brackets in a URL hold an IPv6 address without a zone, such as [2001:db8::1]";
    if (address->to_string() != host)
      return fmt::format("the address [{}] is written [{}]", host, address->to_string());
    return std::nullopt;
  }
  if (address && !address->is_v6() && address->to_string() == host) return std::nullopt;
  if (host.find(':') != std::string_view::npos) return "an IPv6 address stands in brackets: https://[2001:db8::1]/";
  if (may_be_a_number(host)) {
    return fmt::format(
        "the host '{}' would be read as a number: an IPv4 address is four decimal numbers without leading "
        "zeros, such as 192.0.2.1",
        host);
  }
  if (host.size() > 253) return "the host name has more than 253 characters";
  if (host.ends_with('.')) return fmt::format("the host '{}' ends in a full stop: leave it out", host);
  for (std::size_t begin = 0; begin <= host.size();) {
    const std::size_t end = std::min(host.find('.', begin), host.size());
    if (!is_label(host.substr(begin, end - begin)))
      return fmt::format("'{}' is no host name: it has labels of letters, digits, - and _ between full stops", host);
    begin = end + 1;
  }
  return std::nullopt;
}

/// The raw host and port, which libcurl's parser must agree with.
struct split_authority {
  std::string host;
  bool in_brackets = false;
  std::optional<std::string_view> port;
};

std::expected<split_authority, std::string> split_host(std::string_view authority) {
  if (authority.find('@') != std::string_view::npos)
    return std::unexpected("the URL has user information (…@): leave it out, deliveries are signed");
  if (authority.find('%') != std::string_view::npos)
    return std::unexpected("the host has a percent sign: write the name itself");
  split_authority found;
  std::string_view rest = authority;
  if (rest.front() == '[') {
    const std::size_t end = rest.find(']');
    if (end == std::string_view::npos) return std::unexpected("the URL has a bracket that nothing closes");
    found.in_brackets = true;
    found.host = in_lower_case(rest.substr(1, end - 1));
    rest.remove_prefix(end + 1);
  } else {
    const std::size_t end = std::min(rest.rfind(':'), rest.size());
    found.host = in_lower_case(rest.substr(0, end));
    rest.remove_prefix(end);
  }
  if (!rest.empty()) {
    if (rest.front() != ':') return std::unexpected("only a port may follow the brackets: https://[2001:db8::1]:8443/");
    found.port = rest.substr(1);
  }
  if (auto why = check_host(found.host, found.in_brackets)) return std::unexpected(*std::move(why));
  return found;
}

std::optional<std::uint16_t> port_in(std::string_view text) noexcept {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size() || port == 0 || text.front() == '0') return std::nullopt;
  return port;
}

/// A part as libcurl's parser has it; empty if the URL does not have it.
std::string part_of(CURLU* url, CURLUPart part, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, flags) != CURLUE_OK || text == nullptr) return {};
  const std::unique_ptr<char, void (*)(void*)> owned(text, curl_free);
  return text;
}

}  // namespace

std::expected<target_url, std::string> target_url::parse(std::string_view text, url_options options) {
  if (text.size() > longest) return std::unexpected(fmt::format("the URL has more than {} characters", longest));
  if (auto why = check_characters(text)) return std::unexpected(*std::move(why));
  const auto parts = split(text, options);
  if (!parts) return std::unexpected(parts.error());
  const auto raw = split_host(parts->authority);
  if (!raw) return std::unexpected(raw.error());
  target_url made;
  made.is_https_ = parts->scheme == "https";
  made.port_ = made.is_https_ ? 443 : 80;
  if (raw->port) {
    const auto port = port_in(*raw->port);
    if (!port) return std::unexpected(fmt::format("'{}' is no port: it is a number from 1 to 65535", *raw->port));
    made.port_ = *port;
  }
  made.handle_ = std::shared_ptr<CURLU>(curl_url(), [](CURLU* url) { curl_url_cleanup(url); });
  if (!made.handle_) throw std::bad_alloc();
  made.text_ = text;
  CURLU* const url = made.handle_.get();
  if (const CURLUcode code = curl_url_set(url, CURLUPART_URL, made.text_.c_str(), 0); code != CURLUE_OK)
    return std::unexpected(fmt::format("libcurl cannot read the URL: {}", curl_url_strerror(code)));
  // What libcurl will connect to must be what was looked at here.
  const std::string host = in_lower_case(part_of(url, CURLUPART_HOST));
  const std::string expected = raw->in_brackets ? "[" + raw->host + "]" : raw->host;
  const bool agrees = host == expected && in_lower_case(part_of(url, CURLUPART_SCHEME)) == parts->scheme &&
                      part_of(url, CURLUPART_PORT, CURLU_DEFAULT_PORT) == std::to_string(made.port_) &&
                      part_of(url, CURLUPART_USER).empty() && part_of(url, CURLUPART_PASSWORD).empty() &&
                      part_of(url, CURLUPART_FRAGMENT).empty() && part_of(url, CURLUPART_ZONEID).empty();
  if (!agrees) {
    return std::unexpected(
        fmt::format("libcurl reads the host as '{}' and not as '{}': write it in its plain form", host, expected));
  }
  made.host_ = raw->host;
  made.has_address_ = ip_address::parse(raw->host).has_value();
  return made;
}

std::string target_url::origin() const {
  const bool is_v6 = host_.find(':') != std::string::npos;
  return fmt::format("{}://{}{}{}:{}", is_https_ ? "https" : "http", is_v6 ? "[" : "", host_, is_v6 ? "]" : "", port_);
}

}  // namespace foliot::program::webhooks
