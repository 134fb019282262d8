// A place in the program's source, as reports name it.
//
// Thread safety: a pure function.
#pragma once

#include <cstddef>
#include <source_location>
#include <string>
#include <string_view>

namespace foliot::detail {

/// Whether a folder has the name of a compiler's version: digits and dots.
inline bool is_version(std::string_view name) noexcept {
  return !name.empty() && name.find_first_not_of("0123456789.") == std::string_view::npos;
}

/// Takes the last name off a path.
inline std::string_view take_last_name(std::string_view& path) noexcept {
  const std::size_t slash = path.rfind('/');
  const std::string_view name = path.substr(slash + 1);
  path = path.substr(0, slash == std::string_view::npos ? 0 : slash);
  return name;
}

/// Whether the file is a header of the C++ standard library, which calls constructors on behalf of its users, as
/// std::map::try_emplace does: their line is not known. These headers are below include/c++/12/ for libstdc++, and
/// include/c++/v1/ for libc++; below include/g++-v12/ on Gentoo; or below gcc/TARGET/12.3.0/include/c++/, where a
/// compiler has its own, as that of conda. A folder include/c++ of a user's has no number there.
inline bool is_in_standard_library(std::string_view file) noexcept {
  constexpr std::string_view folder = "/include/c++/", gentoo = "/include/g++-v";
  if (const std::size_t at = file.rfind(gentoo); at != std::string_view::npos) {
    const std::string_view below = file.substr(at + gentoo.size());
    const std::size_t slash = below.find('/');
    if (slash != std::string_view::npos && is_version(below.substr(0, slash))) return true;
  }
  const std::size_t at = file.rfind(folder);
  if (at == std::string_view::npos) return false;
  std::string_view below = file.substr(at + folder.size());
  if (below.starts_with('v')) below.remove_prefix(1);
  if (const std::size_t slash = below.find('/');
      slash != std::string_view::npos && is_version(below.substr(0, slash))) {
    return true;
  }
  std::string_view above = file.substr(0, at);
  const bool has_version = is_version(take_last_name(above));
  take_last_name(above);  // the target
  return has_version && take_last_name(above) == "gcc";
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
