// One line of an access log, in Common or Combined Log Format:
//
//   client ident user [02/Mar/2026:13:45:07 +0100] "GET / HTTP/1.1" 200 5120
//   client ident user [02/Mar/2026:13:45:07 +0100] "GET / HTTP/1.1" 200 5120 "referer" "user agent"
//
// Sessions need the client and the time, but the line is checked up to the size, so that a line that was cut off
// before, or is not of a log, is found. After the size a quoted field may begin; its contents, its end and the rest of
// the line are not checked, so that a line which was cut off there, by a crash or a full disk, counts. A user's name
// may contain spaces. The request may contain quotes, escaped or not: it ends where the rest of the line has the right
// form. Status and size may be `-`. White space at the end, and a carriage return, are ignored.
//
// Thread safety: none, one thread. O(length of the line), without an allocation.
#pragma once

#include <cstdint>
#include <expected>
#include <string_view>

#include <foliot/core/instant.hpp>

#include "../timestamp.hpp"

namespace foliot::program {

/// The part of a logged request that sessions are made of.
struct log_request {
  std::string_view client;  ///< part of the line
  instant time;
};

/// Why a line is not in the format.
enum class malformed : std::uint8_t {
  empty,
  too_long,
  no_client,
  control_character,
  no_ident,
  no_user,
  no_time,
  impossible_time,
  no_request,
  no_status,
  no_quoted_field,
};

/// The reason in a few words.
[[nodiscard]] std::string_view to_text(malformed reason) noexcept;

/// Parses lines. Keeps the latest time that it has parsed, for neighbouring lines often have the same.
class log_parser {
 public:
  [[nodiscard]] std::expected<log_request, malformed> parse(std::string_view line) noexcept;

 private:
  /// The time in brackets after the user, and the index of the character that follows it.
  struct found_time {
    instant time;
    std::size_t end;
  };
  [[nodiscard]] std::expected<found_time, malformed> find_time(std::string_view line, std::size_t user) noexcept;
  [[nodiscard]] bool read_time(std::string_view text, instant& time) noexcept;

  // last_time_ is the value of last_text_.
  char last_text_[log_time_length + 1] = "01/Jan/1970:00:00:00 +0000";
  instant last_time_;
};

}  // namespace foliot::program
