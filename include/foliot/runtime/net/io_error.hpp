// What an operation on a descriptor says beside what the system does.
//
//   const auto got = co_await peer.read_some(buffer);
//   if (!got && got.error() == foliot::runtime::io_errc::deadline_exceeded) …
//
// The end of a stream is no error: see stream.hpp. Thread safety: values.
#pragma once

#include <foliot/core/language.hpp>

#include <system_error>

#include <foliot/core/export.h>

namespace foliot::runtime {

enum class io_errc {
  /// The deadline of that direction had come; equals std::errc::timed_out, which the system also has of its own.
  deadline_exceeded = 1,
  /// It was closed here, before or meanwhile, or has been moved from, or its runtime has ended; equals
  /// std::errc::bad_file_descriptor.
  closed,
};

[[nodiscard]] FOLIOT_EXPORT const std::error_category& io_category() noexcept;
[[nodiscard]] inline std::error_code make_error_code(io_errc what) noexcept {
  return {static_cast<int>(what), io_category()};
}

}  // namespace foliot::runtime

template <>
struct std::is_error_code_enum<foliot::runtime::io_errc> : std::true_type {};
