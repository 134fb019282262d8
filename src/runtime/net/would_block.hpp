// Whether a call of the socket seam has done nothing, because it would have blocked. Thread safety: a pure function.
#pragma once

#include <system_error>

#include <foliot/runtime/net/io_error.hpp>

namespace foliot::runtime::detail {

template <class Value>
[[nodiscard]] bool would_block(const or_error<Value>& result) noexcept {
  return !result && result.error() == std::errc::operation_would_block;
}

}  // namespace foliot::runtime::detail
