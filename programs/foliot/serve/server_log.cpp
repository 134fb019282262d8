#include "server_log.hpp"

#include <array>
#include <cstdio>
#include <string>

#include <foliot/core/clock.hpp>
#include <foliot/core/grid.hpp>

#include "../printable.hpp"
#include "../timestamp.hpp"

namespace foliot::program {

namespace {

constexpr std::array<std::string_view, 3> names{"info", "warning", "failure"};

/// To the millisecond, which is as much as a reader wants.
instant now_in_milliseconds() {
  const std::int64_t now = wall_clock::instance().now().nanoseconds();
  return instant::from_nanoseconds(now - now % 1'000'000);
}

}  // namespace

void server_log::write(log_level level, std::string_view line) const {
  if (quiet_ && level == log_level::info) return;
  std::string text;
  append_iso_time(text, now_in_milliseconds());
  text += ' ';
  text += names[static_cast<std::size_t>(level)];
  text += ' ';
  text += printable(line);
  text += '\n';
  static_cast<void>(std::fwrite(text.data(), 1, text.size(), stderr));
}

}  // namespace foliot::program
