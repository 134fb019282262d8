// One sentence to the user, on standard error.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "printable.hpp"

namespace foliot::program {

/// What is in it of names and answers cannot move the cursor or end the line. Where standard error is closed or full,
/// there is nobody to tell, and the program goes on.
inline void report(std::string_view sentence) {
  constexpr std::string_view name = "foliot: ";
  if (sentence.starts_with(name)) sentence.remove_prefix(name.size());  // the library's own exceptions
  std::string line(name);
  line += printable(sentence);
  line += '\n';
  static_cast<void>(std::fwrite(line.data(), 1, line.size(), stderr));
}

}  // namespace foliot::program
