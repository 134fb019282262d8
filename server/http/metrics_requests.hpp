// The request of Prometheus. It needs the scope `look`. Who may look at some tubes only gets what these have, and
// nothing of the server.
//
// A page costs the same whatever is stored: see tube_survey.hpp. While the store does not answer, the page has what the
// server itself knows.
//
// Thread safety: as a conversation, one task.
#pragma once

#include <foliot/runtime/task.hpp>

#include "call.hpp"
#include "message.hpp"

namespace foliot::program::http {

/// A page of metrics in Prometheus' text format.
[[nodiscard]] task<response> show_metrics(call& by);

}  // namespace foliot::program::http
