// The rule behind the last transition of a TZif file: the text of POSIX's variable TZ, such as
// CET-1CEST,M3.5.0,M10.5.0/3, with the longer times of RFC 8536.
//
// Thread safety: a value.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include <foliot/schedule/zone.hpp>

#include "schedule/civil.hpp"

namespace foliot::schedule {

/// What a clock may add to UTC at least and at most, in files and in their rules (RFC 8536).
inline constexpr seconds least_offset = -std::chrono::hours(25);
inline constexpr seconds largest_offset = std::chrono::hours(26);
/// A word such as CEST has no more characters.
inline constexpr std::size_t longest_abbreviation = 32;

/// When in each year the clock changes.
struct yearly_change {
  enum class kind { nth_weekday, day_without_leap, day_with_leap };
  kind by = kind::nth_weekday;
  int month = 1, week = 1, weekday = 0;  ///< M3.5.0; week 5 is the last
  int day = 0;                           ///< J60: from 1, and never 29 February; 59: from 0
  seconds at = std::chrono::hours(2);    ///< of that day, by the clock before the change

  [[nodiscard]] local_seconds in(int year) const noexcept;
};

struct posix_zone {
  struct clock {
    seconds offset{};
    std::string abbreviation{};
  };
  clock standard{};
  std::optional<clock> daylight{};
  yearly_change begin{}, end{};  ///< of daylight saving, if there is any

  /// Nothing if the text is not of this form.
  [[nodiscard]] static std::optional<posix_zone> read(std::string_view text);

  /// As zone::period_at().
  [[nodiscard]] zone_period period_at(sys_seconds time) const;
};

}  // namespace foliot::schedule
