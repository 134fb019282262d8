// The tick and the size of a timer wheel: fixed at compile time, or chosen at run time when the wheel is constructed.
//
//   foliot::hashed_wheel wheel;                                            // 512 slots of 1 ms
//   foliot::basic_hashed_wheel<foliot::fixed_wheel<10'000'000, 64>> fixed;  // 64 slots of 10 ms
//   foliot::chosen_hashed_wheel chosen{{.tick = 100ms, .slots = 512}};     // Netty's default
//   foliot::chosen_hierarchical_wheel levels{{.tick = 1ms, .slots = 20}};  // Kafka's default
//
// A wheel with a fixed shape divides by constants; one with a chosen shape divides at run time, which is slower.
//
// Plain values.
#pragma once

#include <foliot/core/language.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include <foliot/core/duration.hpp>
#include <foliot/queue/detail/ticks.hpp>

namespace foliot::inline queue {

/// A tick and a size that are chosen at run time.
struct wheel_shape {
  /// The longest tick.
  static constexpr duration longest_tick = std::chrono::hours(24);
  /// The most slots.
  static constexpr std::size_t most_slots = std::size_t{1} << 30;

  /// The length of a tick, from 1 ns to 24 h; a timer fires less than that late. Netty's tickDuration, Kafka's tickMs.
  duration tick = std::chrono::milliseconds(1);
  /// How many slots the ring or each level has, from 1 to 2^30: Netty's ticksPerWheel, Kafka's wheelSize. 0 is the
  /// wheel's default: 512 for `hashed_wheel`, 20 for `hierarchical_wheel`. `hashed_wheel` rounds up to a power of two,
  /// as Netty does; `hierarchical_wheel` takes the number as it is, as Kafka does.
  std::size_t slots = 0;

  friend bool operator==(const wheel_shape&, const wheel_shape&) = default;

  /// This shape, with `default_slots` if the number of slots is 0. Throws std::invalid_argument if the tick or the
  /// number of slots is out of range.
  [[nodiscard]] constexpr wheel_shape checked(std::size_t default_slots) const {
    if (tick < duration::nanoseconds(1) || tick > longest_tick) {
      throw std::invalid_argument("foliot: the tick of a wheel must be from 1 ns to 24 h, got " +
                                  std::to_string(tick.count()) + " ns");
    }
    if (slots > most_slots) {
      throw std::invalid_argument("foliot: a wheel must have from 1 to " + std::to_string(most_slots) +
                                  " slots, or 0 for the wheel's default, got " + std::to_string(slots));
    }
    return {tick, slots == 0 ? default_slots : slots};
  }
};

/// A shape that is part of the wheel's type.
template <std::int64_t TickNanoseconds, std::size_t Slots>
struct fixed_wheel {
  static_assert(TickNanoseconds >= 1 && TickNanoseconds <= wheel_shape::longest_tick.count(),
                "foliot: the tick of a wheel must be from 1 ns to 24 h");
  static_assert(Slots >= 1 && Slots <= wheel_shape::most_slots, "foliot: a wheel must have from 1 to 2^30 slots");
  static constexpr std::int64_t tick_nanoseconds = TickNanoseconds;
  static constexpr std::size_t slots = Slots;
};

/// Stands for a shape that is an argument of the wheel's constructor.
struct chosen_wheel {};

}  // namespace foliot::inline queue
