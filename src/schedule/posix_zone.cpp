#include "schedule/posix_zone.hpp"

#include <algorithm>

#include "schedule/zone_data.hpp"

namespace foliot::schedule {

namespace {

class posix_text {
 public:
  explicit posix_text(std::string_view text) noexcept : left_(text) {}

  [[nodiscard]] bool is_empty() const noexcept { return left_.empty(); }
  [[nodiscard]] bool take(char expected) noexcept {
    if (!left_.starts_with(expected)) return false;
    left_.remove_prefix(1);
    return true;
  }
  [[nodiscard]] std::optional<int> number() noexcept {
    const std::size_t size = std::min(left_.find_first_not_of("0123456789"), left_.size());
    const auto read = read_number(left_.substr(0, size));
    if (read) left_.remove_prefix(size);
    return read;
  }
  /// CET, or <+03>.
  [[nodiscard]] std::optional<std::string> abbreviation() {
    const bool is_quoted = take('<');
    const std::size_t size =
        is_quoted
            ? left_.find('>')
            : std::min(left_.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"), left_.size());
    if (size == std::string_view::npos || size < 3 || size > longest_abbreviation) return std::nullopt;
    std::string read(left_.substr(0, size));
    left_.remove_prefix(size + (is_quoted ? 1 : 0));
    return read;
  }
  /// -3:30, of at most a week.
  [[nodiscard]] std::optional<seconds> length() noexcept {
    const bool is_negative = take('-');
    if (!is_negative) static_cast<void>(take('+'));
    int units[3] = {};
    for (int i = 0; i < 3; ++i) {
      if (i > 0 && !take(':')) break;
      const auto read = number();
      if (!read || *read > (i == 0 ? 167 : 59)) return std::nullopt;
      units[i] = *read;
    }
    const seconds read(3600 * units[0] + 60 * units[1] + units[2]);
    return is_negative ? -read : read;
  }
  /// What a clock adds to UTC: the text has the opposite sign.
  [[nodiscard]] std::optional<seconds> offset() noexcept {
    const auto read = length();
    if (!read || -*read < least_offset || -*read > largest_offset) return std::nullopt;
    return -*read;
  }
  /// M3.5.0/3.
  [[nodiscard]] std::optional<yearly_change> change() noexcept {
    yearly_change read;
    if (take('M')) {
      const auto month = number();
      if (!month || !take('.')) return std::nullopt;
      const auto week = number();
      if (!week || !take('.')) return std::nullopt;
      const auto weekday = number();
      if (!weekday || *month < 1 || *month > 12 || *week < 1 || *week > 5 || *weekday > 6) return std::nullopt;
      read.month = *month;
      read.week = *week;
      read.weekday = *weekday;
    } else {
      read.by = take('J') ? yearly_change::kind::day_without_leap : yearly_change::kind::day_with_leap;
      const auto day = number();
      const int first = read.by == yearly_change::kind::day_without_leap ? 1 : 0;
      if (!day || *day < first || *day > 365) return std::nullopt;
      read.day = *day;
    }
    if (!take('/')) return read;
    const auto at = length();
    if (!at) return std::nullopt;
    read.at = *at;
    return read;
  }

 private:
  std::string_view left_;
};

}  // namespace

local_seconds yearly_change::in(int year) const noexcept {
  const std::chrono::year wanted(year);
  if (by == kind::nth_weekday) {
    const auto of = wanted / std::chrono::month(static_cast<unsigned>(month));
    const std::chrono::weekday day_of_week(static_cast<unsigned>(weekday));
    const local_days found = week == 5 ? local_days(of / std::chrono::weekday_last(day_of_week))
                                       : local_days(of / day_of_week[static_cast<unsigned>(week)]);
    return found + at;
  }
  const local_days first(wanted / 1 / 1);
  if (by == kind::day_with_leap) return first + std::chrono::days(day) + at;
  const bool is_past_leap = wanted.is_leap() && day >= 60;
  return first + std::chrono::days(day - 1 + (is_past_leap ? 1 : 0)) + at;
}

std::optional<posix_zone> posix_zone::read(std::string_view text) {
  posix_text left(text);
  posix_zone made;
  auto name = left.abbreviation();
  auto offset = name ? left.offset() : std::nullopt;
  if (!offset) return std::nullopt;
  made.standard = {*offset, *name};
  if (left.is_empty()) return made;
  name = left.abbreviation();
  if (!name) return std::nullopt;
  made.daylight = clock{made.standard.offset + std::chrono::hours(1), *name};
  if (!left.take(',')) {
    offset = left.offset();
    if (!offset || !left.take(',')) return std::nullopt;
    made.daylight->offset = *offset;
  }
  const auto begin = left.change();
  if (!begin || !left.take(',')) return std::nullopt;
  const auto end = left.change();
  if (!end || !left.is_empty()) return std::nullopt;
  made.begin = *begin;
  made.end = *end;
  return made;
}

zone_period posix_zone::period_at(sys_seconds time) const {
  if (!daylight) return {first_instant, last_instant, standard.offset, standard.abbreviation};
  struct change {
    sys_seconds at;
    bool is_begin;
  };
  // The changes of a year may lie some days beyond it, by what stands behind their `/` and by the offset: less than
  // ten. So those of two years before are earlier than the time, and those of two years behind are later. Where one
  // ends when the other begins, all of the year is daylight saving: the end comes first.
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const int year = static_cast<int>(std::chrono::year_month_day(day).year());
  std::array<change, 10> changes{};
  for (int i = 0; i < 5; ++i) {
    const int of = year - 2 + i;
    changes[static_cast<std::size_t>(2 * i)] = {sys_seconds(end.in(of).time_since_epoch() - daylight->offset), false};
    changes[static_cast<std::size_t>(2 * i + 1)] = {sys_seconds(begin.in(of).time_since_epoch() - standard.offset),
                                                    true};
  }
  std::ranges::sort(changes, [](const change& one, const change& other) {
    return one.at < other.at || (one.at == other.at && !one.is_begin && other.is_begin);
  });
  const auto next = std::ranges::upper_bound(changes, time, {}, &change::at);
  const change& last = *std::prev(next);  // those of two years before are earlier
  const clock& shown = last.is_begin ? *daylight : standard;
  return {last.at, next->at, shown.offset, shown.abbreviation};
}

}  // namespace foliot::schedule
