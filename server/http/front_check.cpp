#include "front_check.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <system_error>
#include <utility>

namespace foliot::program::http {

namespace {

using checked = std::optional<refusal>;

/// Fields with one value each. Twice the same name is how two programs come to believe different values.
constexpr std::array<std::string_view, 11> single_fields = {
    "host",   "content-length", "transfer-encoding", "authorization", "content-type", "expect",
    "origin", "sec-fetch-site", "idempotency-key",   "if-match",      "if-none-match"};

constexpr std::size_t longest_method = 32;
/// 19 digits fit 64 bits.
constexpr std::size_t most_length_digits = 19;
constexpr std::size_t most_chunk_digits = 16;

constexpr char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) noexcept { return lower(c) >= 'a' && lower(c) <= 'z'; }
constexpr auto are_token_characters = [] {
  std::array<bool, 256> all{};
  for (std::size_t c = 0; c < all.size(); ++c) {
    const char each = static_cast<char>(c);
    all[c] = is_letter(each) || is_digit(each) || std::string_view("!#$%&'*+-.^_`|~").contains(each);
  }
  return all;
}();
bool is_token_char(char c) noexcept { return are_token_characters[static_cast<unsigned char>(c)]; }
constexpr bool is_visible(char c) noexcept { return c > ' ' && c < '\x7f'; }
constexpr bool is_blank(char c) noexcept { return c == ' ' || c == '\t'; }

/// Whether one of eight bytes is below ' ' or is 0x7f (S. Anderson, "Bit Twiddling Hacks": hasless, haszero).
constexpr bool has_low_byte(std::uint64_t bytes) noexcept {
  constexpr std::uint64_t each = 0x0101010101010101;
  constexpr std::uint64_t highest_bits = 0x80 * each;
  const std::uint64_t deletes = bytes ^ (0x7f * each);  // 0 where a byte is 0x7f
  const std::uint64_t below_blank = (bytes - 0x20 * each) & ~bytes;
  return (((deletes - each) & ~deletes) | below_blank) & highest_bits;
}

std::string_view trimmed(std::string_view text) noexcept {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

/// Whether the text is a list of tokens between commas; elements may be empty.
bool is_token_list(std::string_view text) noexcept {
  while (!text.empty()) {
    const std::size_t size = std::min(text.find(','), text.size());
    const std::string_view element = trimmed(text.substr(0, size));
    if (!element.empty() && !is_token(element)) return false;
    text.remove_prefix(std::min(size + 1, text.size()));
  }
  return true;
}

/// Takes a line and its CR LF from the front of the head.
std::string_view take_line(std::string_view& head) noexcept {
  const std::size_t end = std::min(head.find("\r\n"), head.size());
  const std::string_view line = head.substr(0, end);
  head.remove_prefix(std::min(end + 2, head.size()));
  return line;
}

checked check_version(std::string_view version, bool& is_http_1_0) noexcept {
  is_http_1_0 = version == "HTTP/1.0";
  if (is_http_1_0 || version == "HTTP/1.1") return std::nullopt;
  const bool is_other = version.size() == 8 && version.starts_with("HTTP/") && is_digit(version[5]) &&
                        version[6] == '.' && is_digit(version[7]);
  if (is_other) return refusal{505, "", "this server speaks HTTP/1.1 and HTTP/1.0"};
  return refusal{400, "", "a request begins with METHOD SP TARGET SP HTTP/1.1"};
}

checked check_request_line(std::string_view line, bool& is_http_1_0) noexcept {
  const std::size_t first = std::min(line.find(' '), line.size());
  const std::size_t last = line.rfind(' ');
  const std::string_view method = line.substr(0, first);
  if (last == std::string_view::npos || first >= last || method.size() > longest_method || !is_token(method)) {
    return refusal{400, "", "a request begins with METHOD SP TARGET SP HTTP/1.1"};
  }
  if (const checked wrong = check_version(line.substr(last + 1), is_http_1_0)) return wrong;
  const std::string_view target = line.substr(first + 1, last - first - 1);
  if (!std::ranges::all_of(target, is_visible)) {
    return refusal{400, "", "the target has a blank, a control character or a byte beyond ASCII: percent-encode it"};
  }
  if (target != "*" && !target.starts_with('/')) {
    return refusal{400, "", "the target must be a path: send the host in the field Host alone"};
  }
  return std::nullopt;
}

/// What the head says of its body, field by field.
struct body_fields {
  bool has_length = false;
  bool has_encoding = false;
  bool has_host = false;
  std::uint64_t length = 0;
};

checked note_field(body_fields& all, std::string_view name, std::string_view value) noexcept {
  if (equal_in_any_case(name, "host")) all.has_host = true;
  if (equal_in_any_case(name, "transfer-encoding")) {
    all.has_encoding = true;
    if (equal_in_any_case(value, "chunked")) return std::nullopt;
    return refusal{501, "transfer-encoding", "the only transfer coding here is `chunked`, and it is the only value"};
  }
  if (equal_in_any_case(name, "expect") && !equal_in_any_case(value, "100-continue")) {
    return refusal{417, "expect", "the only expectation is `100-continue`"};
  }
  const bool is_connection = equal_in_any_case(name, "connection") || equal_in_any_case(name, "proxy-connection");
  if (is_connection && !is_token_list(value)) {
    return refusal{400, "connection", "Connection must be names between commas, such as `close`"};
  }
  if (!equal_in_any_case(name, "content-length")) return std::nullopt;
  all.has_length = true;
  const bool is_number = !value.empty() && std::ranges::all_of(value, is_digit);
  if (!is_number) return refusal{400, "content-length", "Content-Length must be digits alone"};
  if (value.size() > most_length_digits) return refusal{413, "content-length", "so large a body is never taken"};
  std::from_chars(value.data(), value.data() + value.size(), all.length);
  return std::nullopt;
}

checked check_together(const body_fields& all, bool is_http_1_0) noexcept {
  if (all.has_length && all.has_encoding) {
    return refusal{400, "transfer-encoding", "Content-Length and Transfer-Encoding exclude each other"};
  }
  if (all.has_encoding && is_http_1_0) {
    return refusal{400, "transfer-encoding", "HTTP/1.0 has no Transfer-Encoding: send HTTP/1.1 or a Content-Length"};
  }
  if (!all.has_host && !is_http_1_0) return refusal{400, "host", "a request of HTTP/1.1 must have the field Host"};
  return std::nullopt;
}

}  // namespace

bool is_token(std::string_view text) noexcept { return !text.empty() && std::ranges::all_of(text, is_token_char); }

bool is_field_value(std::string_view text) noexcept {
  const auto is_control = [](char c) { return (c >= '\0' && c < ' ' && c != '\t') || c == '\x7f'; };
  // Eight bytes at once, but where they have a tabulator: most of a request's head are values.
  std::uint64_t bytes = 0;
  while (text.size() >= sizeof bytes) {
    std::memcpy(&bytes, text.data(), sizeof bytes);
    if (has_low_byte(bytes) && std::ranges::any_of(text.substr(0, sizeof bytes), is_control)) return false;
    text.remove_prefix(sizeof bytes);
  }
  return std::ranges::none_of(text, is_control);
}

bool are_same_letters(std::string_view one, std::string_view other) noexcept {
  return std::ranges::equal(one, other, {}, lower, lower);
}

std::optional<refusal> check_field_line(std::string_view line) noexcept {
  if (!line.empty() && is_blank(line.front())) {
    return refusal{400, "", "a field must not be continued on the next line (obs-fold)"};
  }
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) {
    return refusal{400, "", "a field must be `name: value`, without a blank before the colon"};
  }
  if (is_field_value(line.substr(colon + 1))) return std::nullopt;
  return refusal{400, "", "the value of a field must not have control characters"};
}

std::expected<body_framing, refusal> check_head(std::string_view head, const request_limits& limits) {
  bool is_http_1_0 = false;
  if (const checked wrong = check_request_line(take_line(head), is_http_1_0)) return std::unexpected(*wrong);
  body_fields all;
  std::array<bool, single_fields.size()> seen{};
  std::size_t count = 0;
  for (std::string_view line = take_line(head); !line.empty(); line = take_line(head)) {
    if (++count > limits.fields) return std::unexpected(refusal{431, "", "the request has too many fields"});
    if (const checked wrong = check_field_line(line)) return std::unexpected(*wrong);
    const std::string_view name = line.substr(0, line.find(':'));
    for (std::size_t i = 0; i < single_fields.size(); ++i) {
      if (!equal_in_any_case(name, single_fields[i])) continue;
      if (std::exchange(seen[i], true)) return std::unexpected(refusal{400, single_fields[i], "the field comes twice"});
    }
    if (const checked wrong = note_field(all, name, trimmed(line.substr(name.size() + 1)))) {
      return std::unexpected(*wrong);
    }
  }
  if (const checked wrong = check_together(all, is_http_1_0)) return std::unexpected(*wrong);
  return body_framing{all.has_encoding, all.length};
}

std::expected<chunk_line, refusal> parse_chunk_line(std::string_view line) noexcept {
  chunk_line read;
  const char* const begin = line.data();
  const auto [end, error] = std::from_chars(begin, begin + std::min(line.size(), most_chunk_digits), read.size, 16);
  const auto digits = static_cast<std::size_t>(end - begin);
  if (error != std::errc() || digits == 0 || line.starts_with('-')) {
    return std::unexpected(refusal{400, "", "a chunk begins with its size in 1 to 16 hexadecimal digits"});
  }
  const std::string_view rest = line.substr(digits);
  if (!rest.empty() && !trimmed(rest).starts_with(';')) {
    return std::unexpected(refusal{400, "", "behind the size of a chunk only an extension may follow"});
  }
  if (!is_field_value(rest)) return std::unexpected(refusal{400, "", "a chunk extension has a control character"});
  read.extensions = rest.size();
  return read;
}

}  // namespace foliot::program::http
