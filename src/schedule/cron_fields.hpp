// The fields of cron, as sets of numbers, and the local times that they name.
//
// Invariant: no set is empty.
//
// Complexity: next() and previous() look at 400 years at most, a month at a time: some 30 ns for a month, and less for
// one that the rule leaves out.
//
// Thread safety: a value.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "schedule/civil.hpp"

namespace foliot::schedule {

inline constexpr int years_of_cycle = 400;
inline constexpr int last_year = 9999;

/// Numbers of 0 to 63.
class number_set {
 public:
  void add(int number) noexcept { bits_ |= std::uint64_t{1} << number; }
  [[nodiscard]] bool has(int number) const noexcept { return (bits_ >> number & 1) != 0; }
  [[nodiscard]] bool empty() const noexcept { return bits_ == 0; }
  [[nodiscard]] int size() const noexcept;
  /// The least that is not below `number`; -1 if there is none.
  [[nodiscard]] int at_or_after(int number) const noexcept;
  /// The largest that is not above `number`; -1 if there is none.
  [[nodiscard]] int at_or_before(int number) const noexcept;
  [[nodiscard]] std::uint64_t bits() const noexcept { return bits_; }
  /// Has all of `first` to `last`.
  [[nodiscard]] bool has_all(int first, int last) const noexcept;

 private:
  std::uint64_t bits_ = 0;
};

/// A field of days may also have these.
struct special_days {
  bool has_last = false;                    ///< L
  bool has_last_weekday = false;            ///< LW
  number_set nearest_weekday{};             ///< 15W
  number_set last_of_week{};                ///< FRIL: 0 to 6
  std::array<number_set, 7> nth_of_week{};  ///< FRI#2, by the day of the week
};

struct cron_fields {
  number_set seconds_of_minute{}, minutes{}, hours{}, days{}, months{}, weekdays{};  ///< Sunday is 0
  special_days special{};
  std::vector<bool> years{};  ///< by the year; empty if each one fits
  bool has_seconds = false;   ///< a field of them; else 0 alone fits
  bool is_every_day = false;  ///< the field of the day of the month begins with * or ?
  bool is_every_weekday = false;
  bool has_fixed_times = true;                          ///< neither hour, minute nor second begins with *
  int second_step = 0, minute_step = 0, hour_step = 0;  ///< the field is */n alone; 1: * alone

  /// The first local time that fits and is not before `from`.
  [[nodiscard]] std::optional<local_seconds> next(local_seconds from) const;
  /// The last local time that fits and is not after `from`.
  [[nodiscard]] std::optional<local_seconds> previous(local_seconds from) const;

  /// Whether the field leaves out no day.
  [[nodiscard]] bool has_each_day_of_month() const noexcept { return days.has_all(1, 31); }
  [[nodiscard]] bool has_each_weekday() const noexcept { return weekdays.has_all(0, 6); }

 private:
  [[nodiscard]] number_set days_of(std::chrono::year_month month) const;
  [[nodiscard]] std::optional<seconds> next_of_day(seconds from) const noexcept;
  [[nodiscard]] std::optional<seconds> previous_of_day(seconds from) const noexcept;
  [[nodiscard]] bool has_year(int year) const noexcept {
    return years.empty() || years[static_cast<std::size_t>(year)];
  }
};

}  // namespace foliot::schedule
