// Logs as one stream of time: the order in which they are read, and the places where their time goes back.
//
// Thread safety: none, one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>

#include "log_line.hpp"

namespace foliot::program {

/// The logs in the order of their first lines that are in the format; those without such a line first, those that begin
/// at the same time as they were given. As they were given, too, if one of them is not a regular file, since such a log
/// can be read only once. Throws failure where a log cannot be read.
[[nodiscard]] std::vector<std::string> in_order_of_first_lines(std::vector<std::string> logs, log_format format);

/// Finds the lines that are earlier than a line before them by more than the idle time. Servers write a line when its
/// request ends, so lines come a little late; one that comes later than that tells of a clock that was wrong, or of
/// logs that are no stream of time, and distorts the sessions.
class backward_lines {
 public:
  /// Precondition: `idle` is positive.
  explicit backward_lines(duration idle) : idle_(idle) {}

  /// The following lines are those of this log.
  void begin_log(const std::string& name);

  /// Adds the time of the line of that number. True if the line goes back too far; then sentence() describes it if it
  /// is the first of a row of such lines in its log.
  [[nodiscard]] bool add(std::uint64_t number, instant time) noexcept {
    if (time >= latest_.time) {
      latest_ = {log_, number, time};
    } else if (latest_.time - time > idle_) {
      ++count_;
      return true;
    }
    any_in_log_ = true;
    behind_ = false;
    return false;
  }

  /// Describes the line for which add() has just returned true; nothing if the line before it went back, too.
  [[nodiscard]] std::optional<std::string> sentence(std::uint64_t number, instant time);

  /// How many lines have gone back too far.
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

 private:
  struct place {
    std::size_t log;  // in logs_
    std::uint64_t line;
    instant time;
  };
  [[nodiscard]] std::string text_of(const place& where) const;

  const duration idle_;
  std::vector<std::string> logs_;
  std::size_t log_ = 0;
  place latest_{0, 0, instant::earliest()};
  bool any_in_log_ = false;  // a line of this log has been added
  bool behind_ = false;      // the line before went back too far
  std::uint64_t count_ = 0;
};

/// The name of a log in messages.
[[nodiscard]] std::string shown_log(const std::string& name);

}  // namespace foliot::program
