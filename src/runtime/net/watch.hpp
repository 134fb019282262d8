// A descriptor comes to the poller of the runtime that the caller is in. Thread safety: any.
#pragma once

#include <expected>
#include <system_error>

#include <foliot/runtime/detail/descriptor.hpp>

#include "open_descriptor.hpp"

namespace foliot::runtime::detail {

/// A descriptor that stays its owner's. Throws std::logic_error outside of a runtime.
[[nodiscard]] std::expected<descriptor_ptr, std::error_code> watch(int fd);
/// One that is closed with the last reference. At an error it stays the caller's. Throws std::logic_error as well.
[[nodiscard]] std::expected<descriptor_ptr, std::error_code> watch(open_descriptor& fd);

}  // namespace foliot::runtime::detail
