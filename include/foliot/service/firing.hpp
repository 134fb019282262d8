// The argument of callbacks, `firing`, and the types of callbacks.
#pragma once

#include <concepts>
#include <cstdint>
#include <exception>
#include <type_traits>
#include <utility>

#include <foliot/core/callable.hpp>
#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/core/shared_callable.hpp>

namespace foliot::inline service {

/// One firing of a timer or a ticker. A callback takes a `const firing&`, or takes nothing.
struct firing {
  /// The deadline that has passed; for a ticker a point of its grid, exactly.
  instant deadline;
  /// The clock's reading just before the callback, and never before `deadline`, also where a wall clock was set back.
  instant now;
  /// Tickers only: how many later ticks had passed by `now` as well. They do not fire.
  std::uint64_t skipped = 0;

  /// How late the firing is; never negative.
  [[nodiscard]] constexpr duration lateness() const noexcept { return now - deadline; }
};

/// The callback of a timer or a ticker. Closures of up to 24 bytes are stored without an allocation of their own.
using timer_callback = callable<void(const firing&)>;

/// Receives the exceptions that callbacks throw, on the thread that ran the callback. Exceptions that leave the handler
/// itself are swallowed. Several threads may call it at the same time, as many as run callbacks.
using exception_handler = shared_callable<void(std::exception_ptr)>;

/// A function or closure that a timer can run.
template <class Function>
concept timer_function =
    std::invocable<std::decay_t<Function>&, const firing&> || std::invocable<std::decay_t<Function>&>;

}  // namespace foliot::inline service

namespace foliot::detail {

/// Converts both forms of callbacks, with and without the argument, into the one type that services store. Throws
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
