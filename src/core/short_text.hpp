// A length of time for people, as reports show it.
//
// Thread safety: a pure function.
#pragma once

#include <cstdint>
#include <string>

#include <foliot/core/duration.hpp>

namespace foliot::detail {

/// To three digits, downwards: "12.4s". Precondition: the length is not negative.
inline std::string short_text(duration length) {
  const std::int64_t count = length.count();
  std::int64_t last_digit = 1;
  while (count / last_digit >= 1000) last_digit *= 10;
  return to_string(duration::nanoseconds(count - count % last_digit));
}

}  // namespace foliot::detail
