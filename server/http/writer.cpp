#include "writer.hpp"

#include <cstddef>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

#include "front_check.hpp"
#include "problem.hpp"

namespace foliot::program::http {

namespace {

/// Responses that have neither a body nor its length.
constexpr bool never_has_body(int status) noexcept { return status < 200 || status == 204 || status == 304; }

void append_number(std::string& to, std::size_t number) {
  const fmt::format_int digits(number);
  to.append(digits.data(), digits.size());
}
/// With a zero in front of a single digit.
void append_two_digits(std::string& to, unsigned number) {
  to += static_cast<char>('0' + number / 10);
  to += static_cast<char>('0' + number % 10);
}

}  // namespace

bool append_field(std::string& to, std::string_view name, std::string_view value) {
  if (!is_token(name) || !is_field_value(value)) return false;
  to.append(name).append(": ").append(value).append("\r\n");
  return true;
}

bool has_body(const response& what, const response_form& form) noexcept {
  return !form.is_head && !never_has_body(what.status) && !what.body.empty();
}

void append_head(std::string& to, const response& what, const response_form& form, std::chrono::sys_seconds now) {
  to += "HTTP/1.1 ";
  append_number(to, static_cast<std::size_t>(what.status));
  to.append(" ").append(phrase_of(what.status)).append("\r\nDate: ");
  append_date(to, now);
  to += "\r\n";
  if (form.is_stream) {
    if (!form.is_http_1_0) to += "Transfer-Encoding: chunked\r\n";
  } else if (!never_has_body(what.status)) {
    to += "Content-Length: ";
    append_number(to, what.body.size());
    to += "\r\n";
  }
  if (!what.content_type.empty()) append_field(to, "Content-Type", what.content_type);
  to += what.is_same_for_all ? "Cache-Control: no-cache\r\n" : "Cache-Control: no-store\r\n";
  to += "X-Content-Type-Options: nosniff\r\n";
  for (const field& each : what.fields) append_field(to, each.name, each.value);
  if (form.closes) {
    to += "Connection: close\r\n";
  } else if (form.is_http_1_0) {
    to += "Connection: keep-alive\r\n";
  }
  to += "\r\n";
}

void append_chunk(std::string& to, std::string_view piece) {
  fmt::format_to(std::back_inserter(to), "{:x}\r\n", piece.size());
  to.append(piece).append("\r\n");
}

void append_date(std::string& to, std::chrono::sys_seconds time) {
  static constexpr std::string_view days = "SunMonTueWedThuFriSat";
  static constexpr std::string_view months = "JanFebMarAprMayJunJulAugSepOctNovDec";
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  const auto year = static_cast<unsigned>(int{date.year()});
  // Not by a format: that takes ten times as long, and each response has a date.
  to.append(days.substr(3 * std::size_t{std::chrono::weekday(day).c_encoding()}, 3)).append(", ");
  append_two_digits(to, unsigned{date.day()});
  to.append(" ").append(months.substr(3 * (std::size_t{unsigned{date.month()}} - 1), 3)).append(" ");
  append_two_digits(to, year / 100);
  append_two_digits(to, year % 100);
  to += ' ';
  append_two_digits(to, static_cast<unsigned>(clock.hours().count()));
  to += ':';
  append_two_digits(to, static_cast<unsigned>(clock.minutes().count()));
  to += ':';
  append_two_digits(to, static_cast<unsigned>(clock.seconds().count()));
  to += " GMT";
}

}  // namespace foliot::program::http
