// Numbers of 64 bits between foliot, which has them unsigned, and PostgreSQL, which has signed ones only.
#pragma once

#include <cstdint>
#include <limits>

namespace foliot::jobs::detail {

/// For a number that the database cannot have: 0, which is the number of no job and no opening.
[[nodiscard]] constexpr std::int64_t to_database(std::uint64_t number) noexcept {
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return number > most ? 0 : static_cast<std::int64_t>(number);
}

/// The inverse. Precondition: `number` is not negative.
[[nodiscard]] constexpr std::uint64_t from_database(std::int64_t number) noexcept {
  return static_cast<std::uint64_t>(number);
}

}  // namespace foliot::jobs::detail
