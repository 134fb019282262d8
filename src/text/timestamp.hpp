// Points in time as text: the date and time of an access log, and ISO 8601.
//
// In all of the program an instant counts nanoseconds since 1970-01-01T00:00:00Z. Texts are read for the years 1678 to
// 2199: an instant can hold all of these, and those up to 60 years later.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <foliot/core/instant.hpp>

namespace foliot::program {

inline constexpr int first_year = 1678;
inline constexpr int last_year = 2199;

/// The length of 01/Aug/1995:00:00:07 -0400.
inline constexpr std::size_t log_time_length = 26;

/// Reads exactly such a text; nothing if it has another form or names a time that does not exist. A leap second (…:60)
/// counts as the first second of the next minute.
[[nodiscard]] std::optional<instant> parse_log_time(std::string_view text) noexcept;

/// Appends such a text for the second that contains `time`, in UTC.
void append_log_time(std::string& to, instant time);

/// Reads 1995-08-01, as the first instant of that day in UTC.
[[nodiscard]] std::optional<instant> parse_date(std::string_view text) noexcept;

/// Reads a time of RFC 3339: 1995-08-01T04:00:07Z, 1995-08-01T00:00:07.250-04:00. A space may stand in the place of the
/// T; digits behind those of nanoseconds are dropped. A leap second counts as in parse_log_time().
[[nodiscard]] std::optional<instant> parse_iso_time(std::string_view text) noexcept;

/// Appends 1995-08-01T04:00:07Z, with the shortest exact fraction of a second if it has one. Precondition: the year has
/// four digits.
void append_iso_time(std::string& to, instant time);

}  // namespace foliot::program
