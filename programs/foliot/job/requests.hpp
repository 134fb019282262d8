// The requests of the commands about jobs: which path, query and body the interface gets.
//
// Thread safety: pure functions, but for those that read a file.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "job/api_client.hpp"
#include "job/job_line.hpp"

namespace foliot::program::terminal {

/// How the command line names a job: by its id, or by its tube and its key. Throws failure if it names none.
[[nodiscard]] names_and_values name_of_job(const job_line& line);

/// The request about the one job of the line, at this path behind /v1/job.
[[nodiscard]] api_request about_job(const job_line& line, std::string method, std::string_view path = "");
/// A put, with the bytes of its body: from the line, from a file, or from standard input.
[[nodiscard]] api_request put_request(const job_line& line);
/// A due time as the line has it, as members of a query. Throws failure if it has both or, if one is needed, none.
[[nodiscard]] names_and_values due_of(const job_line& line, bool is_needed);
/// The members of a query about which jobs, of those that lists know.
[[nodiscard]] names_and_values listed_by(const job_filter& which);

}  // namespace foliot::program::terminal
