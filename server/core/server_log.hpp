// The log of the server: one line on standard error for each thing that an operator should know, none for each request.
//
// Warnings and failures that clients can cause any number of times have a kind. Of each kind there is one line in
// `between_warnings`, or the time that is given; the next line of the kind, or the last one of the log, has the number
// of those that were left out.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <foliot/core/annotations.hpp>
#include <foliot/core/clock.hpp>
#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/core/sync/mutex.hpp>

namespace foliot::program {

/// How much an operator should care.
enum class log_level : unsigned char { info, audit, warning, failure };

/// Appends a time of the wall clock in UTC, always with three digits of the second's fraction:
/// 2026-11-22T22:30:52.980Z.
void append_log_milliseconds(std::string& to, instant time);

/// Writes lines of the time in UTC, the level and a sentence. Control characters in it are escaped, and the secrets of
/// access tokens are left out (text/secrets.hpp).
/// Any thread; a line is written as a whole. Errors of standard error are ignored, and so is a reader that does not
/// read: see line_output.hpp. Without memory for a line, another one says so.
class server_log {
 public:
  static constexpr duration between_warnings = duration::nanoseconds(10'000'000'000);

  /// With `quiet`, lines of the level info are left out. Tests give another clock, and get the lines.
  explicit server_log(bool quiet, const clock& time = monotonic_clock::instance(),
                      std::function<void(std::string_view)> write_line = nullptr)
      : quiet_(quiet), time_(time), write_line_(std::move(write_line)) {}
  server_log(const server_log&) = delete;
  server_log& operator=(const server_log&) = delete;
  /// Writes how many warnings were left out.
  ~server_log();

  void info(std::string_view line) const noexcept { write(log_level::info, line); }
  /// What somebody has changed who may administer: always written, also with `quiet`.
  void audit(std::string_view line) const noexcept { write(log_level::audit, line); }
  void warning(std::string_view line) const noexcept { write(log_level::warning, line); }
  void failure(std::string_view line) const noexcept { write(log_level::failure, line); }
  /// A warning of this kind, of which there may be many: all texts of a kind share the one line in that time.
  void warning(std::string_view kind, std::string_view line, duration between = between_warnings) const noexcept {
    write_some(log_level::warning, kind, line, between);
  }
  void failure(std::string_view kind, std::string_view line) const noexcept {
    write_some(log_level::failure, kind, line, between_warnings);
  }

 private:
  /// The lines of a kind.
  struct repeated {
    log_level level = log_level::warning;
    instant quiet_until = instant::earliest();
    std::uint64_t left_out = 0;
  };

  void write(log_level level, std::string_view line) const noexcept;
  void write_some(log_level level, std::string_view kind, std::string_view line, duration between) const noexcept;
  /// Counts a line of this kind. Returns how many were left out before it; nothing if this one is, too. Throws
  /// std::bad_alloc.
  [[nodiscard]] std::optional<std::uint64_t> note(log_level level, std::string_view kind, duration between) const;

  const bool quiet_;
  const clock& time_;
  const std::function<void(std::string_view)> write_line_;
  mutable mutex lock_{lock_rank::object};
  mutable std::map<std::string, repeated, std::less<>> kinds_ FOLIOT_GUARDED_BY(lock_);
};

}  // namespace foliot::program
