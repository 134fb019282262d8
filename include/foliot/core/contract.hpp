// What a caller owes, and what an object owes itself: checks for programmer errors.
//
// FOLIOT_ASSERT(condition, "what should have held") stops the program with the place and the sentence, where the macro
// FOLIOT_ASSERTIONS is 1; elsewhere the condition is not evaluated. Operating errors (no memory, no thread, bad input)
// are never asserted: they are returned or thrown, and documented at the function.
//
// FOLIOT_ASSERTIONS is to foliot what _GLIBCXX_ASSERTIONS is to libstdc++: each source file may be compiled with it or
// without it, whatever the library and the other files were compiled with, because no layout and no state depends on
// it. An application that compiles with -DFOLIOT_ASSERTIONS=1 checks the calls that it makes into inline code of the
// headers (a null handle, a node that is started twice); what the library's own code checks, locks among it, was
// decided when the library was built (the CMake option FOLIOT_ASSERTIONS). NDEBUG decides nothing.
#pragma once

#include <foliot/core/language.hpp>

#include <expected>
#include <string>

#include <foliot/core/export.h>

namespace foliot::detail {
/// Prints the broken contract to standard error and aborts.
[[noreturn]] FOLIOT_EXPORT void contract_broken(const char* condition, const char* sentence, const char* file,
                                                int line) noexcept;
}  // namespace foliot::detail

namespace foliot::inline core {

/// The answer of every structure's `check()`: nothing, or the first invariant that does not hold.
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
