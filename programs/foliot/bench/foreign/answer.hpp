// What a peer outside of this program says on its standard output: one line of JSON,
//
//   {"version": "go1.22.1", "ns": 31.4}
//   {"version": "go1.22.1", "lateness_ns": [812, 790]}
//   {"version": "go1.22.1", "ns": 812.5, "worst_ns": 9120}
//   {"version": "go1.22.1", "ns": 812.5, "bytes": 2610}
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "../trials/trial.hpp"

namespace foliot::program::bench {

/// The figures in `output`, or what is wrong with it: not JSON, no figure, one that cannot be, or not as
/// many sleeps as were asked for.
[[nodiscard]] finding finding_in(std::string_view output, const trial& asked);

/// The version in it; empty if there is none.
[[nodiscard]] std::string version_in(std::string_view output);

}  // namespace foliot::program::bench
