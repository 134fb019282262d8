// Checks that a history is linearizable: that there is an order of its steps, each within the time of its operation, in
// which the specification gives the same answers.
//
// The search is Wing and Gong's, with Lowe's memory of visited states: if two orders of the same steps lead to the same
// state, the search goes on from one of them only. The time is exponential in the number of overlapping operations, so
// histories must be short: at most 64 steps.
//
// J. M. Wing, C. Gong, "Testing and Verifying Concurrent Objects", 1993; G. Lowe, "Testing for Linearizability",
// 2017.
#pragma once

#include <optional>
#include <string>

#include "history.hpp"

namespace foliot::linearizability {

/// Nothing if the history is linearizable; else its text, and the longest order that was found.
std::optional<std::string> violation(const history& seen);

}  // namespace foliot::linearizability
