// The geometry of foliot_queue's wheel: levels of 64 slots in a ring, each level 8 times coarser than the one below,
// and a bit for each slot that may contain timers.
//
//   level 0:  64 slots of 2^BaseShift ns      a deadline belongs to the finest level whose ring reaches it
//   level 1:  64 slots of 8 times that        from `base`, the instant at which the wheel stands
//   level 2:  64 slots of 64 times that …
//
// Rings overlap: level n reaches 8 times as far as level n-1, not 64 times. So of many timers with similar timeouts a
// slot contains at most an eighth. Where each level reached 64 times as far, just before a boundary one slot would
// contain all of them.
//
// Precondition of every function: no occupied slot begins before `base`. Thread safety: none.
// Source: the geometry of Linux's timer wheel since 4.8 (kernel/time/timer.c), there with rounding up.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <foliot/core/instant.hpp>

namespace foliot::detail {

template <int BaseShift>
class ring_levels {
 public:
  static constexpr int slot_bits = 6;
  static constexpr int level_bits = 3;
  static constexpr std::size_t ring = std::size_t{1} << slot_bits;
  /// So many that the coarsest level reaches from the earliest instant to the latest.
  static constexpr std::size_t levels = (64 - slot_bits - BaseShift + level_bits - 1) / level_bits + 1;
  static constexpr std::size_t slots = levels * ring;
  static_assert(BaseShift >= slot_bits, "the estimate in slot_for needs slots of at least 64 ns");

  /// The binary logarithm of a slot's length in nanoseconds.
  static constexpr int shift(std::size_t level) noexcept { return BaseShift + level_bits * static_cast<int>(level); }
  static constexpr std::size_t level(std::size_t slot) noexcept { return slot >> slot_bits; }

  /// The slot for a deadline that is not before `base`.
  [[nodiscard]] static std::size_t slot_for(instant deadline, instant base) noexcept {
    const std::uint64_t ahead = bits(deadline) - bits(base);
    // A ring reaches from the slot of `base` to the 63rd after it. The deadline's slot is at most one more than
    // ahead / slot length after that of `base`, so a level is right if ahead < 63 slots. `reach` is ahead/32 plus 1/32
    // of that: reach < 2 slots implies ahead < 62.5 slots.
    const std::uint64_t reach = (ahead >> 5) + (ahead >> 10) + 1;
    const choice chosen = choices[static_cast<std::size_t>(std::countl_zero(reach))];
    return chosen.first_slot + index(deadline, chosen.shift);
  }

  /// The instant at which an occupied slot begins.
  [[nodiscard]] static instant start_of(std::size_t slot, instant base) noexcept {
    const std::size_t ahead = (slot - index(base, shift(level(slot)))) % ring;
    return start_ahead(level(slot), base, static_cast<int>(ahead));
  }

  /// The beginning of the interval of 2^width ns, aligned to its length, that contains `t`.
  [[nodiscard]] static instant floor(instant t, int width) noexcept {
    return instant::from_nanoseconds(t.nanoseconds() >> width << width);
  }
  /// The end of that interval; never if it is beyond the latest instant.
  [[nodiscard]] static instant end_of_interval(instant t, int width) noexcept {
    return floor(t, width) + duration::nanoseconds(std::int64_t{1} << width);
  }

  void occupy(std::size_t slot) noexcept {
    occupied_[level(slot)] |= std::uint64_t{1} << slot % ring;
    nonempty_ |= std::uint32_t{1} << level(slot);
  }
  void clear(std::size_t slot) noexcept {
    occupied_[level(slot)] &= ~(std::uint64_t{1} << slot % ring);
    if (occupied_[level(slot)] == 0) nonempty_ &= ~(std::uint32_t{1} << level(slot));
  }
  [[nodiscard]] bool is_occupied(std::size_t slot) const noexcept {
    return (occupied_[level(slot)] >> slot % ring & 1) != 0;
  }

  /// Calls `visit(slot)` for each occupied slot; `visit` may clear that slot.
  template <class Visit>
  void for_each_occupied(Visit visit) const {
    for_each_level([&](std::size_t each) {
      for (std::uint64_t left = occupied_[each]; left != 0; left &= left - 1) {
        visit(each * ring + static_cast<std::size_t>(std::countr_zero(left)));
      }
    });
  }

  struct first_slot {
    instant start = instant::never();
    std::size_t slot = slots;
  };
  /// The occupied slot that begins first; among slots that begin at the same instant, the coarsest.
  [[nodiscard]] first_slot first(instant base) const noexcept {
    first_slot found;
    for_each_level([&](std::size_t each) {
      const first_slot its = first_of(each, base);
      if (its.start <= found.start) found = its;
    });
    return found;
  }
  /// The occupied slot of one level that begins first. Precondition: the level has one.
  [[nodiscard]] first_slot first_of(std::size_t level, instant base) const noexcept {
    const std::size_t at_base = index(base, shift(level));
    const int ahead = std::countr_zero(from(level, at_base));
    return {start_ahead(level, base, ahead), level * ring + (at_base + static_cast<std::size_t>(ahead)) % ring};
  }
  /// Calls `visit(start, slot)` for the occupied slots of one level, from `base` on, until it returns false; `visit`
  /// may clear that slot.
  template <class Visit>
  void for_each_slot_of(std::size_t level, instant base, Visit visit) const {
    const std::size_t at_base = index(base, shift(level));
    for (std::uint64_t left = from(level, at_base); left != 0; left &= left - 1) {
      const int ahead = std::countr_zero(left);
      const std::size_t slot = level * ring + (at_base + static_cast<std::size_t>(ahead)) % ring;
      if (!visit(start_ahead(level, base, ahead), slot)) return;
    }
  }

  template <class Visit>
  void for_each_level(Visit visit) const noexcept(noexcept(visit(std::size_t{}))) {
    for (std::uint32_t left = nonempty_; left != 0; left &= left - 1) {
      visit(static_cast<std::size_t>(std::countr_zero(left)));
    }
  }

  /// Calls `visit(slot)` for the occupied slots that begin between `base` and the end of the aligned interval of
  /// 2^width ns that contains `base`, on the levels whose slots are not wider than that.
  template <class Visit>
  void for_each_slot_within(instant base, int width, Visit visit) const {
    const std::int64_t end = (base.nanoseconds() >> width) + 1;  // in units of the width: it cannot overflow
    for_each_level([&](std::size_t each) {
      const int its = shift(each);
      if (its > width) return;
      const std::size_t at_base = index(base, its);
      const auto count = static_cast<std::uint64_t>((end << (width - its)) - (base.nanoseconds() >> its));
      std::uint64_t left = from(each, at_base);
      if (count < ring) left &= (std::uint64_t{1} << count) - 1;
      for (; left != 0; left &= left - 1) {
        visit(each * ring + (at_base + static_cast<std::size_t>(std::countr_zero(left))) % ring);
      }
    });
  }

 private:
  static std::uint64_t bits(instant t) noexcept { return static_cast<std::uint64_t>(t.nanoseconds()); }
  static std::size_t index(instant t, int shift) noexcept {
    return static_cast<std::size_t>(t.nanoseconds() >> shift) % ring;
  }
  /// The beginning of the slot that is `ahead` slots after the one that contains `base`.
  static instant start_ahead(std::size_t level, instant base, int ahead) noexcept {
    return instant::from_nanoseconds(((base.nanoseconds() >> shift(level)) + ahead) << shift(level));
  }
  /// The bits of a level's occupied slots, rotated so that the lowest one is that of slot `at_base`.
  [[nodiscard]] std::uint64_t from(std::size_t level, std::size_t at_base) const noexcept {
    return std::rotr(occupied_[level], static_cast<int>(at_base));
  }

  struct choice {
    std::uint16_t first_slot;
    std::uint8_t shift;
  };
  /// The level for each number of leading zeros of `reach`.
  static constexpr std::array<choice, 64> choices = [] {
    std::array<choice, 64> all{};
    for (int zeros = 0; zeros < 64; ++zeros) {
      const int width = 64 - zeros;  // reach < 2^width, which is two slots where the shift is width - 1
      std::size_t chosen = 0;
      while (chosen + 1 < levels && shift(chosen) < width - 1) ++chosen;
      all[static_cast<std::size_t>(zeros)] = {static_cast<std::uint16_t>(chosen * ring),
                                              static_cast<std::uint8_t>(shift(chosen))};
    }
    return all;
  }();

  std::array<std::uint64_t, levels> occupied_{};
  std::uint32_t nonempty_ = 0;  // a bit for each level with an occupied slot
};

}  // namespace foliot::detail
