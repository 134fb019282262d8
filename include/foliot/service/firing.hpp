// What a callback may know about the firing that it serves, and the types of callbacks.
#pragma once

#include <concepts>
#include <cstdint>
#include <exception>
#include <type_traits>
#include <utility>

#include <foliot/core/callable.hpp>
#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>

namespace foliot::inline service {

/// One firing of a timer or a ticker. A callback takes it as its argument, or takes nothing.
struct firing {
  /// When it was to fire: for a ticker a point of its grid, exactly.
  instant deadline;
  /// The clock just before the callback; the deadline, where somebody has set a wall clock back by then.
  instant now;
  /// Tickers only: how many later beats had passed by now too. They are dropped, and counted here.
  std::uint64_t skipped = 0;

  /// How late it is; never negative.
  [[nodiscard]] constexpr duration lateness() const noexcept { return now - deadline; }
};

/// What a timer runs. Closures of up to 24 bytes are stored without an allocation of their own.
using timer_callback = callable<void(const firing&)>;

/// What gets the exceptions that callbacks throw. It runs on the thread that ran the callback. What it throws itself is
/// swallowed.
using exception_handler = callable<void(std::exception_ptr)>;

/// A function or closure that a timer can run.
template <class Function>
concept timer_function =
    std::invocable<std::decay_t<Function>&, const firing&> || std::invocable<std::decay_t<Function>&>;

}  // namespace foliot::inline service

namespace foliot::detail {

/// Makes the one type of callback that engines store out of the two forms that users write. Throws as
/// timer_callback's constructor does.
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
