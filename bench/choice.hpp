// The workloads and contestants that the user has chosen and that will not be measured, with the reasons.
//
//   const gaps missing = gaps_in(options, chosen);     // throws if nothing would be measured
//   for (const std::string& each : messages_about(missing)) report(each);
//
// Thread safety: functions without a state.
#pragma once

#include <string>
#include <vector>

#include "bench_options.hpp"
#include "record.hpp"
#include "roster.hpp"

namespace foliot::program::bench {

struct gaps {
  /// Contestants that were asked for by name, and take part in no workload that is measured.
  std::vector<absence> contestants{};
  /// Workloads in which none of the chosen contestants takes part, and those that need more threads than were chosen.
  std::vector<omission> workloads{};
  /// All contestants that take part in one of the workloads in which no chosen one does.
  std::vector<std::string> others{};
};

/// `chosen` are the contestants that take part. Throws failure, with what to name instead, if nothing is left to
/// measure.
[[nodiscard]] gaps gaps_in(const bench_options& options, const roster& chosen);

/// A line for each contestant, and one for all workloads with the same reason.
[[nodiscard]] std::vector<std::string> messages_about(const gaps& missing);

/// "W1, W2, StaggeredTickerLatency": families by their names, and many of Go's by their number.
[[nodiscard]] std::string listed(const std::vector<workload>& all);

/// A reason, and the workloads that are not measured for it.
struct shared_reason {
  std::string reason{};
  std::vector<workload> workloads{};
};
/// Each reason once.
[[nodiscard]] std::vector<shared_reason> by_reason(const std::vector<omission>& all);

}  // namespace foliot::program::bench
