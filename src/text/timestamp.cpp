#include "timestamp.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <iterator>

#include <fmt/format.h>

namespace foliot::program {

namespace {

using std::chrono::day;
using std::chrono::days;
using std::chrono::month;
using std::chrono::nanoseconds;
using std::chrono::seconds;
using std::chrono::sys_days;
using std::chrono::year;
using std::chrono::year_month_day;

constexpr std::array<std::string_view, 12> month_names{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                       "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

/// The number in the `count` characters at `at`, or -1 if one of them is no digit.
int number_at(std::string_view text, std::size_t at, std::size_t count) noexcept {
  int value = 0;
  for (const char digit : text.substr(at, count)) {
    if (digit < '0' || digit > '9') return -1;
    value = value * 10 + (digit - '0');
  }
  return value;
}

/// 1 to 12, or 0 if it is not the name of a month.
unsigned month_named(std::string_view name) noexcept {
  for (std::size_t i = 0; i < month_names.size(); ++i) {
    if (month_names[i] == name) return static_cast<unsigned>(i + 1);
  }
  return 0;
}

std::optional<sys_days> existing_date(int y, unsigned m, int d) noexcept {
  if (y < first_year || y > last_year || d < 1) return std::nullopt;
  const year_month_day date{year(y), month(m), day(static_cast<unsigned>(d))};
  if (!date.ok()) return std::nullopt;
  return sys_days(date);
}

/// The time of day in 12:34:56, which `text` begins with; nothing if it begins with something else.
std::optional<seconds> time_of_day(std::string_view text) noexcept {
  if (text.size() < 8 || text[2] != ':' || text[5] != ':') return std::nullopt;
  const int hour = number_at(text, 0, 2);
  const int minute = number_at(text, 3, 2);
  const int second = number_at(text, 6, 2);
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60) return std::nullopt;
  return std::chrono::hours(hour) + std::chrono::minutes(minute) + seconds(second);
}

/// How far a zone is ahead of UTC: Z, +01:00; nothing if the text is none.
std::optional<seconds> ahead_in_zone(std::string_view text) noexcept {
  if (text == "Z" || text == "z") return seconds(0);
  if (text.size() != 6 || (text[0] != '+' && text[0] != '-') || text[3] != ':') return std::nullopt;
  const int hour = number_at(text, 1, 2);
  const int minute = number_at(text, 4, 2);
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59) return std::nullopt;
  const seconds ahead = std::chrono::hours(hour) + std::chrono::minutes(minute);
  return text[0] == '+' ? ahead : -ahead;
}

instant to_instant(seconds since_epoch) noexcept { return instant::from_nanoseconds(nanoseconds(since_epoch).count()); }

/// An instant as the parts of a date and a time.
struct civil {
  explicit civil(instant time)
      : whole_day(std::chrono::floor<days>(nanoseconds(time.nanoseconds()))),
        date(sys_days(whole_day)),
        of_day(nanoseconds(time.nanoseconds()) - whole_day) {}
  days whole_day;
  year_month_day date;
  std::chrono::hh_mm_ss<nanoseconds> of_day;
};

}  // namespace

std::optional<instant> parse_log_time(std::string_view text) noexcept {
  if (text.size() != log_time_length || text[2] != '/' || text[6] != '/' || text[11] != ':' || text[14] != ':' ||
      text[17] != ':' || text[20] != ' ' || (text[21] != '+' && text[21] != '-')) {
    return std::nullopt;
  }
  const auto date = existing_date(number_at(text, 7, 4), month_named(text.substr(3, 3)), number_at(text, 0, 2));
  const int hour = number_at(text, 12, 2);
  const int minute = number_at(text, 15, 2);
  const int second = number_at(text, 18, 2);
  const int zone_hour = number_at(text, 22, 2);
  const int zone_minute = number_at(text, 24, 2);
  if (!date || hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60) return std::nullopt;
  if (zone_hour < 0 || zone_hour > 23 || zone_minute < 0 || zone_minute > 59) return std::nullopt;
  const seconds ahead_of_utc = std::chrono::hours(zone_hour) + std::chrono::minutes(zone_minute);
  const seconds local =
      date->time_since_epoch() + std::chrono::hours(hour) + std::chrono::minutes(minute) + seconds(second);
  return to_instant(text[21] == '+' ? local - ahead_of_utc : local + ahead_of_utc);
}

void append_log_time(std::string& to, instant time) {
  const civil parts(time);
  fmt::format_to(std::back_inserter(to), "{:02}/{}/{:04}:{:02}:{:02}:{:02} +0000", unsigned{parts.date.day()},
                 month_names[unsigned{parts.date.month()} - 1], int{parts.date.year()}, parts.of_day.hours().count(),
                 parts.of_day.minutes().count(), parts.of_day.seconds().count());
}

std::optional<instant> parse_date(std::string_view text) noexcept {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return std::nullopt;
  const int month_number = number_at(text, 5, 2);
  if (month_number < 1) return std::nullopt;
  const auto date = existing_date(number_at(text, 0, 4), static_cast<unsigned>(month_number), number_at(text, 8, 2));
  if (!date) return std::nullopt;
  return to_instant(date->time_since_epoch());
}

std::optional<instant> parse_iso_time(std::string_view text) noexcept {
  constexpr std::size_t date_length = 10;
  constexpr std::size_t time_length = 19;
  if (text.size() <= time_length) return std::nullopt;
  const auto date = parse_date(text.substr(0, date_length));
  const auto of_day = time_of_day(text.substr(date_length + 1));
  const char between = text[date_length];
  if (!date || !of_day || (between != 'T' && between != 't' && between != ' ')) return std::nullopt;
  std::string_view rest = text.substr(time_length);
  std::int64_t fraction = 0;
  if (rest.front() == '.') {
    rest.remove_prefix(1);
    std::int64_t unit = 1'000'000'000;
    const std::size_t digits = rest.find_first_not_of("0123456789");
    if (digits == 0 || digits == std::string_view::npos) return std::nullopt;
    for (const char digit : rest.substr(0, digits)) fraction += (digit - '0') * (unit /= 10);
    rest.remove_prefix(digits);
  }
  const auto ahead = ahead_in_zone(rest);
  if (!ahead) return std::nullopt;
  return *date + duration::nanoseconds(nanoseconds(*of_day - *ahead).count() + fraction);
}

void append_iso_time(std::string& to, instant time) {
  const civil parts(time);
  fmt::format_to(std::back_inserter(to), "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", int{parts.date.year()},
                 unsigned{parts.date.month()}, unsigned{parts.date.day()}, parts.of_day.hours().count(),
                 parts.of_day.minutes().count(), parts.of_day.seconds().count());
  if (const std::int64_t fraction = parts.of_day.subseconds().count(); fraction != 0) {
    fmt::format_to(std::back_inserter(to), ".{:09}", fraction);
    to.erase(to.find_last_not_of('0') + 1);
  }
  to += 'Z';
}

}  // namespace foliot::program
