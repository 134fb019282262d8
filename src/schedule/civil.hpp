// Dates and times as texts, within what a schedule may name.
//
// Thread safety: pure functions.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace foliot::schedule {

using std::chrono::local_days;
using std::chrono::local_seconds;
using std::chrono::seconds;
using std::chrono::sys_seconds;

/// A time as a text has it: by a clock, with or without what that adds to UTC.
struct written_time {
  local_seconds local{};
  std::optional<seconds> offset{};

  /// Precondition: it has an offset.
  [[nodiscard]] sys_seconds instant() const { return sys_seconds(local.time_since_epoch() - *offset); }
};

/// Reads 2026-01-05; nothing if there is no such day.
[[nodiscard]] std::optional<std::chrono::year_month_day> read_date(std::string_view text) noexcept;
/// Reads 09:00 or 09:00:30, as seconds of the day.
[[nodiscard]] std::optional<seconds> read_time_of_day(std::string_view text) noexcept;
/// Reads 2026-01-05T09:00, with seconds or without, and with Z, +01:00 or neither behind it.
[[nodiscard]] std::optional<written_time> read_time(std::string_view text) noexcept;
/// Reads a whole number of at most nine digits.
[[nodiscard]] std::optional<int> read_number(std::string_view digits) noexcept;

/// "2026-01-05".
[[nodiscard]] std::string date_text(std::chrono::year_month_day day);
/// "09:00", or "09:00:30" if the seconds are not 0.
[[nodiscard]] std::string time_of_day_text(seconds of_day);
/// With two digits at least.
[[nodiscard]] std::string two_digits(int number);
/// "1h 30min".
[[nodiscard]] std::string length_text(seconds length);

}  // namespace foliot::schedule
