#include "schedule/civil.hpp"

#include <foliot/schedule/timetable.hpp>

namespace foliot::schedule {

namespace {

/// Takes digits and the text in front of the rest; nothing if the text begins otherwise.
std::optional<int> take_digits(std::string_view& text, std::size_t count) noexcept {
  const auto number = read_number(text.substr(0, count));
  if (text.size() < count || !number) return std::nullopt;
  text.remove_prefix(count);
  return number;
}

bool take(std::string_view& text, char expected) noexcept {
  if (!text.starts_with(expected)) return false;
  text.remove_prefix(1);
  return true;
}

std::optional<seconds> take_time_of_day(std::string_view& text) noexcept {
  const auto hour = take_digits(text, 2);
  if (!hour || *hour > 23 || !take(text, ':')) return std::nullopt;
  const auto minute = take_digits(text, 2);
  if (!minute || *minute > 59) return std::nullopt;
  seconds read = std::chrono::hours(*hour) + std::chrono::minutes(*minute);
  if (take(text, ':')) {
    const auto second = take_digits(text, 2);
    if (!second || *second > 59) return std::nullopt;
    read += seconds(*second);
  }
  return read;
}

std::optional<seconds> take_offset(std::string_view& text) noexcept {
  if (take(text, 'Z')) return seconds(0);
  const bool is_west = text.starts_with('-');
  if (!take(text, '+') && !take(text, '-')) return std::nullopt;
  const auto length = take_time_of_day(text);
  if (!length) return std::nullopt;
  return is_west ? -*length : *length;
}

}  // namespace

std::optional<int> read_number(std::string_view digits) noexcept {
  if (digits.empty() || digits.size() > 9) return std::nullopt;
  int number = 0;
  for (const char each : digits) {
    if (each < '0' || each > '9') return std::nullopt;
    number = 10 * number + (each - '0');
  }
  return number;
}

std::optional<std::chrono::year_month_day> read_date(std::string_view text) noexcept {
  const auto year = take_digits(text, 4);
  if (!year || *year < 1 || !take(text, '-')) return std::nullopt;
  const auto month = take_digits(text, 2);
  if (!month || !take(text, '-')) return std::nullopt;
  const auto day = take_digits(text, 2);
  if (!day || !text.empty()) return std::nullopt;
  const std::chrono::year_month_day read(std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day)));
  return read.ok() ? std::optional(read) : std::nullopt;
}

std::optional<seconds> read_time_of_day(std::string_view text) noexcept {
  const auto read = take_time_of_day(text);
  return text.empty() ? read : std::nullopt;
}

std::optional<written_time> read_time(std::string_view text) noexcept {
  constexpr std::size_t date_length = 10;
  const auto date = read_date(text.substr(0, date_length));
  if (!date) return std::nullopt;
  text.remove_prefix(date_length);
  if (!take(text, 'T')) return std::nullopt;
  const auto of_day = take_time_of_day(text);
  if (!of_day) return std::nullopt;
  written_time read{.local = local_days(*date) + *of_day};
  if (text.empty()) return read;
  read.offset = take_offset(text);
  return read.offset && text.empty() ? std::optional(read) : std::nullopt;
}

std::string two_digits(int number) { return (number < 10 ? "0" : "") + std::to_string(number); }

std::string date_text(std::chrono::year_month_day day) {
  std::string text = std::to_string(static_cast<int>(day.year()));
  text.insert(0, text.size() < 4 ? 4 - text.size() : 0, '0');
  return text + "-" + two_digits(static_cast<int>(static_cast<unsigned>(day.month()))) + "-" +
         two_digits(static_cast<int>(static_cast<unsigned>(day.day())));
}

std::string time_of_day_text(seconds of_day) {
  const auto number = static_cast<int>(of_day.count());
  std::string text = two_digits(number / 3600) + ":" + two_digits(number / 60 % 60);
  if (number % 60 != 0) text += ":" + two_digits(number % 60);
  return text;
}

std::string length_text(seconds length) {
  struct unit {
    std::int64_t length;
    const char* name;
  };
  std::int64_t left = length.count();
  std::string text;
  for (const auto& [size, name] : {unit{3600, "h"}, unit{60, "min"}, unit{1, "s"}}) {
    if (left < size) continue;
    text += (text.empty() ? "" : " ") + std::to_string(left / size) + " " + name;
    left %= size;
  }
  return text.empty() ? "0 s" : text;
}

std::optional<std::chrono::year_month_day> date_of(std::string_view text) noexcept { return read_date(text); }

std::string text_of(local_seconds time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  std::string text = date_text(std::chrono::year_month_day(day)) + "T" + time_of_day_text(time - day);
  if ((time - day).count() % 60 == 0) text += ":00";
  return text;
}

std::string text_of(sys_seconds time) { return text_of(local_seconds(time.time_since_epoch())) + "Z"; }

}  // namespace foliot::schedule
