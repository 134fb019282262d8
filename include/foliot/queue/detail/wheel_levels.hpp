// The geometries of the hierarchical wheels: Kafka's, with a fixed or a chosen shape, and that of Linux since 4.8.
//
// A geometry defines the length of a tick, the number of buckets of a level, the number of levels, the number of ticks
// of a bucket on each level, and the bucket of a timer. `fits(due, hand, width)` is whether the level whose buckets
// have `width` ticks may contain a timer of tick `due`, which is after the hand's tick.
//
// Thread safety: geometries are constant.
#pragma once

#include <foliot/core/language.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include <foliot/queue/detail/ticks.hpp>
#include <foliot/queue/detail/wheel_level.hpp>
#include <foliot/queue/wheel_shape.hpp>

namespace foliot::detail {

/// The number of levels of `slots` buckets that it takes until the topmost level can contain every timer, where a
/// bucket is as wide as all buckets of the level below. With a single bucket no level is coarser than the one below: 1.
constexpr std::size_t levels_for_all_time(std::uint64_t slots, tick last) noexcept {
  std::size_t levels = 1;
  for (std::uint64_t width = 1; slots > 1 && last / width >= slots; width *= slots) ++levels;
  return levels;
}

template <std::size_t Levels>
constexpr std::array<std::uint64_t, Levels> widths_of_levels(std::uint64_t factor, std::size_t levels = Levels) {
  std::array<std::uint64_t, Levels> result{1};
  for (std::size_t n = 1; n < levels; ++n) result[n] = result[n - 1] * factor;
  return result;
}

/// Kafka's rule: a timer is on the lowest level within whose present turn it is due, and moves down from level to
/// level.
struct cascading_rule {
  static constexpr std::string_view name = "hierarchical-wheel";

  static constexpr bool falls_into_turn(tick due, tick hand, std::uint64_t width, std::uint64_t slots) noexcept {
    return due / width - hand / width < slots;
  }
  static constexpr std::uint64_t bucket_of(tick due, std::uint64_t width) noexcept { return due / width; }
};

template <class Shape>
class cascading;

template <std::int64_t TickNanoseconds, std::size_t Slots>
class cascading<fixed_wheel<TickNanoseconds, Slots>> : public cascading_rule {
 public:
  static constexpr tick_scale<fixed_tick<TickNanoseconds>> ticks{};
  static constexpr duration precision = duration::nanoseconds(TickNanoseconds);
  static constexpr std::uint64_t slots = Slots;
  static constexpr std::size_t levels = levels_for_all_time(slots, ticks.last());
  static constexpr std::size_t most_levels = levels;
  static constexpr auto width_of = widths_of_levels<levels>(slots);
  /// Whether `fits` is true for never_tick on some level; such timers must stay outside the levels.
  static constexpr bool never_may_fit = never_tick / width_of.back() - ticks.last() / width_of.back() < slots;
  using level = std::conditional_t<(Slots <= 64), small_level<std::min<std::size_t>(Slots, 64)>, large_level>;

  static constexpr bool fits(tick due, tick hand, std::uint64_t width) noexcept {
    return falls_into_turn(due, hand, width, slots);
  }
  static constexpr duration lateness_of(duration /*timeout*/) noexcept { return precision; }
};

template <>
class cascading<chosen_wheel> : public cascading_rule {
 public:
  static constexpr std::size_t most_levels = 64;  // for two buckets a level and ticks of 1 ns

  const tick_scale<chosen_tick> ticks;
  const duration precision;
  const std::uint64_t slots;
  const std::size_t levels;
  const std::array<std::uint64_t, most_levels> width_of;
  static constexpr bool never_may_fit = true;
  using level = large_level;

  /// Precondition: `shape` has been checked.
  explicit cascading(wheel_shape shape)
      : ticks(shape.tick.count()),
        precision(shape.tick),
        slots(shape.slots),
        levels(levels_for_all_time(slots, ticks.last())),
        width_of(widths_of_levels<most_levels>(slots, levels)) {}

  [[nodiscard]] bool fits(tick due, tick hand, std::uint64_t width) const noexcept {
    return falls_into_turn(due, hand, width, slots);
  }
  [[nodiscard]] duration lateness_of(duration /*timeout*/) const noexcept { return precision; }
};

/// The geometry of Linux: each level is eight times coarser than the one below, and the distance alone decides the
/// level.
class rounding_up {
 public:
  static constexpr std::string_view name = "linux-wheel";
  static constexpr tick_scale<fixed_tick<1'000'000>> ticks{};
  static constexpr duration precision = ticks.length();
  static constexpr std::uint64_t slots = 64;
  static constexpr std::uint64_t factor = 8;
  static constexpr std::size_t levels = 9;  // they reach 12 days
  static constexpr std::size_t most_levels = levels;
  static constexpr auto width_of = widths_of_levels<levels>(factor);
  static constexpr bool never_may_fit = false;
  using level = small_level<slots>;

  static constexpr bool fits(tick due, tick hand, std::uint64_t width) noexcept {
    return due - hand < (slots - 1) * width;
  }
  static constexpr std::uint64_t bucket_of(tick due, std::uint64_t width) noexcept { return (due + width - 1) / width; }
  /// The width of a bucket on the level for `timeout`: at most 8/63 of `timeout`, and at least one tick.
  static constexpr duration lateness_of(duration timeout) noexcept {
    const std::int64_t whole = std::max(timeout, duration::zero()).count() / precision.count();
    const auto away = static_cast<tick>(whole) + 2;  // both ends may lie inside a tick
    std::size_t n = 0;
    while (n + 1 < levels && !fits(away, 0, width_of[n])) ++n;
    return precision * static_cast<std::int64_t>(width_of[n]);
  }
};

}  // namespace foliot::detail
