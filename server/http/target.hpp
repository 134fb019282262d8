// The target of a request: its path in segments, and the parameters of its query, both percent-decoded.
//
//   /v1/tubes/mail/jobs/order%2F17?delay=5s     path {v1, tubes, mail, jobs, order/17}, query {delay: 5s}
//
// The path is split before it is decoded, so `%2F` is part of a name. Nothing is normalised: a segment `.` or `..`,
// encoded or not, is refused, because a proxy in front may have another idea of it. Names with such parts, and names
// that a proxy changes, can travel in the query or in the body.
//
// In the query `+` is a blank, as forms have it.
//
// Thread safety: pure functions. O(length).
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "problem.hpp"

namespace foliot::program::http {

struct parameter {
  std::string name;
  std::string value;

  friend bool operator==(const parameter&, const parameter&) = default;
};

struct target {
  std::vector<std::string> path;
  std::vector<parameter> query;  ///< in the order in which they came, each name once

  friend bool operator==(const target&, const target&) = default;
};

/// The target, or what is wrong with the text. It begins with `/`, or is `*`, which has no path.
[[nodiscard]] std::expected<target, problem> parse_target(std::string_view text);
/// The text with its %XX as bytes; nothing if one is malformed, or is the byte 0.
[[nodiscard]] std::optional<std::string> percent_decoded(std::string_view text, bool plus_is_blank = false);

}  // namespace foliot::program::http
