// How long to wait between the turns of something that is often in the way of others: each turn that fails doubles the
// pause, up to the longest one, and one that succeeds makes it the shortest one again.
#pragma once

#include <algorithm>

#include <foliot/core/instant.hpp>

namespace foliot::jobs::detail {

class pause_between {
 public:
  /// Precondition: 0 < `shortest` <= `longest`.
  constexpr pause_between(duration shortest, duration longest) noexcept
      : shortest_(shortest), longest_(longest), length_(shortest) {}

  constexpr void succeeded() noexcept { length_ = shortest_; }
  constexpr void failed() noexcept { length_ = std::min(length_ * 2, longest_); }
  /// The pause before the next turn.
  [[nodiscard]] constexpr duration length() const noexcept { return length_; }

 private:
  duration shortest_;
  duration longest_;
  duration length_;
};

}  // namespace foliot::jobs::detail
