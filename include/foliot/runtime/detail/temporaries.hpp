// Which temporaries the compiler destroys twice beside a co_await. g++ 12 does so with aggregates: it copies them, byte
// by byte, into the frame of the coroutine, and destroys the copy and the original (docs/runtime/README.md has the
// forms; tests/style/coroutine_forms.cpp shows them).
#pragma once

#include <foliot/core/language.hpp>

#include <type_traits>

namespace foliot::runtime::detail {

/// Whether a temporary T in a co_await expression is destroyed twice, if it is made of its parts there.
template <class T>
inline constexpr bool destroyed_twice =
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 13
    std::is_aggregate_v<T> && !std::is_trivially_destructible_v<T>;
#else
    false;
#endif

}  // namespace foliot::runtime::detail
