// A descriptor comes to the poller of the runtime that the caller is in. Thread safety: any.
#pragma once

#include <expected>
#include <system_error>

#include <foliot/runtime/detail/descriptor.hpp>

namespace foliot::runtime::detail {

/// At an error `fd` is closed if the share would have closed it. Throws std::logic_error outside of a runtime.
std::expected<descriptor_share, std::error_code> watch(int fd, at_end then);

}  // namespace foliot::runtime::detail
