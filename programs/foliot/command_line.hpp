// What the command lines of foliot's programs have in common: how they are read, the messages for what is wrong with
// them, and the exit codes.
#pragma once

#include <functional>
#include <string>

#include <CLI/CLI.hpp>

#include "commands.hpp"

namespace foliot::program {

/// The command line of a program.
struct command_line {
  std::string name;             ///< what users call it
  std::string purpose;          ///< a line of its help
  std::string no_command = {};  ///< the sentence for those who name no command
  /// What it was built with, a line for each thing, for `--version --verbose`; null: it has no `--version`.
  std::string (*built_with)() = nullptr;
  /// Adds what it takes, and sets `chosen` when the user asks for something.
  std::function<void(CLI::App& line, command& chosen)> fill;
};

/// Reads the arguments and does what they ask for. Failures are reported to standard error. Returns the exit code of
/// the program. Standard descriptors that are closed are opened first.
int run_program(const command_line& what, int argc, char** argv);

}  // namespace foliot::program
