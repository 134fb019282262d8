// The log of the server: one line on standard error for each thing that an operator should know, none for each request.
#pragma once

#include <string>
#include <string_view>

#include <foliot/core/instant.hpp>

namespace foliot::program {

/// A message of the library without its name, which the program's messages begin with.
[[nodiscard]] constexpr std::string_view without_name(std::string_view message) noexcept {
  constexpr std::string_view name = "foliot: ";
  if (message.starts_with(name)) message.remove_prefix(name.size());
  return message;
}

/// How much an operator should care.
enum class log_level : unsigned char { info, warning, failure };

/// Appends a time of the wall clock in UTC, always with three digits of the second's fraction:
/// 2026-11-22T22:30:52.980Z.
void append_log_milliseconds(std::string& to, instant time);

/// Writes lines of the time in UTC, the level and a sentence. Control characters in it are escaped.
/// Any thread; a line is written as a whole. Errors of standard error are ignored, and so is a reader that does not
/// read: see line_output.hpp. Without memory for a line, another one says so.
class server_log {
 public:
  /// With `quiet`, lines of the level info are left out.
  explicit server_log(bool quiet) noexcept : quiet_(quiet) {}

  void info(std::string_view line) const noexcept { write(log_level::info, line); }
  void warning(std::string_view line) const noexcept { write(log_level::warning, line); }
  void failure(std::string_view line) const noexcept { write(log_level::failure, line); }

 private:
  void write(log_level level, std::string_view line) const noexcept;

  bool quiet_;
};

}  // namespace foliot::program
