// How long before a deadline a thread stops sleeping and spins on the clock, so as to be on time.
//
// The stretch follows the lateness of the thread's sleeps: it grows at once, to a quarter more than the lateness, and
// shrinks slowly. It is bounded, so that a machine that is always late does not spin all the time.
//
// Thread safety: none, one thread uses it.
#pragma once

#include <algorithm>

#include <foliot/core/duration.hpp>

namespace foliot::detail {

class spin_stretch {
 public:
  static constexpr duration shortest = duration::nanoseconds(5'000);
  static constexpr duration longest = duration::nanoseconds(250'000);

  [[nodiscard]] duration length() const noexcept { return length_; }

  /// Adapts the stretch to a sleep that ended late by this much.
  void slept_late(duration lateness) noexcept {
    const duration wanted = lateness + lateness / 4;
    length_ = wanted > length_ ? wanted : length_ - (length_ - wanted) / 64;
    length_ = std::clamp(length_, shortest, longest);
  }

 private:
  duration length_ = duration::nanoseconds(100'000);
};

}  // namespace foliot::detail
