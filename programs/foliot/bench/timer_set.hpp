// What a contestant provides, so that the workloads can run over it: N timers in one array, and the
// calls of the queue or the library that keeps them.
//
// Instants are nanoseconds of the harness's virtual time, delays are nanoseconds from then. A set whose
// `time` is real_time reads a clock of its own and goes by the delays alone. The sink of `refresh` and
// `expire` gets each timer that fires, and may start it again.
//
// Thread safety: none, one thread.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <foliot/core/expiry.hpp>

namespace foliot::program::bench {

enum class time_kind {
  virtual_time,  ///< the caller says what time it is
  real_time,     ///< a loop that reads the system's clock itself
  no_time,       ///< a floor: nothing fires
};

[[nodiscard]] constexpr std::string_view name(time_kind kind) noexcept {
  switch (kind) {
    case time_kind::virtual_time: return "virtual";
    case time_kind::real_time: return "real";
    case time_kind::no_time: break;
  }
  return "none";
}

/// Stands for any sink where the concept is checked.
template <class Timer>
struct any_timer_sink {
  void operator()(Timer&) const;
};

template <class Set>
concept timer_set = std::constructible_from<Set, std::size_t> &&
                    requires(Set set, std::size_t index, typename Set::timer& timer, std::int64_t t, budget limit,
                             any_timer_sink<typename Set::timer> sink) {
                      { Set::time } -> std::convertible_to<time_kind>;
                      { set[index] } -> std::same_as<typename Set::timer&>;
                      { timer.payload } -> std::same_as<std::uint64_t&>;  // 8 bytes of the user's own
                      set.start(timer, t, t);  // (timer, now, delay); the timer is not pending
                      { set.stop(timer) } -> std::same_as<bool>;
                      set.reset(timer, t, t);  // (timer, now, delay)
                      set.prefetch(timer);
                      set.refresh(t, sink);  // time has moved on by a little
                      { set.expire(t, limit, sink) } -> std::same_as<expiry>;
                    };

/// A set that reads the system's clock can start timers that have been due for a while, so that firing
/// all of them need not be waited for.
template <class Set>
concept overdue_timer_set = timer_set<Set> && requires(Set set, typename Set::timer& timer, std::int64_t ago) {
  set.start_overdue(timer, ago);
};

}  // namespace foliot::program::bench
