// One line of an access log, in Common or Combined Log Format, or in either with Apache's virtual host in front:
//
//   client ident user [02/Mar/2026:13:45:07 +0100] "GET / HTTP/1.1" 200 5120
//   client ident user [02/Mar/2026:13:45:07 +0100] "GET / HTTP/1.1" 200 5120 "referer" "user agent"
//   host:port client ident user [02/Mar/2026:13:45:07 +0100] "GET / HTTP/1.1" 200 5120 "referer" "user agent"
//
// The client may be a list of forwarded addresses, with a comma after each but the last (`192.0.2.7, 10.0.0.1`): the
// leftmost one is the client. A byte order mark in front of the line is skipped.
//
// Sessions need the client and the time, but the line is checked up to the size, so that a line that was cut off
// before, or is not of a log, is found. After the size a quoted field may begin; its contents, its end and the rest of
// the line are not checked, so that a line which was cut off there, by a crash or a full disk, counts. The request may
// contain quotes, escaped or not: it ends where the rest of the line has the right form. Status and size may be `-`.
// White space at the end, and a carriage return, are ignored.
//
// A user's name may contain spaces, but then the identity is `-`, and neither the name's first word nor its last is:
// a line with more fields in front of the time is of another format, in which the first field may not be the client.
// An identity is no address, and none stands behind a client with a port, for the same reason: `example.org:80 name -`
// begins with a virtual host.
//
// Thread safety: none, one thread. O(length of the line), without an allocation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string_view>

#include <foliot/core/instant.hpp>

#include "text/timestamp.hpp"

namespace foliot::program {

/// Which lines are in the format.
enum class log_format : std::uint8_t {
  any,             ///< those of each of the following, decided line by line
  common,          ///< nothing follows the size
  combined,        ///< a quoted field follows the size
  vhost_combined,  ///< a virtual host, with or without its port, and then a line of `common` or `combined`
};

/// The names of the formats, in the order of log_format.
inline constexpr std::array<std::string_view, 4> log_format_names{"any", "common", "combined", "vhost_combined"};

[[nodiscard]] constexpr std::string_view name_of(log_format format) noexcept {
  return log_format_names[static_cast<std::size_t>(format)];
}

/// The format of that name; nothing if there is none.
[[nodiscard]] std::optional<log_format> log_format_named(std::string_view name) noexcept;

/// The part of a logged request that sessions are made of.
struct log_request {
  std::string_view client;  ///< part of the line
  instant time;
};

/// Why a line is not in the format.
enum class malformed : std::uint8_t {
  empty,
  too_long,
  no_host,
  no_client,
  empty_address,
  control_character,
  no_ident,
  no_user,
  other_fields,
  no_time,
  impossible_time,
  no_request,
  no_status,
  no_quoted_field,
  after_the_size,
};

/// The reason in a few words.
[[nodiscard]] std::string_view to_text(malformed reason) noexcept;

/// Parses lines. Keeps the latest time that it has parsed, for neighbouring lines often have the same.
class log_parser {
 public:
  explicit log_parser(log_format format = log_format::any) noexcept : format_(format) {}

  [[nodiscard]] std::expected<log_request, malformed> parse(std::string_view line) noexcept;

 private:
  /// The time in brackets after the user, the index of the space before it, and that of the character that follows.
  struct found_time {
    instant time;
    std::size_t begin;
    std::size_t end;
  };
  /// The fields of a line up to its time.
  struct fields {
    std::string_view client;
    instant time;
    std::size_t end;  // of the time
  };
  /// Reads a client, `-` and a user in one word, as nearly all lines have them, quicker than read_fields(); nothing if
  /// these are not all that is in front of the request.
  [[nodiscard]] std::optional<fields> read_usual_fields(std::string_view line) noexcept;
  [[nodiscard]] std::expected<fields, malformed> read_fields(std::string_view line) noexcept;
  [[nodiscard]] std::expected<fields, malformed> read_fields_from(std::string_view line, std::size_t client) noexcept;
  [[nodiscard]] std::expected<fields, malformed> read_fields_behind_host(std::string_view line) noexcept;
  [[nodiscard]] std::expected<found_time, malformed> find_time(std::string_view line, std::size_t user) noexcept;
  [[nodiscard]] bool read_time(std::string_view text, instant& time) noexcept;

  const log_format format_;
  // last_time_ is the value of last_text_.
  char last_text_[log_time_length + 1] = "01/Jan/1970:00:00:00 +0000";
  instant last_time_;
};

}  // namespace foliot::program
