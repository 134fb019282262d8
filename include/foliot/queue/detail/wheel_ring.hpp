// The ring of the simple timer wheel: the length of its ticks and its slots, with a fixed or a chosen shape.
//
// Both specialisations have the same members. The number of slots is rounded up to a power of two.
//
// Thread safety: none, one owner.
#pragma once

#include <foliot/core/language.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <foliot/queue/detail/ticks.hpp>
#include <foliot/queue/detail/wheel_node.hpp>
#include <foliot/queue/wheel_shape.hpp>

namespace foliot::detail {

template <class Shape>
class wheel_ring;

template <std::int64_t TickNanoseconds, std::size_t Slots>
class wheel_ring<fixed_wheel<TickNanoseconds, Slots>> {
 public:
  static constexpr tick_scale<fixed_tick<TickNanoseconds>> ticks{};
  static constexpr duration precision = duration::nanoseconds(TickNanoseconds);
  static constexpr std::size_t slot_count = std::bit_ceil(Slots);

  static constexpr std::size_t slot_of(tick t) noexcept { return static_cast<std::size_t>(t % slot_count); }
  static constexpr tick round_of(tick t) noexcept { return t / slot_count; }

  ring& operator[](std::size_t slot) noexcept { return slots_[slot]; }
  const ring& operator[](std::size_t slot) const noexcept { return slots_[slot]; }

 private:
  std::array<ring, slot_count> slots_;
};

template <>
class wheel_ring<chosen_wheel> {
 public:
  const tick_scale<chosen_tick> ticks;
  const duration precision;
  const std::size_t slot_count;

  /// Precondition: `shape` has been checked. Throws std::bad_alloc.
  explicit wheel_ring(wheel_shape shape)
      : ticks(shape.tick.count()),
        precision(shape.tick),
        slot_count(std::bit_ceil(shape.slots)),
        slot_bits_(std::countr_zero(slot_count)),
        slots_(std::make_unique<ring[]>(slot_count)) {}

  [[nodiscard]] std::size_t slot_of(tick t) const noexcept { return static_cast<std::size_t>(t) & (slot_count - 1); }
  [[nodiscard]] tick round_of(tick t) const noexcept { return t >> slot_bits_; }

  ring& operator[](std::size_t slot) noexcept { return slots_[slot]; }
  const ring& operator[](std::size_t slot) const noexcept { return slots_[slot]; }

 private:
  const int slot_bits_;
  const std::unique_ptr<ring[]> slots_;
};

}  // namespace foliot::detail
