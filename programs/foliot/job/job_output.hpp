// What the commands about jobs write to standard output, wherever the jobs come from.
//
// Thread safety: none, one thread.
#pragma once

#include <foliot/jobs/job.hpp>
#include <nlohmann/json.hpp>

#include "job/job_line.hpp"

namespace foliot::program::terminal {

/// Shows a job as the line wants it: for people, as JSON, or its body alone, which goes to a terminal only if the line
/// allows that. Throws failure.
void show_job(const job_line& line, const nlohmann::ordered_json& job, jobs::utc_time now);

}  // namespace foliot::program::terminal
