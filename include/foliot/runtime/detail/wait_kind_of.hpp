// What a wait is for, as far as an awaiter or an operation says so (wait_kind.hpp).
//
// Thread safety: a pure function.
#pragma once

#include <foliot/runtime/wait_kind.hpp>

namespace foliot::runtime::detail {

/// What a wait of `one` is for, an awaiter or an operation.
template <class Waits>
[[nodiscard]] constexpr wait_kind wait_kind_of(const Waits& one) noexcept {
  if constexpr (requires { one.kind(); }) {
    return one.kind();
  } else {
    return wait_kind::other;
  }
}

}  // namespace foliot::runtime::detail
