// The argument of callbacks, `firing`, and the type of the callbacks of timers and tickers.
//
// Thread safety: plain values; a callback belongs to its timer.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <foliot/core/callable.hpp>
#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>

namespace foliot::inline core {

/// One firing of a timer or a ticker. A callback takes a `const firing&`, or takes nothing.
struct firing {
  /// The deadline that has passed; for a ticker a point of its grid, exactly.
  instant deadline;
  /// The clock's reading just before the callback (in an event loop: the instant that its turn was given), and never
  /// before `deadline`, also where a wall clock was set back.
  instant now;
  /// Tickers only: how many later ticks had passed by `now` as well, and with an executor how many came while the
  /// callback before this one ran. They do not fire.
  std::uint64_t skipped = 0;

  /// How late the firing is; never negative.
  [[nodiscard]] constexpr duration lateness() const noexcept { return now - deadline; }
};

/// The callback of a timer or a ticker. Closures of up to 24 bytes are stored without an allocation of their own.
using timer_callback = callable<void(const firing&)>;

/// A function or closure that a timer can run.
template <class Function>
concept timer_function =
    std::invocable<std::decay_t<Function>&, const firing&> || std::invocable<std::decay_t<Function>&>;

}  // namespace foliot::inline core

namespace foliot::detail {

/// Converts both forms of callbacks, with and without the argument, into the one type that timers store. Throws
/// std::invalid_argument for a null function, std::bad_alloc, and what copying the function throws.
template <timer_function Function>
timer_callback to_callback(Function&& function) {
  using stored = std::decay_t<Function>;
  refuse_null<stored>(function);
  if constexpr (std::invocable<stored&, const firing&>) {
    return timer_callback(std::forward<Function>(function));
  } else {
    return timer_callback([kept = stored(std::forward<Function>(function))](const firing&) mutable { kept(); });
  }
}

}  // namespace foliot::detail
