// Completion in shells: the scripts for bash, zsh and fish, made from one description of all commands.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace foliot::program::completion {

/// What a value may be completed to.
enum class value_kind : std::uint8_t { none, file, folder, words };

struct value {
  value_kind kind = value_kind::none;
  std::vector<std::string> words;  ///< of the kind `words`
};

struct option {
  std::vector<std::string> names;  ///< with their hyphens: --tube
  std::string help;                ///< a line
  bool takes_value = false;
  completion::value value;
};

struct command {
  std::string name;
  std::string help;  ///< a line
  std::vector<option> options;
  completion::value arguments;  ///< those that are no options
  std::vector<command> commands;
};

/// The completion script of a shell, for the program of this description.
[[nodiscard]] std::string bash_script(const command& program);
[[nodiscard]] std::string zsh_script(const command& program);
[[nodiscard]] std::string fish_script(const command& program);

}  // namespace foliot::program::completion
