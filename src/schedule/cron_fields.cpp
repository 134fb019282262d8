#include "schedule/cron_fields.hpp"

#include <algorithm>
#include <bit>

namespace foliot::schedule {

namespace {

using std::chrono::days;
using std::chrono::year_month;

constexpr seconds end_of_day = std::chrono::hours(24) - seconds(1);

int last_day(year_month month) noexcept {
  return static_cast<int>(static_cast<unsigned>((month / std::chrono::last).day()));
}

/// 0 is Sunday.
int weekday_of(year_month month, int day) noexcept {
  return static_cast<int>(
      std::chrono::weekday(local_days(month / std::chrono::day(static_cast<unsigned>(day)))).c_encoding());
}

/// The day of Monday to Friday that is nearest to `day`, within the month.
int nearest_weekday(int day, int weekday_of_day, int last) noexcept {
  constexpr int saturday = 6;
  if (weekday_of_day == saturday) return day > 1 ? day - 1 : day + 2;
  if (weekday_of_day == 0) return day < last ? day + 1 : day - 2;
  return day;
}

int hours_of(seconds of_day) noexcept { return static_cast<int>(of_day.count() / 3600); }
int minutes_of(seconds of_day) noexcept { return static_cast<int>(of_day.count() / 60 % 60); }
int seconds_of(seconds of_day) noexcept { return static_cast<int>(of_day.count() % 60); }
seconds time_of(int hour, int minute, int second) noexcept { return seconds(3600 * hour + 60 * minute + second); }

}  // namespace

int number_set::size() const noexcept { return std::popcount(bits_); }

int number_set::at_or_after(int number) const noexcept {
  if (number > 63) return -1;
  const std::uint64_t left = bits_ >> number << number;
  return left == 0 ? -1 : std::countr_zero(left);
}

int number_set::at_or_before(int number) const noexcept {
  if (number < 0) return -1;
  const std::uint64_t left = bits_ & ~std::uint64_t{0} >> (63 - number);
  return left == 0 ? -1 : 63 - std::countl_zero(left);
}

bool number_set::has_all(int first, int last) const noexcept {
  for (int i = first; i <= last; ++i) {
    if (!has(i)) return false;
  }
  return true;
}

number_set cron_fields::days_of(year_month month) const {
  const int last = last_day(month);
  const int first_weekday = weekday_of(month, 1);
  const auto weekday = [&](int day) { return (first_weekday + day - 1) % 7; };
  number_set by_month;
  number_set by_week;
  for (int day = 1; day <= last; ++day) {
    if (days.has(day)) by_month.add(day);
    if (special.nearest_weekday.has(day)) by_month.add(nearest_weekday(day, weekday(day), last));
    const int of_week = weekday(day);
    const bool is_last_of_week = day + 7 > last && special.last_of_week.has(of_week);
    if (weekdays.has(of_week) || is_last_of_week ||
        special.nth_of_week[static_cast<std::size_t>(of_week)].has((day - 1) / 7 + 1))
      by_week.add(day);
  }
  if (special.has_last) by_month.add(last);
  if (special.has_last_weekday) by_month.add(nearest_weekday(last, weekday(last), last));
  const bool must_fit_both = is_every_day || is_every_weekday;
  number_set fitting;
  for (int day = 1; day <= last; ++day) {
    const bool fits_month = by_month.has(day);
    const bool fits_week = by_week.has(day);
    if (must_fit_both ? fits_month && fits_week : fits_month || fits_week) fitting.add(day);
  }
  return fitting;
}

std::optional<seconds> cron_fields::next_of_day(seconds from) const noexcept {
  int hour = hours.at_or_after(hours_of(from));
  if (hour < 0) return std::nullopt;
  int minute = 0;
  int second = 0;
  if (hour == hours_of(from)) {
    minute = minutes_of(from);
    const int fitting = minutes.at_or_after(minute);
    if (fitting == minute) {
      const int found = seconds_of_minute.at_or_after(seconds_of(from));
      if (found >= 0) return time_of(hour, minute, found);
      ++minute;
    }
    minute = minutes.at_or_after(minute);
    if (minute >= 0) return time_of(hour, minute, seconds_of_minute.at_or_after(0));
    hour = hours.at_or_after(hour + 1);
    if (hour < 0) return std::nullopt;
  }
  minute = minutes.at_or_after(0);
  second = seconds_of_minute.at_or_after(0);
  return time_of(hour, minute, second);
}

std::optional<seconds> cron_fields::previous_of_day(seconds from) const noexcept {
  constexpr int last = 59;
  int hour = hours.at_or_before(hours_of(from));
  if (hour < 0) return std::nullopt;
  if (hour == hours_of(from)) {
    int minute = minutes_of(from);
    if (minutes.has(minute)) {
      const int found = seconds_of_minute.at_or_before(seconds_of(from));
      if (found >= 0) return time_of(hour, minute, found);
    }
    minute = minutes.at_or_before(minute - 1);
    if (minute >= 0) return time_of(hour, minute, seconds_of_minute.at_or_before(last));
    hour = hours.at_or_before(hour - 1);
    if (hour < 0) return std::nullopt;
  }
  return time_of(hour, minutes.at_or_before(last), seconds_of_minute.at_or_before(last));
}

std::optional<local_seconds> cron_fields::next(local_seconds from) const {
  const local_days first_day = std::chrono::floor<std::chrono::days>(from);
  const std::chrono::year_month_day date(first_day);
  year_month month = date.year() / date.month();
  const int end = std::min(static_cast<int>(month.year()) + years_of_cycle + 1, last_year);
  int day = static_cast<int>(static_cast<unsigned>(date.day()));
  seconds of_day = from - first_day;
  while (static_cast<int>(month.year()) <= end) {
    const int year = static_cast<int>(month.year());
    if (!has_year(year)) {
      month = std::chrono::year(year + 1) / std::chrono::January;
    } else if (!months.has(static_cast<int>(static_cast<unsigned>(month.month())))) {
      month += std::chrono::months(1);
    } else {
      const number_set fitting = days_of(month);
      for (day = fitting.at_or_after(day); day >= 0; day = fitting.at_or_after(day + 1)) {
        const local_days found(month / std::chrono::day(static_cast<unsigned>(day)));
        const auto time = next_of_day(found == first_day ? of_day : seconds(0));
        if (time) return found + *time;
      }
      month += std::chrono::months(1);
    }
    day = 1;
  }
  return std::nullopt;
}

std::optional<local_seconds> cron_fields::previous(local_seconds from) const {
  const local_days first_day = std::chrono::floor<std::chrono::days>(from);
  const std::chrono::year_month_day date(first_day);
  year_month month = date.year() / date.month();
  const int end = std::max(static_cast<int>(month.year()) - years_of_cycle - 1, 0);
  int day = static_cast<int>(static_cast<unsigned>(date.day()));
  while (static_cast<int>(month.year()) >= end) {
    const int year = static_cast<int>(month.year());
    if (year > last_year || !has_year(year)) {
      month = std::chrono::year(year - 1) / std::chrono::December;
    } else if (!months.has(static_cast<int>(static_cast<unsigned>(month.month())))) {
      month -= std::chrono::months(1);
    } else {
      const number_set fitting = days_of(month);
      for (day = fitting.at_or_before(day); day >= 0; day = fitting.at_or_before(day - 1)) {
        const local_days found(month / std::chrono::day(static_cast<unsigned>(day)));
        const auto time = previous_of_day(found == first_day ? from - first_day : end_of_day);
        if (time) return found + *time;
      }
      month -= std::chrono::months(1);
    }
    day = 31;
  }
  return std::nullopt;
}

}  // namespace foliot::schedule
