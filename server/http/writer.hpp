// Writes responses as HTTP/1.1.
//
// No value gets into a field with a CR, an LF or another control character: such a field is left out, because a client
// would read the rest of it as another field or as another response.
//
// Thread safety: pure functions.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "message.hpp"

namespace foliot::program::http {

/// What the request says of its response.
struct response_form {
  bool is_head = false;      ///< of a HEAD, which gets the length of the body and no body
  bool is_http_1_0 = false;  ///< where the connection goes on only if both sides say so
  bool closes = false;
  bool is_stream = false;  ///< the body comes in pieces: in chunks, or in HTTP/1.0 up to the end of the connection
};

/// The interim response to `Expect: 100-continue`.
inline constexpr std::string_view go_on = "HTTP/1.1 100 Continue\r\n\r\n";

/// Appends `name: value` and CR LF. Returns false, and appends nothing, if one of the two has bytes that a field must
/// not have.
bool append_field(std::string& to, std::string_view name, std::string_view value);
/// Appends the head of a response, with the empty line behind it.
void append_head(std::string& to, const response& what, const response_form& form, std::chrono::sys_seconds now);
/// Whether the body follows the head.
[[nodiscard]] bool has_body(const response& what, const response_form& form) noexcept;
/// Appends a piece of a body, as a chunk. An empty one would be the end of the body.
void append_chunk(std::string& to, std::string_view piece);
/// The end of a body of chunks.
inline constexpr std::string_view last_chunk = "0\r\n\r\n";
/// Appends a time as HTTP has it: Sun, 29 Nov 2026 05:40:00 GMT. Precondition: the year has four digits.
void append_date(std::string& to, std::chrono::sys_seconds time);

}  // namespace foliot::program::http
