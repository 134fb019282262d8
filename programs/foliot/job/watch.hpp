// `foliot job watch`: what happens to jobs, from the stream of events of a server (docs/serve/events.md). When the
// stream ends, it is opened again, behind the last event that was seen; what was left out is told.
//
// Thread safety: none, one thread.
#pragma once

#include "job/api_client.hpp"
#include "job/job_line.hpp"

namespace foliot::program::terminal {

/// Writes events until the line's count of them has come, or without end. Throws failure if there is no server at the
/// begin, or if the server refuses.
void watch_events(const job_line& line, api_client& server);

/// An event as a line for people, or as JSON.
[[nodiscard]] std::string event_text(std::string_view name, std::string_view id, const std::string& data, bool as_json);

}  // namespace foliot::program::terminal
