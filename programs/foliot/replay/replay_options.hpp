// What `foliot replay` is asked to do.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <foliot/core/duration.hpp>
#include <foliot/queue/wheel_shape.hpp>

namespace foliot::program {

/// The name that stands for every engine there is.
inline constexpr std::string_view all_engines = "all";

struct replay_options {
  std::vector<std::string> logs{};        ///< read in this order; "-" is standard input, at most once
  duration idle{};                        ///< positive
  std::string engine{};                   ///< or all_engines
  std::optional<wheel_shape> wheel{};     ///< the tick and the size, for an engine that is a wheel of that kind
  std::optional<std::string> sessions{};  ///< where the CSV goes; "-" is standard output
  std::optional<std::string> json{};      ///< where the summary for programs goes, likewise
  bool strict = false;                    ///< a malformed line ends the run

  /// Whether standard output is taken by one of these.
  [[nodiscard]] bool standard_output_taken() const noexcept;
};

/// Longer ones could not be added to every time that a log may show.
inline constexpr duration longest_idle = std::chrono::days(21900);

/// Throws failure for options that contradict each other, name an engine that does not exist, or logs
/// that plainly cannot be read.
void check(const replay_options& options);

/// How many bytes there are to read; 0 where that cannot be told, for a pipe. Throws failure as check.
[[nodiscard]] std::uint64_t bytes_to_read(const replay_options& options);

}  // namespace foliot::program
