// Why the program ends early: one sentence for the user, and the exit code that goes with it.
//
// The sentence says what is wrong and what would be right. It has no full stop, and no name of the program: `main` puts
// that in front.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

namespace foliot::program {

enum class exit_code : int {
  success = 0,
  bad_input = 1,  ///< the input was read, and broke a rule that was asked for, or the engines disagree about it
  error = 2,      ///< anything else: a wrong argument, a file that cannot be read or written
};

class failure : public std::runtime_error {
 public:
  explicit failure(const std::string& sentence, exit_code code = exit_code::error)
      : std::runtime_error(sentence), code_(code) {}

  [[nodiscard]] exit_code code() const noexcept { return code_; }

 private:
  exit_code code_;
};

/// "cannot read 'access.log': No such file or directory", from the value of errno.
[[nodiscard]] inline failure system_failure(std::string_view verb, std::string_view name, int error_number) {
  return failure(fmt::format("cannot {} '{}': {}", verb, name, std::generic_category().message(error_number)));
}

}  // namespace foliot::program
