// `foliot job` with --data: looks into the folder of a stopped server, which stays as it is.
//
// Thread safety: none, one thread.
#pragma once

#include "job/job_line.hpp"

namespace foliot::program::terminal {

/// Does what the line asks for: get, list, tubes or why. Throws failure: also where a server runs on the folder.
void look_into_folder(const job_line& line);

}  // namespace foliot::program::terminal
