// One sentence to the user, on standard error.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "printable.hpp"

namespace foliot::program {

/// Prints a message to standard error. Control characters in it are escaped: names and answers of strangers cannot move
/// the cursor or end the line. A standard error that is closed or full is ignored.
inline void report(std::string_view sentence) {
  constexpr std::string_view name = "foliot: ";
  if (sentence.starts_with(name)) sentence.remove_prefix(name.size());  // the library's own exceptions
  std::string line(name);
  line += printable(sentence);
  line += '\n';
  static_cast<void>(std::fwrite(line.data(), 1, line.size(), stderr));
}

}  // namespace foliot::program
