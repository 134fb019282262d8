// The ranges of operations, and their check. A program that takes operations from outside must call validate() before
// it hands them to a store.
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

/// The latest due time, in 2262, where the wall clock ends.
[[nodiscard]] FOLIOT_EXPORT utc_time latest_due() noexcept;

/// The limits that the user of a store chooses.
struct job_limits {
  /// The largest body, in bytes; at most largest_body.
  std::size_t max_body = 65'535;
};
inline constexpr std::size_t largest_body = std::size_t{1} << 30;

/// Returns a sentence that says which limit an operation breaks and what would be right, or nothing if it breaks none.
/// These are refused:
///   - a tube name or a key that is empty, too long, or has a zero byte (a put may have no key);
///   - a delay, a pause or a TTR that is negative or over longest_time, and a TTR of zero;
///   - a due time before 1970 or after 2262, where the wall clock ends;
///   - a body over the limit, a claim of no tube, and peek_first for reserved jobs;
///   - a put that expects a version and has no key, or would not replace the job that has it;
///   - a put with a holder that has no key, would not replace the job that has it, expects a version, or has a `once`,
///     of its own or of its put_all;
///   - a put_all of no put or too many, of too many bytes, with a key that two of its puts have, or with a put that has
///     a `once`;
///   - a `once` whose lifetime is below 1 ms or over longest_time;
///   - a number that the operation's own comment excludes.
/// Any id and any token may be asked for, and job_fields are within their bounds by themselves. O(length of the names).
[[nodiscard]] FOLIOT_EXPORT std::optional<std::string> validate(const operation& what, const job_limits& limits);
/// The same for a put, which need not be an operation for that.
[[nodiscard]] FOLIOT_EXPORT std::optional<std::string> validate(const put& what, const job_limits& limits);

}  // namespace foliot::jobs
