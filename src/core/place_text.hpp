// A place in the program's source, as reports name it.
//
// Thread safety: a pure function.
#pragma once

#include <source_location>
#include <string>
#include <string_view>

namespace foliot::detail {

/// Whether the place is in a header of the C++ standard library, which calls constructors on behalf of its users, as
/// std::map::try_emplace does: their line is not known.
inline bool is_in_standard_library(const std::source_location& where) noexcept {
  return std::string_view(where.file_name()).contains("/include/c++/");
}

/// The file, without its folder, and the line: "server.cpp:31"; "unknown, by tuple:1818" for one of the standard
/// library. Empty for no place.
inline std::string place_text(const std::source_location& where) {
  const std::string_view file = where.file_name();
  if (file.empty()) return {};
  const std::string in = is_in_standard_library(where) ? "unknown, by " : "";
  return in + std::string(file.substr(file.rfind('/') + 1)) + ":" + std::to_string(where.line());
}

}  // namespace foliot::detail
