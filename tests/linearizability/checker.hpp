// Whether a history is linearizable: whether there is an order of its steps, each within the time of its
// operation, that the specification takes with the answers that were given.
//
// Wing and Gong's search, with Lowe's memory of what has been tried: a set of steps that leads to the same state
// in another order is not gone into twice. Exponential in what overlaps, and so for short histories: at most
// 64 steps.
//
// J. M. Wing, C. Gong, "Testing and Verifying Concurrent Objects", 1993; G. Lowe, "Testing for Linearizability",
// 2017.
#pragma once

#include <optional>
#include <string>

#include "history.hpp"

namespace foliot::linearizability {

/// Nothing if it is; else the history, and how far an order of it went.
std::optional<std::string> violation(const history& seen);

}  // namespace foliot::linearizability
