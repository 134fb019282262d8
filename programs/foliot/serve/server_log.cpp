#include "server_log.hpp"

#include <unistd.h>

#include <array>
#include <cstdint>
#include <iterator>
#include <string>

#include <fmt/format.h>
#include <foliot/core/clock.hpp>

#include "../printable.hpp"
#include "../timestamp.hpp"
#include "line_output.hpp"

namespace foliot::program {

namespace {

constexpr std::array<std::string_view, 3> names{"info", "warning", "failure"};

line_output& standard_error() noexcept {
  static line_output shared(STDERR_FILENO);
  return shared;
}

}  // namespace

void append_log_milliseconds(std::string& to, instant time) {
  constexpr std::int64_t second = 1'000'000'000;
  const std::int64_t fraction = time.nanoseconds() % second;
  append_iso_time(to, time - duration::nanoseconds(fraction));
  to.pop_back();  // the Z
  fmt::format_to(std::back_inserter(to), ".{:03}Z", fraction / 1'000'000);
}

void server_log::write(log_level level, std::string_view line) const noexcept {
  if (quiet_ && level == log_level::info) return;
  try {
    std::string text;
    append_log_milliseconds(text, wall_clock::instance().now());
    text += ' ';
    text += names[static_cast<std::size_t>(level)];
    text += ' ';
    text += printable(line);
    text += '\n';
    standard_error().write(text);
  } catch (...) {
    standard_error().write("foliot: there is not enough memory for a line of the log\n");
  }
}

}  // namespace foliot::program
