// Jobs, tubes, events and reasons to wait as text for people, from what the interface answers in JSON. Nothing of it is
// believed: a member that is missing, or is of another kind, is shown as missing, and no text reaches the terminal as
// it is.
//
// Thread safety: pure functions, but for the one that writes.
#pragma once

#include <string>
#include <string_view>

#include <foliot/jobs/job.hpp>
#include <nlohmann/json.hpp>

#include "job/job_line.hpp"
#include "job/text_table.hpp"

namespace foliot::program::terminal {

/// How times are shown.
struct time_style {
  jobs::utc_time now;
  bool is_exact = false;  ///< RFC 3339 instead of words
};

/// One job with all that is known, and the begin of its body.
[[nodiscard]] std::string job_text(const nlohmann::ordered_json& job, const time_style& style);
/// Why a job waits, in a sentence.
[[nodiscard]] std::string why_text(const nlohmann::ordered_json& why, const time_style& style);

/// The table of a list of jobs, and its rows.
[[nodiscard]] text_table jobs_table();
void add_job(text_table& to, const nlohmann::ordered_json& job, const time_style& style);
/// The same of what is due next.
[[nodiscard]] text_table due_table();
void add_due(text_table& to, const nlohmann::ordered_json& job, const time_style& style);
/// The same of tubes.
[[nodiscard]] text_table tubes_table();
void add_tube(text_table& to, const nlohmann::ordered_json& tube, const time_style& style);

/// A line of JSON, as an answer has it. Characters that are not ASCII are escaped, so that a terminal obeys none.
[[nodiscard]] std::string json_line(const nlohmann::ordered_json& value);

/// The bytes of the body of a job in JSON: its text, the bytes that its base64 means, or its JSON on one line. Throws
/// failure if it has none of them.
[[nodiscard]] std::string body_of(const nlohmann::ordered_json& job);

/// An event as a line for people, or as JSON.
[[nodiscard]] std::string event_text(std::string_view name, std::string_view id, const std::string& data, bool as_json);

/// Writes a job to standard output, as the line wants it: for people, as JSON, or its body alone, which goes to a
/// terminal only if the line allows that. Throws failure.
void show_job(const job_line& line, const nlohmann::ordered_json& job, jobs::utc_time now);

}  // namespace foliot::program::terminal
