// `foliot replay`: finds the sessions in access logs.
#pragma once

#include "replay_options.hpp"

namespace foliot::program {

/// Reads the logs, writes the files and prints the summary to standard output, or to standard error if
/// a file goes to standard output. Throws failure; then no file is written, but where engines disagree:
/// then all has been written, and says so.
void replay(const replay_options& options);

}  // namespace foliot::program
