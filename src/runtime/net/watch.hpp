// Registers a descriptor with the poller of the caller's runtime. Thread safety: any thread of the runtime.
#pragma once

#include <expected>
#include <system_error>

#include <foliot/runtime/detail/descriptor.hpp>
#include <foliot/runtime/net/io_error.hpp>
#include <foliot/runtime/net/stream.hpp>

#include "open_descriptor.hpp"

namespace foliot::runtime::detail {

/// Watches a descriptor that stays its owner's. Throws std::logic_error outside of a runtime.
[[nodiscard]] std::expected<descriptor_ptr, std::error_code> watch(int fd);
/// Watches a descriptor, and takes it over: it is closed with the last reference. On an error, and on std::logic_error
/// outside of a runtime, it stays the caller's.
[[nodiscard]] std::expected<descriptor_ptr, std::error_code> watch(open_descriptor& fd);
/// A stream over a connected socket, which it takes over as watch() does.
[[nodiscard]] or_error<stream> stream_over(open_descriptor& fd);

}  // namespace foliot::runtime::detail
