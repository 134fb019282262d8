#include "server_log.hpp"

#include <unistd.h>

#include <array>
#include <cstdint>
#include <iterator>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <foliot/core/clock.hpp>

#include "line_output.hpp"
#include "text/printable.hpp"
#include "text/secrets.hpp"
#include "text/timestamp.hpp"

namespace foliot::program {

namespace {

constexpr std::array<std::string_view, 4> names{"info", "audit", "warning", "failure"};

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

server_log::~server_log() {
  const lock held(lock_);
  for (const auto& [kind, of_kind] : kinds_) {
    if (of_kind.left_out == 0) continue;
    try {
      write(of_kind.level, fmt::format("{}: {} more lines were left out", kind, of_kind.left_out));
    } catch (const std::bad_alloc&) {
      return;  // the process ends
    }
  }
}

std::optional<std::uint64_t> server_log::note(log_level level, std::string_view kind, duration between) const {
  const lock held(lock_);
  auto found = kinds_.find(kind);
  if (found == kinds_.end()) found = kinds_.emplace(kind, repeated()).first;
  repeated& of_kind = found->second;
  const instant now = time_.now();
  of_kind.level = level;
  if (now < of_kind.quiet_until) {
    ++of_kind.left_out;
    return std::nullopt;
  }
  of_kind.quiet_until = now + between;
  return std::exchange(of_kind.left_out, 0);
}

void server_log::write_some(log_level level, std::string_view kind, std::string_view line,
                            duration between) const noexcept {
  try {
    const std::optional<std::uint64_t> left_out = note(level, kind, between);
    if (!left_out) return;
    if (*left_out == 0) return write(level, line);
    write(level, fmt::format("{} ({} more like it since the last such line)", line, *left_out));
  } catch (...) {
    write(level, line);  // without memory for the count
  }
}

void server_log::write(log_level level, std::string_view line) const noexcept {
  if (quiet_ && level == log_level::info) return;
  try {
    std::string text;
    append_log_milliseconds(text, wall_clock::instance().now());
    text += ' ';
    text += names[static_cast<std::size_t>(level)];
    text += ' ';
    text += printable(without_secrets(line));
    text += '\n';
    if (write_line_ != nullptr) return write_line_(text);
    standard_error().write(text);
  } catch (...) {
    standard_error().write("foliot: there is not enough memory for a line of the log\n");
  }
}

}  // namespace foliot::program
