// Lists of entity tags (RFC 9110), as `If-Match` has them.
//
//   std::string_view left = value;
//   do {
//     const auto tag = take_tag(left);   // nothing: the list is malformed
//   } while (!left.empty());
//
// Thread safety: pure functions. O(length).
#pragma once

#include <optional>
#include <string_view>

namespace foliot::program::http {

inline constexpr const char* if_match = "if-match";
inline constexpr const char* if_none_match = "if-none-match";

struct entity_tag {
  std::string_view text;  ///< without its quotes
  bool is_weak = false;
};

/// Takes a tag and the comma behind it off a list; nothing if the list is malformed.
[[nodiscard]] std::optional<entity_tag> take_tag(std::string_view& from) noexcept;

}  // namespace foliot::program::http
