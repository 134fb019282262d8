// The description of the interface in OpenAPI 3.1, for tools and generators of clients: openapi.json, which has each
// row of the table of routes.
//
// Thread safety: any task.
#pragma once

#include <string_view>

#include <foliot/runtime/task.hpp>

#include "call.hpp"
#include "message.hpp"

namespace foliot::program::http {

/// The document.
[[nodiscard]] std::string_view openapi_text() noexcept;
/// Answers a request for it. The call must outlive the task. Throws wrong_input.
[[nodiscard]] task<response> show_openapi(call& by);

}  // namespace foliot::program::http
