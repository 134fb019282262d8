// A line on a terminal that says how far a long run has come:
//
//    42% [########............]  1,234,567 lines, 3,056,789 a second
//
// It appears when a run has lasted a second, changes at most ten times a second, and is wiped off at
// the end. Without a size to compare with (a pipe) there is no bar, only the numbers.
//
// Thread safety: none, one thread. `update` costs a reading of the clock: call it every few thousand
// lines.
#pragma once

#include <cstdint>
#include <string_view>

#include <foliot/core/callable.hpp>
#include <foliot/core/clock.hpp>
#include <foliot/core/instant.hpp>

namespace foliot::program {

class progress {
 public:
  using writer = callable<void(std::string_view)>;

  /// The run begins now. `total_bytes`: all that is to be read, or 0 if nobody knows.
  progress(const clock& time, std::uint64_t total_bytes, writer write);
  /// wipe()
  ~progress();
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;

  void update(std::uint64_t bytes, std::uint64_t lines);
  /// Takes the line off the terminal, so that something else can be said there.
  void wipe();

 private:
  const clock& time_;
  const std::uint64_t total_bytes_;
  writer write_;
  const instant start_;
  instant next_;  // not before
  bool shown_ = false;
};

/// A writer for progress on standard error. Does nothing if that is no terminal.
[[nodiscard]] progress::writer standard_error_if_terminal();

}  // namespace foliot::program
