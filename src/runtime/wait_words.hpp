// The words for what a task waits for: in a sentence, and back from its name.
//
// Thread safety: pure functions.
#pragma once

#include <string_view>

#include <foliot/runtime/wait_kind.hpp>

namespace foliot::runtime::detail {

/// To follow "waiting" or "waits", with a space before it: " to receive", " for a mutex". Empty for wait_kind::other.
[[nodiscard]] std::string_view wait_phrase(wait_kind kind) noexcept;

/// The kind with that name; `other` for a name that no kind has, such as one of a later version.
[[nodiscard]] wait_kind wait_kind_named(std::string_view name) noexcept;

}  // namespace foliot::runtime::detail
