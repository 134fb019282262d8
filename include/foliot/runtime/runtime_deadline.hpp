// The deadline of a wait or a timer of a runtime: an instant of the runtime's clock, or on real time also a time point
// of std::chrono::steady_clock, which is the same clock.
//
//   co_await sleep_until(foliot::runtime::now() + 5s);
//   co_await sleep_until(std::chrono::steady_clock::now() + 5s);
//
// On virtual time a time point is refused when it is used: std::invalid_argument. Time points of
// std::chrono::system_clock do not compile: wall_time.hpp has the waits for them. Thread safety: a plain value.
#pragma once

#include <foliot/core/language.hpp>

#include <chrono>
#include <concepts>

#include <foliot/core/instant.hpp>
#include <foliot/core/timer_deadline.hpp>

namespace foliot::runtime {

/// When a timer of a runtime is due, for functions that take a deadline.
class runtime_deadline : public timer_deadline {
 public:
  /// An instant of the runtime's clock.
  constexpr runtime_deadline(instant when) noexcept : timer_deadline(when) {}  // NOLINT(google-explicit-constructor)
  /// A time point of std::chrono::steady_clock; see timer_deadline.
  template <class Clock, class Duration>
  constexpr runtime_deadline(std::chrono::time_point<Clock, Duration> when)  // NOLINT(google-explicit-constructor)
      : timer_deadline(when) {
    static_assert(
        !std::same_as<Clock, std::chrono::system_clock>,  // tidy: allow(seam-clock) its type
        "foliot: the timers of a runtime do not go by the wall clock: include foliot/runtime/wall_time.hpp, and "
        "write co_await sleep_until(when), or at(when) as a case of a select");
  }
};

}  // namespace foliot::runtime
