// One sentence to the user, on standard error.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "text/printable.hpp"
#include "text/secrets.hpp"

namespace foliot::program {

/// Prints a message to standard error. Control characters in it are escaped, so that names and answers from outside
/// cannot move the cursor or end the line; the secrets of access tokens are left out. Errors of standard error are
/// ignored.
inline void report(std::string_view sentence) {
  constexpr std::string_view name = "foliot: ";
  if (sentence.starts_with(name)) sentence.remove_prefix(name.size());  // exceptions of the library begin with it
  std::string line(name);
  line += printable(without_secrets(sentence));
  line += '\n';
  static_cast<void>(std::fwrite(line.data(), 1, line.size(), stderr));
}

}  // namespace foliot::program
