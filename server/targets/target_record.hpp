// The record of a target, which is a job of the server's own tube `tube_of_targets`, and never due:
//
//   key    the name of the tube whose jobs are delivered
//   body   JSON: {"format": 1, "target": the plan, "state": whether it is enabled, since when, who has done that, and
//   why}
//
// A change replaces the record if it has the version that was seen, so of two changes each sees what the one before has
// left. The version of the job is that of the target.
//
// Thread safety: values and pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <foliot/jobs/broker.hpp>
#include <foliot/jobs/job.hpp>
#include <foliot/jobs/operations.hpp>
#include <foliot/runtime/task.hpp>

#include "target_plan.hpp"

namespace foliot::program {

/// How many targets a store has at the most, but for those that were made at the same time: all are looked at together.
inline constexpr std::size_t most_targets = 1000;

/// What becomes of a target besides its plan.
struct target_state {
  bool is_enabled = true;
  jobs::utc_time made{};
  jobs::utc_time since{};  ///< of is_enabled
  std::string by = {};     ///< who has enabled or disabled it; `receiver`: its answer 410
  std::string why = {};    ///< a sentence

  friend bool operator==(const target_state&, const target_state&) = default;
};

struct target_record {
  std::string tube;
  jobs::job_version version = 0;
  std::optional<target_plan> plan = {};  ///< nothing if it cannot be read
  target_state state = {};
  std::string fault = {};  ///< why there is no plan; else empty

  [[nodiscard]] bool delivers() const noexcept { return plan && state.is_enabled; }
  /// O(bytes).
  [[nodiscard]] static target_record in(const jobs::job& record, jobs::job_version version);
};

/// The put of a record. `expected`: the version that it replaces; 0: it is new, and is refused if there is one.
[[nodiscard]] jobs::put put_of_target(std::string tube, const target_plan& plan, const target_state& state,
                                      jobs::job_version expected);

/// The records of the store, in the order of their tubes, but without those that are in `known` with the same version:
/// of these only tube and version are told. `known` is in the same order. One operation for each `most_targets` of
/// them, and one for each record that is read.
struct seen_target {
  std::string tube;
  jobs::job_version version = 0;
  std::optional<target_record> record = {};
};
[[nodiscard]] task<std::vector<seen_target>> look_at_targets(jobs::client& by, const std::vector<seen_target>& known);
[[nodiscard]] task<std::vector<seen_target>> look_at_targets(jobs::broker& by, const std::vector<seen_target>& known);

}  // namespace foliot::program
