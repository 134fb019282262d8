// One line of an access log, in Common or Combined Log Format:
//
//   client ident user [02/Mar/2026:13:45:07 +0100] "GET / HTTP/1.1" 200 5120
//   client ident user [02/Mar/2026:13:45:07 +0100] "GET / HTTP/1.1" 200 5120 "referer" "user agent"
//
// What is wanted of it is who and when; but all of it up to the size is checked, so that a line that is cut
// off before, or comes from something else, is noticed. Behind the size a quoted field may begin: what it
// holds, whether it ends, and what comes behind it does not matter. So a line that was cut off there, as by
// a crash or a full disk, counts. A user may have spaces in its name. Quotes inside the request, escaped or
// not, are no harm: it ends where the rest of the line makes sense. Status and size may be `-`. White space at
// the end, and a carriage return, do not count.
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

/// Reads lines. It remembers the last time it has read, as neighbours in a log often share theirs.
class log_parser {
 public:
  [[nodiscard]] std::expected<log_request, malformed> parse(std::string_view line) noexcept;

 private:
  /// The time in brackets that comes after the user, and where in the line what follows it begins.
  struct found_time {
    instant time;
    std::size_t end;
  };
  [[nodiscard]] std::expected<found_time, malformed> find_time(std::string_view line, std::size_t user) noexcept;
  [[nodiscard]] bool read_time(std::string_view text, instant& time) noexcept;

  // Always a pair that belongs together.
  char last_text_[log_time_length + 1] = "01/Jan/1970:00:00:00 +0000";
  instant last_time_;
};

}  // namespace foliot::program
