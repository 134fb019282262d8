// Instants and counts of nanoseconds for tests.
#pragma once

#include <cstdint>
#include <limits>

#include <foliot/core/instant.hpp>

namespace foliot::test {

inline constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
inline constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();

constexpr instant at(std::int64_t since_origin) { return instant::from_nanoseconds(since_origin); }

}  // namespace foliot::test
