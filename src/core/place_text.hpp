// A place in the program's source, as reports name it.
//
// Thread safety: a pure function.
#pragma once

#include <source_location>
#include <string>
#include <string_view>

namespace foliot::detail {

/// The file, without its folder, and the line: "server.cpp:31". Empty for no place.
inline std::string place_text(const std::source_location& where) {
  const std::string_view file = where.file_name();
  if (file.empty()) return {};
  return std::string(file.substr(file.rfind('/') + 1)) + ":" + std::to_string(where.line());
}

}  // namespace foliot::detail
