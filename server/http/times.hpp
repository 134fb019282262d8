// Times and lengths of time as the HTTP interface has them: RFC 3339, and durations as people write them (5s, 1h30m).
//
// Thread safety: pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <foliot/jobs/job.hpp>

namespace foliot::program::http {

/// Reads 2026-11-29T05:40:00Z, with any fraction of a second and any offset; nothing if the text has another form or
/// names a time that does not exist. What is finer than a millisecond is rounded up, so that nothing is early. A leap
/// second (…:60) counts as the first second of the next minute.
[[nodiscard]] std::optional<jobs::utc_time> parse_time(std::string_view text) noexcept;
/// Writes 2026-11-29T05:40:00.123Z, always with three digits of a fraction. Precondition: the year has four digits.
[[nodiscard]] std::string time_text(jobs::utc_time time);

}  // namespace foliot::program::http
