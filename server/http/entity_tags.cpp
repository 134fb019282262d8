#include "entity_tags.hpp"

#include <algorithm>
#include <cstddef>

namespace foliot::program::http {

std::optional<entity_tag> take_tag(std::string_view& from) noexcept {
  const auto skip_blanks = [&from] { from.remove_prefix(std::min(from.find_first_not_of(" \t"), from.size())); };
  entity_tag tag;
  tag.is_weak = from.starts_with("W/");
  if (tag.is_weak) from.remove_prefix(2);
  if (!from.starts_with('"')) return std::nullopt;
  from.remove_prefix(1);
  const std::size_t end = from.find('"');
  if (end == std::string_view::npos) return std::nullopt;
  tag.text = from.substr(0, end);
  if (tag.text.find_first_of(" \t") != std::string_view::npos) return std::nullopt;
  from.remove_prefix(end + 1);
  skip_blanks();
  if (from.empty()) return tag;
  if (!from.starts_with(',')) return std::nullopt;
  from.remove_prefix(1);
  skip_blanks();
  return from.empty() ? std::nullopt : std::optional(tag);
}

}  // namespace foliot::program::http
