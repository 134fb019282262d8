// The command line of `foliot bench`.
#pragma once

#include "commands.hpp"

namespace foliot::program {

/// Adds it to that of the program foliot-bench, which is all of it.
void fill_bench(CLI::App& program, command& chosen);

}  // namespace foliot::program
