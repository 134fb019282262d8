#include "writer.hpp"

#include <array>
#include <iterator>

#include <fmt/format.h>

#include "front_check.hpp"
#include "problem.hpp"

namespace foliot::program::http {

namespace {

/// Responses that have neither a body nor its length.
constexpr bool never_has_body(int status) noexcept { return status < 200 || status == 204 || status == 304; }

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
  fmt::format_to(std::back_inserter(to), "HTTP/1.1 {} {}\r\nDate: ", what.status, phrase_of(what.status));
  append_date(to, now);
  to += "\r\n";
  if (form.is_stream) {
    if (!form.is_http_1_0) to += "Transfer-Encoding: chunked\r\n";
  } else if (!never_has_body(what.status)) {
    fmt::format_to(std::back_inserter(to), "Content-Length: {}\r\n", what.body.size());
  }
  if (!what.content_type.empty()) append_field(to, "Content-Type", what.content_type);
  to += "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n";
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
  static constexpr std::array days = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr std::array months = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                        "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  fmt::format_to(std::back_inserter(to), "{}, {:02} {} {:04} {:02}:{:02}:{:02} GMT",
                 days.at(std::chrono::weekday(day).c_encoding()), unsigned{date.day()},
                 months.at(unsigned{date.month()} - 1), int{date.year()}, clock.hours().count(),
                 clock.minutes().count(), clock.seconds().count());
}

}  // namespace foliot::program::http
