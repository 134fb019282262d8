// The URL of a target, parsed once by libcurl's own parser. That parser's handle, and not a text, is what a delivery
// hands to libcurl, so what was vetted is what is sent to.
//
//   const auto url = target_url::parse("https://hooks.example.com/in?from=foliot", {});
//   if (!url) …                                        // url.error() says what is wrong, and what would be right
//
// Refused, because parsers differ in them, or because they say more than where to send:
//
//   user information            https://user:pw@example.com/     secrets of a target have fields of their own
//   percent signs in the host   https://exa%6dple.com/
//   other than ASCII            https://１２７.0.0.1/              write the A-label of an international name (xn--…)
//   numbers that are not four   https://127.1/ https://0x7f.1/   an IPv4 address is four decimal numbers
//   an IPv6 address in another form than RFC 5952's; brackets around a name; a zone
//   a full stop at the end, empty labels, other characters than letters, digits, `-` and `_` in a name
//   fragments, back slashes, blanks, control characters, one slash or three behind the scheme
//   schemes but https; http is there if the operator says so
//
// Whether the operator allows the target is the business of address_rules.hpp.
//
// Thread safety: a value; copies share the handle, which nothing changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>

struct Curl_URL;

namespace foliot::program::webhooks {

/// What kinds of URLs a target may have.
struct url_options {
  bool allows_http = false;
};

class target_url {
 public:
  static constexpr std::size_t longest = 2048;

  /// Parses the URL. Returns what is wrong with it, and what would be right.
  [[nodiscard]] static std::expected<target_url, std::string> parse(std::string_view text, url_options options = {});

  /// The URL as it was given.
  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  /// In lower case; an IPv6 address without brackets.
  [[nodiscard]] const std::string& host() const noexcept { return host_; }
  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  [[nodiscard]] bool is_https() const noexcept { return is_https_; }
  /// Whether the host is an IPv4 or IPv6 address.
  [[nodiscard]] bool has_address() const noexcept { return has_address_; }
  /// Scheme, host and port: what deliveries may share a connection by.
  [[nodiscard]] std::string origin() const;
  /// For CURLOPT_CURLU. Lives as long as this object or one of its copies.
  [[nodiscard]] Curl_URL* handle() const noexcept { return handle_.get(); }

 private:
  target_url() = default;

  std::shared_ptr<Curl_URL> handle_;
  std::string text_;
  std::string host_;
  std::uint16_t port_ = 0;
  bool is_https_ = true;
  bool has_address_ = false;
};

}  // namespace foliot::program::webhooks
