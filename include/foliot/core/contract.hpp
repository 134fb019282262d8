// Assertions for programmer errors, and the result of an invariant check.
//
// FOLIOT_ASSERT(condition, "what must hold") prints the location and the sentence and aborts if the condition is false,
// where the macro FOLIOT_ASSERTIONS is 1; elsewhere the condition is not evaluated. Operating errors (no memory, no
// thread, bad input) are never asserted: they are returned or thrown, and documented at the function.
//
// Each source file may be compiled with FOLIOT_ASSERTIONS or without it, independently of the library and of the other
// files, because no layout and no state depends on it (as _GLIBCXX_ASSERTIONS in libstdc++). An application that
// compiles with -DFOLIOT_ASSERTIONS=1 checks its calls into inline code of the headers (a null handle, a node that is
// started twice). The checks in the library's compiled code, those of locks among them, are switched on when the
// library is built (the CMake option FOLIOT_ASSERTIONS). NDEBUG has no effect.
#pragma once

#include <foliot/core/language.hpp>

#include <expected>
#include <string>

#include <foliot/core/export.h>

namespace foliot::detail {
/// Prints the location, the sentence and the condition to standard error and aborts. Any thread.
[[noreturn]] FOLIOT_EXPORT void contract_broken(const char* condition, const char* sentence, const char* file,
                                                int line) noexcept;
}  // namespace foliot::detail

namespace foliot::inline core {

/// The result of a structure's `check()`: success, or a description of the first invariant that does not hold.
using check_result = std::expected<void, std::string>;

}  // namespace foliot::inline core

#if !defined(FOLIOT_ASSERTIONS)
#define FOLIOT_ASSERTIONS 0
#endif

#if FOLIOT_ASSERTIONS
#define FOLIOT_ASSERT(condition, sentence)             \
  (static_cast<bool>(condition) ? static_cast<void>(0) \
                                : ::foliot::detail::contract_broken(#condition, sentence, __FILE__, __LINE__))
#else
#define FOLIOT_ASSERT(condition, sentence) static_cast<void>(0)
#endif
