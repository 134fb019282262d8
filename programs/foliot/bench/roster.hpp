// Who takes part: everybody, or those that the user names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "contestant.hpp"
#include "record.hpp"
#include "trials/trial.hpp"

namespace foliot::program::bench {

struct roster {
  /// For the workloads of one thread.
  std::vector<contestant> contestants{};
  /// For the trials: who takes part in several kinds of them may be there as often, under one name.
  std::vector<trial_contestant> trials{};
  /// The peers that were not installed when this program was built, and those that cannot do everything.
  std::vector<absence> left_out{};

  /// All names, each once.
  [[nodiscard]] std::vector<std::string> names() const;
};

/// The queues of the project first, then the floors, then the peers.
[[nodiscard]] roster everybody();

/// Those of these names, in this order; everybody if there are none. Throws failure for a name that
/// there is not, naming all that there are.
[[nodiscard]] roster select(roster all, const std::vector<std::string>& names);

/// The names of those that take part in any of these workloads, each once.
[[nodiscard]] std::vector<std::string> taking_part(const roster& all, const std::vector<workload>& in);

/// The one that the others are compared with: foliot's own, or else the first queue that takes part;
/// empty if none does.
[[nodiscard]] std::string_view reference_of(const roster& who);

}  // namespace foliot::program::bench
