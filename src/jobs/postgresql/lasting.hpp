// Reservations that last: they end with their TTR or by their token, and not with the registration of the node that has
// made them (claim::lasting).
//
// The opening of a token says which kind its reservation is, so that neither the row of a reservation nor the call of a
// claim needs another value. A connection has one random number, whose lasting_bits are zero: it is the opening of the
// reservations that end with the registration. With those bits it is the opening of the others. sql/constants.sql has
// is_lasting() for the database.
//
// No state. Any thread.
#pragma once

#include <cstdint>

#include <foliot/jobs/job.hpp>
#include <foliot/jobs/operations.hpp>

#include "sql_constants.hpp"

namespace foliot::jobs::detail {

/// The opening of a connection, from a random number.
[[nodiscard]] constexpr std::int64_t opening_from(std::int64_t random) noexcept {
  return random & ~sql_constants::lasting_bits;
}

/// The opening of the reservations of this claim, which a connection with that opening makes.
[[nodiscard]] constexpr std::int64_t opening_of(const claim& what, std::int64_t opening) noexcept {
  return what.lasting ? opening | sql_constants::lasting_bits : opening;
}

/// Whether the reservation with this token lasts.
[[nodiscard]] constexpr bool is_lasting(const reservation& token) noexcept {
  return (token.opening & from_database(sql_constants::lasting_bits)) == from_database(sql_constants::lasting_bits);
}

}  // namespace foliot::jobs::detail
