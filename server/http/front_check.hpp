// Refuses requests that two programs may read in two ways, before the library parses them. Behind a proxy such a
// request is how one client smuggles another request past it.
//
// Boost.Beast 1.74 takes `chunked` in HTTP/1.0, a Transfer-Encoding in front of a Content-Length, and an encoding that
// does not end in `chunked` as a request without a body. So what may pass is stated here, and it is less than RFC 9112
// allows: a Content-Length of digits, once; or a Transfer-Encoding that is `chunked`, once, in HTTP/1.1; not both. No
// line is continued on the next one (obs-fold), no CR or LF stands alone, no blank stands before a colon, and a field
// that has one value comes once.
//
// Thread safety: pure functions. O(length).
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string_view>

#include "message.hpp"

namespace foliot::program::http {

/// Where the body of a request ends.
struct body_framing {
  bool is_chunked = false;
  std::uint64_t length = 0;  ///< unless it is chunked

  friend bool operator==(const body_framing&, const body_framing&) noexcept = default;
};

/// Whether the text is a token of RFC 9110, such as a method or the name of a field.
[[nodiscard]] bool is_token(std::string_view text) noexcept;
/// Whether the text may be the value of a field: no control character but the tabulator.
[[nodiscard]] bool is_field_value(std::string_view text) noexcept;
/// The same of two texts with one length.
[[nodiscard]] bool are_same_letters(std::string_view one, std::string_view other) noexcept;
/// Whether they are equal but for the case of ASCII letters. Most names that are compared have other lengths.
[[nodiscard]] inline bool equal_in_any_case(std::string_view one, std::string_view other) noexcept {
  return one.size() == other.size() && are_same_letters(one, other);
}

/// Checks a head, from its request line to the CR LF of the empty line at its end. Precondition: each CR in it is
/// followed by LF, and each LF preceded by CR.
[[nodiscard]] std::expected<body_framing, refusal> check_head(std::string_view head, const request_limits& limits);
/// Checks a line `name: value`, without its CR LF; nothing if it is right.
[[nodiscard]] std::optional<refusal> check_field_line(std::string_view line) noexcept;

/// The line in front of a chunk.
struct chunk_line {
  std::uint64_t size = 0;
  std::size_t extensions = 0;  ///< bytes of them, which are dropped
};
/// Reads such a line, without its CR LF.
[[nodiscard]] std::expected<chunk_line, refusal> parse_chunk_line(std::string_view line) noexcept;

}  // namespace foliot::program::http
