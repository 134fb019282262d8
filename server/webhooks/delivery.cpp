#include "delivery.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace foliot::program::webhooks {

namespace {

/// In lower case. The first ones are what the delivery itself sends, the others change what the bytes mean on the way.
constexpr std::array<std::string_view, 16> own_headers{"host",
                                                       "content-type",
                                                       "content-length",
                                                       "user-agent",
                                                       "accept",
                                                       "expect",
                                                       "transfer-encoding",
                                                       "connection",
                                                       "keep-alive",
                                                       "proxy-connection",
                                                       "te",
                                                       "trailer",
                                                       "upgrade",
                                                       "cookie",
                                                       "proxy-authorization",
                                                       "http2-settings"};

std::string name_in_lower_case(std::string_view name) {
  std::string lower(name);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

bool is_header_name(std::string_view name) noexcept {
  constexpr std::string_view others = "!#$%&'*+-.^_`|~";
  return !name.empty() && name.size() <= 128 && std::ranges::all_of(name, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           others.find(c) != std::string_view::npos;
  });
}

/// Not empty: libcurl would leave the header out.
bool is_header_value(std::string_view value) noexcept {
  return !value.empty() && value.size() <= 8192 && value.front() != ' ' && value.back() != ' ' &&
         std::ranges::all_of(value, [](char c) { return static_cast<unsigned char>(c) >= ' ' && c != 0x7f; });
}

}  // namespace

std::optional<std::string> fault_of(const delivery_request& request) {
  if (!is_message_id(request.id))
    return "the id of a message has 1 to 256 visible characters of ASCII, and no full stop";
  if (!is_header_value(request.content_type)) return "the content type has a character that no header can have";
  if (request.headers.size() > 64) return "a delivery has at most 64 headers of its own";
  for (const auto& [name, value] : request.headers) {
    const std::string lower = name_in_lower_case(name);
    if (!is_header_name(name))
      return fmt::format("'{}' is no name of a header", name_in_lower_case(is_header_value(name) ? name : ""));
    if (lower.starts_with("webhook-"))
      return fmt::format("the header '{}' must not begin with webhook-: Standard Webhooks keeps such names for itself",
                         name);
    if (std::ranges::find(own_headers, lower) != own_headers.end())
      return fmt::format("the header '{}' belongs to the delivery itself", name);
    if (!is_header_value(value))
      return fmt::format("the value of the header '{}' is empty or has a character that no header can have", name);
  }
  return std::nullopt;
}

std::string_view name_of(outcome what) noexcept {
  constexpr std::array<std::string_view, 6> names{"delivered", "rejected", "gone", "not_sent", "unknown", "forbidden"};
  return names[static_cast<std::size_t>(what)];
}

}  // namespace foliot::program::webhooks
