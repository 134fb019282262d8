// The back of foliot's queue: the timers that are not about to fire, in slots by how far ahead they are.
//
// It stands at `base`, an instant that only moves on. Opening what comes next is the queue's business
// (foliot_queue.hpp); the wheel says which slot that is, gives up its timers, and knows the earliest
// deadline of all.
//
// Complexity: put, take O(1); earliest() too, as long as nothing took the earliest away, else a few bit
// scans and, at each level, a look at two chunks at most. Thread safety: none.
//
// Invariants (check), beside those of the parts:
//   1. No slot holds a deadline before its own beginning, and none begins before `base_`.
//   2. No slot begins before next_slot_.
//   3. No deadline is before bound_.
#pragma once

#include <algorithm>
#include <cstddef>
#include <new>
#include <string>
#include <vector>

#include <foliot/core/contract.hpp>
#include <foliot/core/timer_node.hpp>
#include <foliot/queue/detail/deadline_heap.hpp>
#include <foliot/queue/detail/place.hpp>
#include <foliot/queue/detail/ring_levels.hpp>
#include <foliot/queue/detail/slot_table.hpp>

namespace foliot::detail {

template <class Tuning>
class wheel {
 public:
  using rings = ring_levels<Tuning::base_shift>;
  /// One slot more, beside the rings, for deadlines that never come: where refile puts them, when a slot
  /// opens that they were first filed in.
  static constexpr std::size_t never_slot = rings::slots;
  using slot_table = detail::slot_table<never_slot + 1, Tuning::chunk_entries, Tuning::chunks_in_block>;
  using word = typename slot_table::word;

  /// Whether a place is in a ring's slot.
  [[nodiscard]] static bool in_ring(std::size_t its_place) noexcept { return place::region(its_place) < never_slot; }

  /// The slot for a deadline that is not before base(), and a hole there, or null: then new_hole_in.
  [[nodiscard]] std::size_t slot_for(instant deadline) const noexcept { return rings::slot_for(deadline, base_); }
  [[nodiscard]] word* hole_in(std::size_t slot) const noexcept { return slots_.hole_in(slot); }
  /// Throws std::bad_alloc, with nothing changed.
  [[gnu::noinline]] word* new_hole_in(std::size_t slot) {
    word* hole = slots_.add_chunk(slot);
    if (slot != never_slot) {
      rings_.occupy(slot);
      next_slot_ = std::min(next_slot_, rings::start_of(slot, base_));
    }
    return hole;
  }
  /// Puts a node, whose deadline is set, into that hole.
  void put(timer_node& node, std::size_t slot, word* hole) noexcept {
    slots_.fill(slot, hole, node);
    if (node.deadline() < bound_) bound_ = node.deadline();
  }

  void take(timer_node& node) noexcept {
    slots_.vacate(timer_node_access::place(node));
    timer_node_access::place(node) = timer_node_access::nowhere;
    if (node.deadline() == bound_) bound_ = unknown;
  }

  /// Whether a node in a ring may stay where it is when its deadline becomes this one: it may if that is
  /// not before its slot, which then sees to it. The caller writes the deadline.
  [[nodiscard]] bool may_keep_its_slot(timer_node& node, instant deadline) noexcept {
    const instant old = node.deadline();
    if (deadline < old && deadline < rings::start_of(place::region(timer_node_access::place(node)), base_))
      return false;
    if (old == bound_) bound_ = unknown;
    if (deadline < bound_) bound_ = deadline;
    return true;
  }

  /// Files a node again. False where there is no memory for it.
  bool refile(timer_node& node) noexcept {
    const std::size_t slot = node.deadline().is_never() ? never_slot : slot_for(node.deadline());
    word* hole = hole_in(slot);
    if (hole == nullptr) [[unlikely]] {
      try {
        hole = new_hole_in(slot);
      } catch (const std::bad_alloc&) {
        return false;
      }
    }
    slots_.fill(slot, hole, node);
    return true;
  }

  /// The earliest deadline, or where finding it would take long, when its slot begins; never, if empty.
  [[nodiscard]] instant earliest() noexcept {
    if (size() == 0) return instant::never();
    if (bound_ == unknown) bound_ = find_bound();
    return bound_;
  }

  [[nodiscard]] instant base() const noexcept { return base_; }
  /// When the next slot begins, or earlier; never, if there is none.
  [[nodiscard]] instant next_slot() const noexcept { return next_slot_; }
  [[nodiscard]] std::size_t size() const noexcept { return slots_.size(); }

  /// Moves on to an instant that no slot begins before.
  void stand_at(instant now) noexcept { base_ = std::max(base_, rings::floor(now, Tuning::base_shift)); }
  /// Every slot lies ahead of `now`: a bound that does not is the trace of a slot that stops have emptied.
  void forget_bound_before(instant now) noexcept {
    if (bound_ <= now) bound_ = unknown;
  }

  /// Moves on to the next slot; its width, as a logarithm, and how many chunks it has. None, and
  /// next_slot() is put right, when there is nothing to open there: stops have emptied it.
  struct opening {
    std::size_t slot = never_slot;
    int width = 0;
    std::size_t chunks = 0;
  };
  [[nodiscard]] opening go_to_next_slot() noexcept {
    const auto first = rings_.first(base_);
    if (first.start != next_slot_) {
      next_slot_ = first.start;
      return {};
    }
    base_ = first.start;
    return {first.slot, rings::shift(rings::level(first.slot)), slots_.chunks(first.slot)};
  }
  /// How many chunks there are in the slots that begin in the stretch of 2^width ns around base().
  [[nodiscard]] std::size_t chunks_within(int width) const noexcept {
    std::size_t chunks = 0;
    rings_.for_each_slot_within(base_, width, [&](std::size_t slot) { chunks += slots_.chunks(slot); });
    return chunks;
  }
  /// Takes all nodes out of those slots. `out` must have room for what the chunks can hold.
  void gather_within(int width, std::vector<deadline_entry>& out) noexcept {
    rings_.for_each_slot_within(base_, width, [&](std::size_t slot) { gather(slot, slots_.chunks(slot), out); });
  }
  /// Takes the nodes of a slot's first chunks.
  void gather(std::size_t slot, std::size_t chunks, std::vector<deadline_entry>& out) noexcept {
    for (; chunks > 0; --chunks) {
      slots_.take_first_chunk(slot, [&](timer_node& node) {
        __builtin_prefetch(&node, 1);
        out.push_back({{}, &node});
      });
    }
    unless_occupied_clear(slot);
  }
  /// To be called when timers have been gathered, and filed again.
  void look_for_next_slot() noexcept {
    next_slot_ = rings_.first(base_).start;
    bound_ = unknown;
  }

  /// Whether stops have left so much behind that tidy() has something to do.
  [[nodiscard]] bool sparse() const noexcept { return slots_.sparse(); }
  [[gnu::noinline]] void tidy() noexcept {
    if (size() > 0) return slots_.pack();
    rings_.for_each_occupied([this](std::size_t slot) { drop_empty(slot); });
    drop_empty(never_slot);
    next_slot_ = instant::never();
  }

  /// Some node, of a wheel that is not empty.
  [[nodiscard]] timer_node& some() noexcept {
    for (;;) {
      const auto first = rings_.first(base_);
      const std::size_t slot = first.start.is_never() ? never_slot : first.slot;
      timer_node* found = slots_.some_in(slot);
      unless_occupied_clear(slot);
      if (found != nullptr) return *found;
    }
  }

  void reserve(std::size_t count) { slots_.reserve(count); }

  [[nodiscard]] check_result check() const {
    const auto broken = [](const char* what) { return std::unexpected(std::string("wheel: ") + what); };
    if (rings_.first(base_).start < next_slot_) return broken("a slot begins before the next one");
    std::size_t with_chunks = slots_.chunks(never_slot) > 0 ? 1 : 0;
    std::size_t without = 0;
    rings_.for_each_occupied([&](std::size_t slot) { ++(slots_.chunks(slot) > 0 ? with_chunks : without); });
    if (without > 0 || with_chunks != slots_.occupied()) return broken("a slot's bit is not what the slot is");
    return slots_.check([&](std::size_t slot, const timer_node& node) -> check_result {
      if (node.deadline() < bound_) return broken("a deadline is before the bound");
      if (slot == never_slot) {
        if (!node.deadline().is_never()) return broken("a deadline that comes is filed with those that never do");
      } else if (node.deadline() < rings::start_of(slot, base_)) {
        return broken("a deadline is before its slot");
      }
      return {};
    });
  }

 private:
  static constexpr instant unknown = instant::earliest();  // as a bound: no deadline is before it
  /// So few timers in the slot that decides, and the earliest deadline is exact.
  static constexpr std::size_t few = 8;
  static constexpr std::size_t few_chunks = 2;

  void unless_occupied_clear(std::size_t slot) noexcept {
    if (slot != never_slot && slots_.chunks(slot) == 0) rings_.clear(slot);
  }
  void drop_empty(std::size_t slot) noexcept {
    while (slots_.chunks(slot) > 0) slots_.take_first_chunk(slot, [](timer_node&) {});
    unless_occupied_clear(slot);
  }

  [[gnu::noinline]] instant find_bound() noexcept {
    instant bound = instant::never();
    rings_.for_each_level([&](std::size_t level) { bound = std::min(bound, bound_of(level, bound)); });
    return bound;
  }

  /// A bound of one level, where only the first slot matters; `limit` where it is not less than that.
  instant bound_of(std::size_t level, instant limit) noexcept {
    while (rings_.any(level)) {
      const auto first = rings_.first_of(level, base_);
      if (first.start >= limit) break;
      if (slots_.chunks(first.slot) > few_chunks) return first.start;
      std::size_t found = 0;
      instant earliest = instant::never();
      slots_.visit(first.slot, [&](const timer_node& node) {
        earliest = std::min(earliest, node.deadline());
        return ++found <= few;
      });
      if (found > few) return first.start;
      // Resets may have moved deadlines beyond the slot, even past the next one.
      if (found > 0) return std::min(earliest, rings_.second_start_of(level, base_));
      drop_empty(first.slot);
    }
    return limit;
  }

  instant bound_ = instant::never();  // no deadline is before it; or unknown
  instant base_ = instant::earliest();
  instant next_slot_ = instant::never();
  rings rings_;
  slot_table slots_;
};

}  // namespace foliot::detail
