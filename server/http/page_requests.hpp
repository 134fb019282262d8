// The requests for the page that people look at, and for its files (server/page).
//
// Each function answers one call, which must outlive the task, or throws wrong_input.
//
// Thread safety: as a conversation, one task.
#pragma once

#include <foliot/runtime/task.hpp>

#include "call.hpp"
#include "message.hpp"

namespace foliot::program::http {

/// `/`
[[nodiscard]] task<response> show_page(call& by);
/// `/page/FILE`
[[nodiscard]] task<response> show_page_file(call& by);

}  // namespace foliot::program::http
