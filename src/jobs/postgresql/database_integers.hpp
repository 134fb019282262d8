// Unsigned numbers of foliot as the signed ones of the database.
#pragma once

#include <cstdint>
#include <limits>

namespace foliot::jobs::detail {

/// As the database has it; 0, which no job has, for a number beyond its range.
[[nodiscard]] constexpr std::int64_t to_database(std::uint64_t number) noexcept {
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return number > most ? 0 : static_cast<std::int64_t>(number);
}

[[nodiscard]] constexpr std::uint64_t from_database(std::int64_t number) noexcept {
  return static_cast<std::uint64_t>(number);
}

}  // namespace foliot::jobs::detail
