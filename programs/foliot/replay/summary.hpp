// The result of a replay, as text and as JSON.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <foliot/core/duration.hpp>
#include <foliot/service/statistics.hpp>

#include "comparison.hpp"

namespace foliot::program {

struct replay_summary {
  std::vector<std::string> logs;
  duration idle;
  std::string engine;  ///< or all_engines

  std::uint64_t lines = 0;      ///< that were read, malformed ones included
  std::uint64_t malformed = 0;  ///< of these lines
  std::uint64_t out_of_order = 0;
  std::uint64_t clients = 0;
  bool clients_exact = true;
  std::uint64_t sessions = 0;

  service_counters timers;
  duration wall;
  std::size_t peak_memory_bytes = 0;

  /// With all_engines, the result of each engine, the reference first, whose sessions and timers are those above. Else
  /// empty.
  std::vector<engine_result> engines;

  [[nodiscard]] double wall_seconds() const noexcept;
  /// Starts, resets and firings; 0 for a run that is too short. With several engines, the reference's.
  [[nodiscard]] double timer_operations_per_second() const noexcept;
  [[nodiscard]] double lines_per_second() const noexcept;
};

/// A line of titles and one for each engine; the first is the reference. Precondition: there is one.
[[nodiscard]] std::string comparison_table(std::span<const engine_result> results);

/// Some twenty aligned lines, with a table of the engines if there are several. docs/replay.md shows them.
[[nodiscard]] std::string summary_text(const replay_summary& summary);

/// One object, indented; docs/replay.md describes its keys. In names of files, bytes that are not UTF-8 are replaced.
[[nodiscard]] std::string summary_json(const replay_summary& summary);

}  // namespace foliot::program
