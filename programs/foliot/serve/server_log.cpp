#include "server_log.hpp"

#include <array>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <string>

#include <fmt/format.h>
#include <foliot/core/clock.hpp>

#include "../printable.hpp"
#include "../timestamp.hpp"

namespace foliot::program {

namespace {

constexpr std::array<std::string_view, 3> names{"info", "warning", "failure"};

}  // namespace

void append_log_milliseconds(std::string& to, instant time) {
  constexpr std::int64_t second = 1'000'000'000;
  const std::int64_t fraction = time.nanoseconds() % second;
  append_iso_time(to, time - duration::nanoseconds(fraction));
  to.pop_back();  // the Z
  fmt::format_to(std::back_inserter(to), ".{:03}Z", fraction / 1'000'000);
}

void server_log::write(log_level level, std::string_view line) const {
  if (quiet_ && level == log_level::info) return;
  std::string text;
  append_log_milliseconds(text, wall_clock::instance().now());
  text += ' ';
  text += names[static_cast<std::size_t>(level)];
  text += ' ';
  text += printable(line);
  text += '\n';
  static_cast<void>(std::fwrite(text.data(), 1, text.size(), stderr));
}

}  // namespace foliot::program
