// The bound of a turn, in which due timers are fired, and the result of the turn.
#pragma once

#include <foliot/core/language.hpp>

#include <cstddef>
#include <limits>

namespace foliot::inline core {

/// How many timers a turn may fire before it returns. A budget of zero fires nothing.
using budget = std::size_t;

/// No bound: run until nothing more is due.
inline constexpr budget unlimited = std::numeric_limits<budget>::max();

/// The result of a turn.
struct expiry {
  /// How many timers have fired.
  std::size_t fired = 0;
  /// Whether the budget ended the turn: timers are still due, or may be. They stay pending; call again. Always false
  /// with an unlimited budget.
  bool more = false;

  friend constexpr bool operator==(const expiry&, const expiry&) = default;
};

}  // namespace foliot::inline core
