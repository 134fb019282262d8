// The command line of `foliot top`.
#pragma once

#include <CLI/CLI.hpp>

#include "../command.hpp"

namespace foliot::program {

/// Adds it to the program's; `chosen` becomes the run if that is what the user asks for.
void add_top(CLI::App& program, command& chosen);

}  // namespace foliot::program
