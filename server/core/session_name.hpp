// The names by which a database knows the sessions of a node: the first one has the name of the node, and each further
// one its number besides.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace foliot::program {

/// The name of a session, counted from 0.
[[nodiscard]] inline std::string session_name(std::string_view node, std::size_t index) {
  return index == 0 ? std::string(node) : fmt::format("{} (session {})", node, index + 1);
}

/// The name of the node of a session with this name.
[[nodiscard]] inline std::string_view node_of_session(std::string_view name) noexcept {
  constexpr std::string_view begin = " (session ";
  const std::size_t place = name.rfind(begin);
  if (place == std::string_view::npos || !name.ends_with(')')) return name;
  const std::string_view number = name.substr(place + begin.size(), name.size() - place - begin.size() - 1);
  const bool is_number = !number.empty() && number.find_first_not_of("0123456789") == std::string_view::npos;
  return is_number ? name.substr(0, place) : name;
}

}  // namespace foliot::program
