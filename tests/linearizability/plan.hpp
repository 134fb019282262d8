// What the threads of a short history do: drawn at random, around a race that has a name.
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

/// As the name of a test.
std::string name(race chosen);

enum class act : std::uint8_t { reset_at, reset, stop, pending, linger, stop_and_wait, destroy, shut_down, drain };

struct deed {
  act what;
  std::size_t timer = 0;
  /// Of a reset: until its deadline. Of a drain: at most this. Of lingering: at most this.
  duration length{};
};

struct plan {
  struct timer_plan {
    /// Made by another thread than the rest, and so on another shard, where there are several.
    bool made_elsewhere = false;
    /// What happens before there are threads.
    std::optional<deed> start{};
    /// What its first callback does.
    std::vector<deed> inside{};
    /// Only this thread, or the timer's own callback, uses it: no other thread may use a handle while it is destroyed.
    std::optional<std::size_t> owner{};
  };
  std::vector<timer_plan> timers;
  /// The first is the thread that makes the service.
  std::vector<std::vector<deed>> threads;
};

inline constexpr std::size_t own_callback = 1000;
/// A deadline that does not come as long as a history lasts.
inline constexpr duration far_away = duration::nanoseconds(3'600'000'000'000);

/// Three to six operations of one to three threads, beside the service's own. Delays are multiples of `unit`, up to
/// some hundred: as long as an operation takes.
plan draw(race around, random_stream& random, duration unit);

}  // namespace foliot::linearizability
