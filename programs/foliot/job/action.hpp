// Changes of many jobs at once, by a filter: an action of the server (docs/serve/actions.md), which counts first. The
// user sees the exact number and is asked, unless the line says that it is sure.
//
// Ctrl-C while the server counts, or at the question, changes nothing. While the action runs it is stopped: what is
// done stays done, and the numbers are shown.
//
// Thread safety: none, one thread.
#pragma once

#include "job/api_client.hpp"
#include "job/job_line.hpp"

namespace foliot::program::terminal {

/// Throws failure: also if no job fits, if the user says no, and if some jobs could not be changed.
void change_many(const job_line& line, api_client& server);

}  // namespace foliot::program::terminal
