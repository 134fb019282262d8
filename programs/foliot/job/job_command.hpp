// The command line of `foliot job`. Both programs are built with it: foliot-job executes it, and foliot needs it for
// the completion of shells.
#pragma once

#include <functional>

#include <CLI/CLI.hpp>

#include "commands.hpp"
#include "job/job_line.hpp"

namespace foliot::program {

inline constexpr const char* purpose_of_job = "Put, look at and change jobs of a server, from a terminal";

/// Adds all commands to `line`. `run` does what the user asks for.
void fill_job(CLI::App& line, command& chosen, const std::function<void(const terminal::job_line&)>& run);

}  // namespace foliot::program
