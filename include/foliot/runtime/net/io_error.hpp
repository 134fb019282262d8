// The errors of operations on descriptors that foliot adds to those of the system.
//
//   const auto got = co_await peer.read_some(buffer);
//   if (!got && got.error() == foliot::runtime::io_errc::deadline_exceeded) …
//
// The end of a stream is no error: see stream.hpp. Thread safety: values.
#pragma once

#include <foliot/core/language.hpp>

#include <expected>
#include <system_error>

#include <foliot/core/export.h>

namespace foliot::runtime {

/// What foliot adds to the errors of the system.
enum class io_errc {
  /// The deadline of that direction has passed. Equals std::errc::timed_out, which the system may also return by
  /// itself.
  deadline_exceeded = 1,
  /// The object was closed, before or during the operation, was moved from, or its runtime has ended. Equals
  /// std::errc::bad_file_descriptor.
  closed,
  /// A text that was to be read has more bytes than its limit allows: see buffered_reader.hpp. Equals
  /// std::errc::message_size.
  too_long,
};

/// The category of io_errc, named "foliot".
[[nodiscard]] FOLIOT_EXPORT const std::error_category& io_category() noexcept;
/// For std::error_code.
[[nodiscard]] inline std::error_code make_error_code(io_errc what) noexcept {
  return {static_cast<int>(what), io_category()};
}

/// A value, or the error of the system or of foliot (io_errc).
template <class Value>
using or_error = std::expected<Value, std::error_code>;

}  // namespace foliot::runtime

template <>
struct std::is_error_code_enum<foliot::runtime::io_errc> : std::true_type {};
