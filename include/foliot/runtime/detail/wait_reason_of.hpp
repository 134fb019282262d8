// What a wait is for, as far as an awaiter or an operation says so (wait_kind.hpp).
//
// Thread safety: pure functions.
#pragma once

#include <foliot/runtime/wait_kind.hpp>

namespace foliot::runtime::detail {

/// The kind of a wait of `one`, an awaiter or an operation.
template <class Waits>
[[nodiscard]] constexpr wait_kind wait_kind_of(const Waits& one) noexcept {
  if constexpr (requires { one.kind(); }) {
    return one.kind();
  } else {
    return wait_kind::other;
  }
}
/// The same with the kinds of the cases, if it has some.
template <class Waits>
[[nodiscard]] constexpr wait_reason wait_reason_of(const Waits& one) noexcept {
  if constexpr (requires { one.cases(); }) {
    return {wait_kind_of(one), one.cases()};
  } else {
    return wait_kind_of(one);
  }
}

}  // namespace foliot::runtime::detail
