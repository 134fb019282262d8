// A plan: the random operations of the threads of a short history, around a race with a name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <foliot/core/duration.hpp>
#include <foliot/core/seam/random.hpp>

namespace foliot::linearizability {

enum class race : std::uint8_t {
  anything,
  stop_against_fire,
  reset_against_fire,
  stop_against_stop,
  reset_against_reset,
  stop_against_reset,
  destroy_against_fire,
  destroy_from_within,
  stop_and_wait_from_outside,
  stop_and_wait_from_within,
  shut_down_against_all,
  shut_down_from_within,
  drain_against_all,
};
inline constexpr std::size_t races = 13;

/// The name of the race, as part of a test's name.
std::string name(race chosen);

enum class act : std::uint8_t { reset_at, reset, stop, pending, linger, stop_and_wait, destroy, shut_down, drain };

struct deed {
  act what;
  std::size_t timer = 0;
  /// Of a reset: the time until its deadline. Of a drain and of lingering: the time limit.
  duration length{};
};

struct plan {
  struct timer_plan {
    /// The timer is made by a thread of its own, and so on another shard if there are several.
    bool made_elsewhere = false;
    /// The timer's operations before the threads begin.
    std::optional<deed> start{};
    /// The operation in its first callback.
    std::vector<deed> inside{};
    /// Only this thread, or the timer's own callback, uses it: no other thread may use a handle while it is destroyed.
    std::optional<std::size_t> owner{};
  };
  std::vector<timer_plan> timers;
  /// The operations of each thread. The first thread makes the service.
  std::vector<std::vector<deed>> threads;
};

inline constexpr std::size_t own_callback = 1000;
/// A deadline after the end of every history.
inline constexpr duration far_away = duration::nanoseconds(3'600'000'000'000);

/// Three to six operations of one to three threads, beside the service's own. Delays are multiples of `unit`, up to
/// some hundred, which is about the time of an operation.
plan draw(race around, random_stream& random, duration unit);

}  // namespace foliot::linearizability
