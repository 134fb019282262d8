// A line on a terminal with the progress of a long run:
//
//    42% [########............]  1,234,567 lines, 3,056,789 a second
//
// It appears when the run has lasted a second, changes at most ten times a second, and is wiped off at the end. Where
// the size of the input is unknown (a pipe) there is no bar, only the numbers.
//
// Thread safety: none, one thread. `update` reads the clock, so it should be called every few thousand lines.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <foliot/core/callable.hpp>
#include <foliot/core/clock.hpp>
#include <foliot/core/instant.hpp>

namespace foliot::program {

class progress {
 public:
  using writer = callable<void(std::string_view)>;

  /// The run begins now. `total_bytes` is the size of the input, or 0 if it is unknown. `unit` is what is counted.
  progress(const clock& time, std::uint64_t total_bytes, writer write, std::string_view unit = "lines");
  /// Calls wipe().
  ~progress();
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;

  void update(std::uint64_t bytes, std::uint64_t lines);
  /// Removes the line from the terminal, so that something else can be written there.
  void wipe();

 private:
  const clock& time_;
  const std::uint64_t total_bytes_;
  writer write_;
  const std::string unit_;
  const instant start_;
  instant next_;  // the line does not change before
  bool shown_ = false;
};

/// The progress of a run, for an output that is no terminal, such as a log: a line every 10 s,
///
///   moved 1,234,567 jobs so far, 3,056 a second
///
/// Thread safety: none, one thread.
class logged_progress {
 public:
  /// The run begins now. `write` gets each line without its end. `done` and `unit`: "moved" and "jobs" above.
  logged_progress(const clock& time, progress::writer write, std::string_view done, std::string_view unit);

  void update(std::uint64_t count);

 private:
  const clock& time_;
  progress::writer write_;
  const std::string done_;
  const std::string unit_;
  const instant start_;
  instant next_;
};

/// Writes to standard error if that is a terminal; else does nothing.
[[nodiscard]] progress::writer standard_error_if_terminal();

}  // namespace foliot::program
