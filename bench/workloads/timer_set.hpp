// A set of timers, which a contestant provides for the workloads of one thread: N timers in one array, and the calls of
// the queue or the library that keeps them.
//
// The workload passes the time (`now`). A set whose `time` is real_time reads a clock of its own and uses only the
// delays. The sink of `refresh` and `expire` receives each timer that fires, and may start it again.
//
// Thread safety: none, one thread.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <foliot/core/duration.hpp>
#include <foliot/core/expiry.hpp>
#include <foliot/core/instant.hpp>

#include "bench/contestant.hpp"

namespace foliot::program::bench {

/// `now` + `delay` without the saturation of operator+, whose instructions would be in the figures. Precondition: the
/// sum is far from instant::never().
[[nodiscard]] constexpr instant plain_sum(instant now, duration delay) noexcept {
  return instant::from_nanoseconds(now.nanoseconds() + delay.count());
}

/// Stands for any sink where the concept is checked.
template <class Timer>
struct any_timer_sink {
  void operator()(Timer&) const;
};

template <class Set>
concept timer_set = std::constructible_from<Set, std::size_t> &&
                    requires(Set set, std::size_t index, typename Set::timer& timer, instant now, duration delay,
                             budget limit, any_timer_sink<typename Set::timer> sink) {
                      { Set::time } -> std::convertible_to<time_kind>;
                      { set[index] } -> std::same_as<typename Set::timer&>;
                      { timer.payload } -> std::same_as<std::uint64_t&>;  // 8 bytes of the user's own
                      set.start(timer, now, delay);                       // Precondition: it is not pending
                      { set.stop(timer) } -> std::same_as<bool>;          // whether it was pending
                      set.reset(timer, now, delay);
                      set.prefetch(timer);
                      set.refresh(now, sink);  // time has moved on a little
                      { set.expire(now, limit, sink) } -> std::same_as<expiry>;
                    };

/// A set that can start a timer which has been due since `ago`, so that a measurement of firing need not wait for the
/// system's clock.
template <class Set>
concept overdue_timer_set =
    timer_set<Set> && requires(Set set, typename Set::timer& timer, duration ago) { set.start_overdue(timer, ago); };

/// The array of a set.
template <class Timer>
class timer_array {
 public:
  using timer = Timer;

  explicit timer_array(std::size_t count) : timers_(std::make_unique<timer[]>(count)), count_(count) {}

  timer& operator[](std::size_t index) noexcept { return timers_[index]; }
  void prefetch(timer& each) { __builtin_prefetch(&each, 1); }

 protected:
  [[nodiscard]] timer* begin() const noexcept { return timers_.get(); }
  [[nodiscard]] timer* end() const noexcept { return timers_.get() + count_; }

 private:
  std::unique_ptr<timer[]> timers_;
  std::size_t count_;
};

}  // namespace foliot::program::bench
