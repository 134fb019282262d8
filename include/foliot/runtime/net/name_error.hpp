// The errors of names that the system does not resolve.
//
//   const auto found = co_await resolve(host, 443);
//   if (!found && found.error() == foliot::runtime::name_errc::try_again) …      // later it may be known
//
// Thread safety: values.
#pragma once

#include <foliot/core/language.hpp>

#include <system_error>

#include <foliot/core/seam/names.hpp>

namespace foliot::runtime {

/// What getaddrinfo says of a name. Its other numbers (EAI_…) are errors of the same category.
enum class name_errc {
  /// The name is not known (EAI_NONAME).
  not_found = -2,
  /// No server has answered: later it may be known (EAI_AGAIN).
  try_again = -3,
  /// A server has answered that it cannot (EAI_FAIL).
  failed = -4,
  /// The name is known, but has no address (EAI_NODATA).
  no_address = -5,
};

/// For std::error_code.
[[nodiscard]] inline std::error_code make_error_code(name_errc what) noexcept {
  return {static_cast<int>(what), seam::name_category()};
}

}  // namespace foliot::runtime

template <>
struct std::is_error_code_enum<foliot::runtime::name_errc> : std::true_type {};
