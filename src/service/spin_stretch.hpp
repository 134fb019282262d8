// How long before a deadline a thread stops sleeping and starts to spin, so as to be there in time.
//
// It follows how late the thread's sleeps end: up at once, and somewhat beyond, down slowly. Bounded, so that
// a machine that is always late does not spin all the time.
//
// Thread safety: one thread's.
#pragma once

#include <algorithm>

#include <foliot/core/duration.hpp>

namespace foliot::detail {

class spin_stretch {
 public:
  static constexpr duration shortest = duration::nanoseconds(5'000);
  static constexpr duration longest = duration::nanoseconds(250'000);

  [[nodiscard]] duration length() const noexcept { return length_; }

  /// A sleep ended this much after its time.
  void slept_late(duration lateness) noexcept {
    const duration wanted = lateness + lateness / 4;
    length_ = wanted > length_ ? wanted : length_ - (length_ - wanted) / 64;
    length_ = std::clamp(length_, shortest, longest);
  }

 private:
  duration length_ = duration::nanoseconds(100'000);
};

}  // namespace foliot::detail
