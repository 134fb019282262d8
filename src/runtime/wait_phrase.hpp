// What a task waits for, in a sentence: "waiting" and "waits" stand before it.
//
// Thread safety: a pure function.
#pragma once

#include <string_view>

#include <foliot/runtime/wait_kind.hpp>

namespace foliot::runtime::detail {

/// With a space before it: " to receive", " for a mutex". Empty for wait_kind::other.
[[nodiscard]] std::string_view wait_phrase(wait_kind kind) noexcept;

}  // namespace foliot::runtime::detail
