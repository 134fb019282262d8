// What a caller owes, and what an object owes itself: checks for programmer errors.
//
// FOLIOT_ASSERT(condition, "what should have held") stops a debug or sanitizer build with the place
// and the sentence; a release build (NDEBUG) does not evaluate the condition. Operating errors (no
// memory, no thread, bad input) are never asserted: they are returned or thrown, and documented at
// the function.
#pragma once

#include <expected>
#include <string>

namespace foliot::detail {
/// Prints the broken contract to standard error and aborts.
[[noreturn]] void contract_broken(const char* condition, const char* sentence, const char* file, int line) noexcept;
}  // namespace foliot::detail

namespace foliot::inline core {

/// The answer of every structure's `check()`: nothing, or the first invariant that does not hold.
using check_result = std::expected<void, std::string>;

}  // namespace foliot::inline core

#ifdef NDEBUG
#define FOLIOT_ASSERT(condition, sentence) static_cast<void>(0)
#else
#define FOLIOT_ASSERT(condition, sentence)             \
  (static_cast<bool>(condition) ? static_cast<void>(0) \
                                : ::foliot::detail::contract_broken(#condition, sentence, __FILE__, __LINE__))
#endif
