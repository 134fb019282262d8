// The back of foliot's queue: the timers that are not about to fire, in slots by how far ahead they are.
//
// It stands at `base`, an instant that only moves on. Opening what comes next is the queue's business
// (foliot_queue.hpp); the wheel says which slot that is, gives up its timers, and knows the earliest
// deadline of all.
//
// Complexity: put, take O(1); earliest() too, as long as nothing took the earliest away, else it looks at
// what is in the slots that decide, up to a window's worth, and not again before it was asked half as many
// times: O(1) amortised. Thread safety: none.
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
#include <utility>
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
  /// One slot more, beside the rings, for deadlines that never come: where requeue puts them, when a slot
  /// opens that they were first queued in.
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
    if (node.deadline() < bound_) lower_bound_to(node.deadline());
  }

  void take(timer_node& node) noexcept {
    slots_.vacate(timer_node_access::place(node));
    timer_node_access::place(node) = timer_node_access::nowhere;
    if (node.deadline() == bound_) stale_ = true;
  }

  /// Whether a node in a ring may stay where it is when its deadline becomes this one: it may if that is
  /// not before its slot, which then sees to it. The caller writes the deadline.
  [[nodiscard]] bool may_keep_its_slot(timer_node& node, instant deadline) noexcept {
    const instant old = node.deadline();
    if (deadline < old && deadline < rings::start_of(place::region(timer_node_access::place(node)), base_))
      return false;
    if (old == bound_) stale_ = true;
    if (deadline < bound_) lower_bound_to(deadline);
    return true;
  }

  /// Files a node again. False where there is no memory for it.
  bool requeue(timer_node& node) noexcept {
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

  /// The earliest deadline; never, if there is none. It is earlier where too many decide, namely when their
  /// slot begins, and for a while after the earliest was taken or moved, namely what that had been.
  [[nodiscard]] instant earliest() noexcept {
    if (size() == 0) return instant::never();
    if (stale_) [[unlikely]]
      look_again();
    return bound_;
  }

  [[nodiscard]] instant base() const noexcept { return base_; }
  /// When the next slot begins, or earlier; never, if there is none.
  [[nodiscard]] instant next_slot() const noexcept { return next_slot_; }
  [[nodiscard]] std::size_t size() const noexcept { return slots_.size(); }

  /// Moves on to an instant that no slot begins before.
  void stand_at(instant now) noexcept { base_ = std::max(base_, rings::floor(now, Tuning::base_shift)); }
  /// Nothing is due by `now`: a bound that is says what was once, and nobody is to wake for that again.
  void forget_bound_before(instant now) noexcept {
    if (bound_ <= now) forget_bound();
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
    clear_if_empty(slot);
  }
  /// To be called when timers have been gathered, and requeued.
  void look_for_next_slot() noexcept {
    next_slot_ = rings_.first(base_).start;
    forget_bound();
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
      clear_if_empty(slot);
      if (found != nullptr) return *found;
    }
  }

  /// Room for `count` timers, which stays once it is taken: see reserve.hpp. Throws std::bad_alloc.
  using room = typename slot_table::room;
  [[nodiscard]] room room_for(std::size_t count) const { return slots_.room_for(count); }
  void take(room&& made) noexcept { slots_.take(std::move(made)); }

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
        if (!node.deadline().is_never()) return broken("a deadline that comes is queued with those that never do");
      } else if (node.deadline() < rings::start_of(slot, base_)) {
        return broken("a deadline is before its slot");
      }
      return {};
    });
  }

 private:
  static constexpr instant unknown = instant::earliest();  // as a bound: no deadline is before it
  /// How much one look at what decides may take.
  static constexpr std::size_t chunks_a_look = std::max<std::size_t>(1, Tuning::window_size / Tuning::chunk_entries);
  static constexpr std::size_t few = 8;  // timers, which are looked at whenever somebody asks

  void clear_if_empty(std::size_t slot) noexcept {
    if (slot != never_slot && slots_.chunks(slot) == 0) rings_.clear(slot);
  }
  void drop_empty(std::size_t slot) noexcept {
    while (slots_.chunks(slot) > 0) slots_.take_first_chunk(slot, [](timer_node&) {});
    clear_if_empty(slot);
  }

  void lower_bound_to(instant deadline) noexcept {
    bound_ = deadline;
    stale_ = false;
  }
  void forget_bound() noexcept {
    bound_ = unknown;
    stale_ = true;
  }

  /// Finds the bound again. What was seen is paid for by those who ask: until then they get the old one, which
  /// is still no deadline too late. Nobody need wait for that when there is none.
  [[gnu::noinline]] void look_again() noexcept {
    if (bound_ != unknown && asks_to_wait_ > 0) {
      --asks_to_wait_;
      return;
    }
    std::size_t seen = 0;
    bound_ = find_bound(seen);
    stale_ = false;
    asks_to_wait_ = seen > few ? seen / 2 : 0;
  }

  /// The earliest deadline of all, or where a slot begins that has too much in it.
  instant find_bound(std::size_t& seen) noexcept {
    instant bound = instant::never();
    std::size_t chunks_left = chunks_a_look;
    rings_.for_each_level([&](std::size_t level) {
      // Resets may have moved deadlines beyond their slot, even past the next one.
      rings_.for_each_slot_of(level, base_, [&](instant start, std::size_t slot) {
        if (start >= bound) return false;
        const std::size_t chunks = slots_.chunks(slot);
        if (chunks > chunks_left) {
          bound = start;
          return false;
        }
        chunks_left -= chunks;
        std::size_t found = 0;
        slots_.visit(slot, [&](const timer_node& node) {
          ++found;
          bound = std::min(bound, node.deadline());
          return true;
        });
        if (found == 0) drop_empty(slot);
        seen += found;
        return true;
      });
    });
    return bound;
  }

  instant bound_ = instant::never();  // no deadline is before it; or unknown
  bool stale_ = false;                // there may be a better bound
  std::size_t asks_to_wait_ = 0;      // before it is looked for
  instant base_ = instant::earliest();
  instant next_slot_ = instant::never();
  rings rings_;
  slot_table slots_;
};

}  // namespace foliot::detail
