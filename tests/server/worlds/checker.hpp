// The checker of histories: it knows the promises of the server and nothing of its code.
//
// Each rule is sound: it speaks only where no order of the commands, and no fate of those without an answer, could
// explain what the clients saw. The rules are those of history.py, and some that need virtual time: order, lateness,
// the truth of refusals.
#pragma once

#include <string>
#include <vector>

#include "history.hpp"

namespace foliot::program::worlds {

/// All breaches of the promises, as sentences that begin with the name of the rule. O(n²) for n events.
[[nodiscard]] std::vector<std::string> breaches(const history& of);

/// An event as a person reads it.
[[nodiscard]] std::string shown(const event& it);

}  // namespace foliot::program::worlds
