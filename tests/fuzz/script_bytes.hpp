// Scripts as bytes, for the fuzzer: every string of bytes is a script, and a change of a byte or two is a
// change of a step or two.
//
// The first byte chooses where the clock starts. Then each step is an operation in the upper three bits
// of a byte, a number below 32 in the lower five, and, where it says so, an offset:
//
//   0, 6   reset the timer of that number, to an offset
//   1      reset it, to the offset of the step before: a tie, where the clock stood still
//   2      stop it
//   3, 7   advance by an offset and expire at most so many; 31 is no limit
//   4      the next step is what that timer does when it fires
//   5      pop any
//
// An offset is two bytes: a unit, with what is beside it, and how many of it. Units are the powers of two
// up to 2^55 ns, where wheels have their edges, and those of clocks; beside them lie the nanosecond before and the
// one after, and the same length back. `for ever` needs no count, and eight bytes say any length.
//
// What is missing at the end reads as zero. Thread safety: plain functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "queue/conformance/script.hpp"

namespace foliot::conformance {

/// No script from bytes names this timer, or one after it.
inline constexpr std::size_t timers_in_bytes = 32;
/// The budgets that bytes can say lie below this, or are unlimited.
inline constexpr budget budgets_in_bytes = 31;

/// The script that these bytes are. Never fails.
[[nodiscard]] script decode(std::span<const std::uint8_t> bytes);

/// Bytes that decode to `s`: to what it says in words, since a stop, for one, has no offset to keep.
/// Throws std::invalid_argument where a timer or a budget is too large.
[[nodiscard]] std::vector<std::uint8_t> encode(const script& s);

/// How many timers it takes to run `s`: one more than the highest that it names.
[[nodiscard]] std::size_t timers_in(const script& s);

}  // namespace foliot::conformance
