// The tick and the size of a timer wheel: fixed when the program is compiled, or chosen when the wheel is made.
//
//   foliot::hashed_wheel wheel;                                            // 512 slots of 1 ms
//   foliot::basic_hashed_wheel<foliot::fixed_wheel<10'000'000, 64>> fixed;  // 64 slots of 10 ms
//   foliot::chosen_hashed_wheel chosen{{.tick = 100ms, .slots = 512}};     // Netty's default
//   foliot::chosen_hierarchical_wheel levels{{.tick = 1ms, .slots = 20}};  // Kafka's default
//
// A wheel with a fixed shape divides by constants. One with a chosen shape divides at run time, which is slower.
//
// Thread safety: values.
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

/// A tick and a size that a user chooses at run time.
struct wheel_shape {
  /// The longest tick there is, and the most slots.
  static constexpr duration longest_tick = std::chrono::hours(24);
  static constexpr std::size_t most_slots = std::size_t{1} << 30;

  /// How long a tick is, from 1 ns to 24 h: a timer is late by less than that. Netty's tickDuration, Kafka's tickMs.
  duration tick = std::chrono::milliseconds(1);
  /// How many slots the ring has, or each level, from 1 to 2^30: Netty's ticksPerWheel, Kafka's wheelSize. 0 is what
  /// the wheel has by itself: 512 in `hashed_wheel`, 20 in `hierarchical_wheel`. `hashed_wheel` rounds up to a power of
  /// two, as Netty does; `hierarchical_wheel` takes the number as it is, as Kafka does.
  std::size_t slots = 0;

  friend bool operator==(const wheel_shape&, const wheel_shape&) = default;

  /// The same, with `own_slots` where the number of slots is 0. Throws std::invalid_argument for a tick or a number of
  /// slots that is out of range.
  [[nodiscard]] constexpr wheel_shape checked(std::size_t own_slots) const {
    if (tick < duration::nanoseconds(1) || tick > longest_tick) {
      throw std::invalid_argument("foliot: a wheel's tick must be from 1 ns to 24 h, not " +
                                  std::to_string(tick.count()) + " ns");
    }
    if (slots > most_slots) {
      throw std::invalid_argument("foliot: a wheel must have from 1 to " + std::to_string(most_slots) +
                                  " slots, or 0 for its own number, not " + std::to_string(slots));
    }
    return {tick, slots == 0 ? own_slots : slots};
  }
};

/// A shape that is a part of the wheel's type.
template <std::int64_t TickNanoseconds, std::size_t Slots>
struct fixed_wheel {
  static_assert(TickNanoseconds >= 1 && TickNanoseconds <= wheel_shape::longest_tick.count(),
                "foliot: a wheel's tick is from 1 ns to 24 h");
  static_assert(Slots >= 1 && Slots <= wheel_shape::most_slots, "foliot: a wheel has from 1 to 2^30 slots");
  static constexpr std::int64_t tick_nanoseconds = TickNanoseconds;
  static constexpr std::size_t slots = Slots;
};

/// Says that a wheel's constructor is given the shape.
struct chosen_wheel {};

}  // namespace foliot::inline queue
