#include "times.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>

#include <fmt/format.h>

namespace foliot::program::http {

namespace {

using std::chrono::milliseconds;

/// Takes a number of exactly so many digits from the front of a text; less than 0 if there is none.
int take_digits(std::string_view& from, std::size_t count) noexcept {
  if (from.size() < count) return -1;
  int value = 0;
  for (const char c : from.substr(0, count)) {
    if (c < '0' || c > '9') return -1;
    value = 10 * value + (c - '0');
  }
  from.remove_prefix(count);
  return value;
}

bool take(std::string_view& from, std::string_view any) noexcept {
  if (from.empty() || !any.contains(from.front())) return false;
  from.remove_prefix(1);
  return true;
}

/// Takes the digits of a fraction of a second, rounded up to milliseconds.
std::optional<milliseconds> take_fraction(std::string_view& from) noexcept {
  const std::size_t count = std::min(from.find_first_not_of("0123456789"), from.size());
  if (count == 0) return std::nullopt;
  int value = 0;
  for (std::size_t i = 0; i < 3; ++i) value = 10 * value + (i < count ? from[i] - '0' : 0);
  const std::string_view finer = from.substr(std::min<std::size_t>(3, count), count - std::min<std::size_t>(3, count));
  if (finer.find_first_not_of('0') != std::string_view::npos) ++value;
  from.remove_prefix(count);
  return milliseconds(value);
}

std::optional<std::chrono::minutes> take_offset(std::string_view& from) noexcept {
  if (take(from, "Zz")) return std::chrono::minutes(0);
  const bool is_west = from.starts_with('-');
  if (!take(from, "+-")) return std::nullopt;
  const int hours = take_digits(from, 2);
  const bool has_colon = take(from, ":");
  const int minutes = take_digits(from, 2);
  if (!has_colon || hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return std::nullopt;
  const std::chrono::minutes offset = std::chrono::hours(hours) + std::chrono::minutes(minutes);
  return is_west ? -offset : offset;
}

}  // namespace

std::optional<jobs::utc_time> parse_time(std::string_view text) noexcept {
  const int year = take_digits(text, 4);
  const bool has_month = take(text, "-");
  const int month = take_digits(text, 2);
  const bool has_day = take(text, "-");
  const int day = take_digits(text, 2);
  const bool has_time = take(text, "Tt ");
  const int hour = take_digits(text, 2);
  const bool has_minute = take(text, ":");
  const int minute = take_digits(text, 2);
  const bool has_second = take(text, ":");
  const int second = take_digits(text, 2);
  if (!has_month || !has_day || !has_time || !has_minute || !has_second) return std::nullopt;
  if (year < 0 || month < 0 || day < 0 || hour < 0 || hour > 23 || minute < 0 || minute > 59) return std::nullopt;
  if (second < 0 || second > 60) return std::nullopt;
  milliseconds fraction{};
  if (take(text, ".")) {
    const std::optional<milliseconds> read = take_fraction(text);
    if (!read) return std::nullopt;
    fraction = second == 60 ? milliseconds(0) : *read;
  }
  const std::optional<std::chrono::minutes> offset = take_offset(text);
  const std::chrono::year_month_day date(std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day)));
  if (!offset || !text.empty() || !date.ok()) return std::nullopt;
  const jobs::utc_time time = jobs::utc_time(std::chrono::sys_days(date)) + std::chrono::hours(hour) +
                              std::chrono::minutes(minute) + std::chrono::seconds(second) + fraction - *offset;
  const auto year_of_time = std::chrono::year_month_day(std::chrono::floor<std::chrono::days>(time)).year();
  const bool has_four_digits = year_of_time >= std::chrono::year(0) && year_of_time <= std::chrono::year(9999);
  return has_four_digits ? std::optional(time) : std::nullopt;  // an offset or a leap second may lead out of them
}

std::string time_text(jobs::utc_time time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", int{date.year()}, unsigned{date.month()},
                     unsigned{date.day()}, clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                     clock.subseconds().count());
}

}  // namespace foliot::program::http
