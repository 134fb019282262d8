// The command line of `foliot bench serve`.
#pragma once

#include "commands.hpp"

namespace foliot::program {

/// Adds it to that of `foliot bench`, and returns it.
CLI::App* add_serve_bench(CLI::App& bench_line, command& chosen);

}  // namespace foliot::program
