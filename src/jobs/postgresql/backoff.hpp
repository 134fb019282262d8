// An exponential backoff: the pause before the next attempt at something that is often in the way of others. Each
// failure doubles the pause, up to the longest one; a success makes it the shortest one again.
//
// A value without a clock: the caller waits. One thread at a time.
#pragma once

#include <algorithm>

#include <foliot/core/instant.hpp>

namespace foliot::jobs::detail {

class backoff {
 public:
  /// Precondition: 0 < `shortest` <= `longest`.
  constexpr backoff(duration shortest, duration longest) noexcept
      : shortest_(shortest), longest_(longest), pause_(shortest) {}

  constexpr void note_success() noexcept { pause_ = shortest_; }
  constexpr void note_failure() noexcept { pause_ = std::min(pause_ * 2, longest_); }
  /// The pause before the next attempt.
  [[nodiscard]] constexpr duration pause() const noexcept { return pause_; }

 private:
  duration shortest_;
  duration longest_;
  duration pause_;
};

}  // namespace foliot::jobs::detail
