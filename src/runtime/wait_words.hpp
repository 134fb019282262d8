// The words for what a task waits for: in a sentence, and back from its name.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>

#include <foliot/runtime/wait_kind.hpp>

namespace foliot::runtime::detail {

/// To follow "waiting" or "waits", with a space before it: " to receive", " in a select (receive, timer)". Empty for
/// wait_kind::other. Throws std::bad_alloc.
[[nodiscard]] std::string wait_phrase(const wait_reason& reason);

/// Back from to_string(). A name that no kind has, such as one of a later version, gives `other`.
[[nodiscard]] wait_reason wait_reason_in(std::string_view text) noexcept;

}  // namespace foliot::runtime::detail
