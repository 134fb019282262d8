// What an operation may contain, and the check of it. Whatever takes operations from outside calls validate() first.
#pragma once

#include <foliot/core/language.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <foliot/core/export.h>
#include <foliot/jobs/operations.hpp>

namespace foliot::jobs {

/// The longest names, in bytes.
inline constexpr std::size_t longest_tube_name = 200;
inline constexpr std::size_t longest_key = 200;

/// The longest delay and TTR, which is what 32 bits of seconds hold: some 136 years.
inline constexpr milliseconds longest_time{4'294'967'295'000};

/// What a user of a store may choose.
struct job_limits {
  /// The largest body, in bytes; at most largest_body.
  std::size_t max_body = 65'535;
};
inline constexpr std::size_t largest_body = std::size_t{1} << 30;

/// What is wrong with an operation and what would be right, or nothing: names that are empty or too long, times out of
/// range, a body over the limit, a claim of no tube. Keys and tube names may have any bytes but zeros. Cheap.
[[nodiscard]] FOLIOT_EXPORT std::optional<std::string> validate(const operation& what, const job_limits& limits);

}  // namespace foliot::jobs
