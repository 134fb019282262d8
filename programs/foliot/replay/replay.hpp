// `foliot replay`: finds the sessions in access logs.
//
// Thread safety: none, one thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <foliot/core/duration.hpp>
#include <foliot/queue/wheel_shape.hpp>

#include "log_line.hpp"

namespace foliot::program {

/// Stands for every engine.
inline constexpr std::string_view all_engines = "all";

struct replay_options {
  std::vector<std::string> logs{};        ///< "-" is standard input, at most once
  log_format format = log_format::any;    ///< of their lines
  duration idle{};                        ///< positive
  std::string engine{};                   ///< by name, or all_engines
  std::optional<wheel_shape> wheel{};     ///< the tick and the size, for an engine that is a wheel of that kind
  std::optional<std::string> sessions{};  ///< where the CSV goes; "-" is standard output
  std::optional<std::string> json{};      ///< where the summary for programs goes, likewise
  bool strict = false;                    ///< a malformed line ends the run, and one that goes back too far

  /// Whether one of these files is standard output.
  [[nodiscard]] bool standard_output_taken() const noexcept;
};

/// With a longer one, some times that a log can have would be too late to add it.
inline constexpr duration longest_idle = std::chrono::days(21900);

/// The slots of a wheel at the most: at 1 ms a turn of 70 minutes, with 64 MiB; in hierarchical-wheel for each level
/// that is used. Those of 2^30, which an engine can have, would take 16 GiB before the first line is read.
inline constexpr std::size_t most_wheel_slots = std::size_t{1} << 22;

/// Throws failure for options that contradict each other, name an engine that does not exist, or name a log that
/// plainly cannot be read.
void check(const replay_options& options);

/// How many bytes there are to read; 0 where that is unknown, as for a pipe. Throws failure as check().
[[nodiscard]] std::uint64_t bytes_to_read(const replay_options& options);

/// Reads the logs, writes the files, and prints the summary to standard output, or to standard error if a file goes to
/// standard output. Throws failure. In that case no file is written, except where engines disagree: then all files are
/// complete, and contain the disagreement.
void replay(const replay_options& options);

}  // namespace foliot::program
