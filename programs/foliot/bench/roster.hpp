// Who takes part: everybody, or those that the user names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "contestant.hpp"

namespace foliot::program::bench {

struct roster {
  std::vector<contestant> contestants{};
  /// The peers that were not installed when this program was built.
  std::vector<std::string> left_out{};
};

/// The queues of the project first, then the floors, then the peers.
[[nodiscard]] roster everybody();

/// Those of these names, in this order; everybody if there are none. Throws failure for a name that
/// there is not, naming all that there are.
[[nodiscard]] roster select(roster all, const std::vector<std::string>& names);

/// The queue that the others are compared with: foliot's own, or else the first queue that takes part;
/// empty if none does.
[[nodiscard]] std::string_view reference_of(const std::vector<contestant>& contestants);

}  // namespace foliot::program::bench
