// The positions of an erlang_wheel: milliseconds since the clock's origin, over the whole range of an instant.
//
// Deadlines are rounded up and the clock is rounded down, so that nothing is early. Thread safety: pure functions.
//
// Source: erts/emulator/beam/erl_time.h of OTP 18; docs/mechanisms.md maps it.
#pragma once

#include <cstdint>

#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/core/timer_node.hpp>

namespace foliot::detail {

/// A base, for its names.
struct erlang_position {
  /// A position.
  using tick = std::int64_t;

  static constexpr tick ns_a_tick = 1'000'000;
  /// The last tick is not complete: the clock's latest instant counts as its end.
  static constexpr tick end_pos = instant::latest().nanoseconds() / ns_a_tick + 1;
  static constexpr tick never_pos = end_pos + 1;
  static constexpr tick before_all = instant::earliest().nanoseconds() / ns_a_tick - 2;

  static constexpr tick round_up(instant t) noexcept {
    if (t.is_never()) return never_pos;
    return t.nanoseconds() / ns_a_tick + (t.nanoseconds() % ns_a_tick > 0 ? 1 : 0);
  }
  static constexpr tick round_down(instant t) noexcept {
    if (t >= instant::latest()) return end_pos;
    return t.nanoseconds() / ns_a_tick - (t.nanoseconds() % ns_a_tick < 0 ? 1 : 0);
  }
  static constexpr instant instant_of(tick pos) noexcept {
    if (pos > end_pos) return instant::never();
    if (pos == end_pos) return instant::latest();
    return instant::from_nanoseconds(saturating_multiply(pos, ns_a_tick));
  }
  static tick timeout_pos(const timer_node& node) noexcept { return round_up(node.deadline()); }
};

}  // namespace foliot::detail
