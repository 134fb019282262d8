// Random draws in whole numbers alone, so that a seed gives the same sample on every machine: floating point, above all
// a logarithm, may differ in its last bit, and one bit can change the order of a log.
//
// Thread safety: that of the stream.
#pragma once

#include <cstdint>

#include <foliot/core/duration.hpp>
#include <foliot/core/seam/random.hpp>

namespace foliot::program {

/// True `permille` times in a thousand.
[[nodiscard]] inline bool chance(random_stream& random, unsigned permille) noexcept {
  return random.below(1000) < permille;
}

/// Geometrically distributed with this mean, at least 1.
[[nodiscard]] inline unsigned geometric(random_stream& random, unsigned mean) noexcept {
  unsigned count = 1;
  while (random.below(mean) != 0) ++count;
  return count;
}

/// Exponentially distributed with this mean: the gap between independent events.
///
/// John von Neumann's method, "Various techniques used in connection with random digits" (1951), which only compares: a
/// run of falling uniform numbers has an odd length with probability 1 - 1/e, and its first number is then distributed
/// as the fraction of an exponential one; each even run adds one.
[[nodiscard]] inline duration exponential(random_stream& random, duration mean) noexcept {
  for (std::int64_t whole = 0;; ++whole) {
    const std::uint64_t first = random.next();
    std::uint64_t least = first;
    bool odd = true;
    for (std::uint64_t next = random.next(); next < least; next = random.next()) {
      least = next;
      odd = !odd;
    }
    if (!odd) continue;
    __extension__ using wide = unsigned __int128;
    const wide fraction = (static_cast<wide>(first) * static_cast<std::uint64_t>(mean.count())) >> 64;
    return mean * whole + duration::nanoseconds(static_cast<std::int64_t>(fraction));
  }
}

}  // namespace foliot::program
