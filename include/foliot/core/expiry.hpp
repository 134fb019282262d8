// The answer of whatever runs timers for a bounded turn, and the bound itself.
#pragma once

#include <foliot/core/language.hpp>

#include <cstddef>
#include <limits>

namespace foliot::inline core {

/// How many timers a turn may fire before it returns. A budget of zero fires nothing.
using budget = std::size_t;

/// No bound: run until nothing more is due.
inline constexpr budget unlimited = std::numeric_limits<budget>::max();

/// What a turn did.
struct expiry {
  std::size_t fired = 0;
  /// Whether the turn ended before its work did: something is still due, or may be. Call again; nothing
  /// was lost. Never so with an unlimited budget.
  bool more = false;

  friend constexpr bool operator==(const expiry&, const expiry&) = default;
};

}  // namespace foliot::inline core
