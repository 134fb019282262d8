// A place in the program's source, as reports name it.
//
// Thread safety: a pure function.
#pragma once

#include <cstddef>
#include <source_location>
#include <string>
#include <string_view>

namespace foliot::detail {

/// Whether the file is a header of the C++ standard library, which calls constructors on behalf of its users, as
/// std::map::try_emplace does: their line is not known. These headers are below /include/c++/12/ for libstdc++, and
/// /include/c++/v1/ for libc++: a folder include/c++ of a user's has no number below it.
inline bool is_in_standard_library(std::string_view file) noexcept {
  constexpr std::string_view folder = "/include/c++/";
  const std::size_t at = file.rfind(folder);
  if (at == std::string_view::npos) return false;
  file.remove_prefix(at + folder.size());
  if (file.starts_with('v')) file.remove_prefix(1);
  const std::size_t number = file.find_first_not_of("0123456789.");
  return number != std::string_view::npos && number != 0 && file[number] == '/';
}
inline bool is_in_standard_library(const std::source_location& where) noexcept {
  return is_in_standard_library(std::string_view(where.file_name()));
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
