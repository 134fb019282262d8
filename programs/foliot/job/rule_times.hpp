// `foliot job next`: what a rule of recurrence means, and its times, without a server.
//
// Thread safety: none, one thread.
#pragma once

#include "job/job_line.hpp"

namespace foliot::program::terminal {

/// Writes the times to standard output. Throws failure: with the exit code 1 if there are none.
void show_rule_times(const job_line& line);

}  // namespace foliot::program::terminal
