// The back of foliot_queue: the timers that are not about to fire, in slots by their distance.
//
// The wheel stands at `base_`, an instant that never goes back. foliot_queue decides when a slot opens; the wheel knows
// which slot is next, gives up its timers, and keeps a lower bound of all deadlines.
//
// Complexity: put and take O(1). earliest() is O(1) as long as the timer with the earliest deadline stays; after it has
// gone, a rescan reads the slots that may contain the earliest deadline, at most a window's worth of n timers. A rescan
// over n timers is followed by at least n/2 answers from the cache, so its cost is amortised O(1). Thread safety: none.
//
// Invariants (check), beside those of the parts:
//   1. No slot contains a deadline before the slot's beginning, and no occupied slot begins before `base_`.
//   2. No occupied slot begins before `next_slot_`.
//   3. No deadline is before `bound_`.
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
#include <foliot/queue/detail/structure_access.hpp>

namespace foliot::detail {

template <class Tuning>
class wheel {
 public:
  using rings = ring_levels<Tuning::base_shift>;
  /// A slot beside the rings for deadlines of never: requeue() moves them there when the slot that they were first
  /// queued in opens.
  static constexpr std::size_t never_slot = rings::slots;
  using slot_table = detail::slot_table<never_slot + 1, Tuning::chunk_entries, Tuning::chunks_in_block>;
  using word = typename slot_table::word;

  /// Whether a place is in a slot of the rings.
  [[nodiscard]] static bool in_ring(std::size_t its_place) noexcept { return place::region(its_place) < never_slot; }

  /// The slot for a deadline that is not before base().
  [[nodiscard]] std::size_t slot_for(instant deadline) const noexcept { return rings::slot_for(deadline, base_); }
  /// A hole in that slot; null if there is none, and new_hole_in() must make one.
  [[nodiscard]] word* hole_in(std::size_t slot) const noexcept { return slots_.hole_in(slot); }
  /// Adds a chunk to the slot and returns a hole in it. Throws std::bad_alloc with nothing changed.
  [[gnu::noinline]] word* new_hole_in(std::size_t slot) {
    word* hole = slots_.add_chunk(slot);
    if (slot != never_slot) {
      rings_.occupy(slot);
      next_slot_ = std::min(next_slot_, rings::start_of(slot, base_));
    }
    return hole;
  }
  /// Puts a node, whose deadline is set, into a hole of the slot.
  void put(timer_node& node, std::size_t slot, word* hole) noexcept {
    slots_.fill(slot, hole, node);
    if (node.deadline() < bound_) lower_bound_to(node.deadline());
  }

  /// Removes a node; it is not pending afterwards.
  void take(timer_node& node) noexcept {
    slots_.vacate(timer_node_access::place(node));
    timer_node_access::place(node) = timer_node_access::nowhere;
    if (node.deadline() == bound_) stale_ = true;
  }

  /// Tries to leave a node of the rings in its slot when its deadline becomes `deadline`. Succeeds unless that is
  /// before the beginning of the slot; a later deadline is requeued when the slot opens. If it returns true, the caller
  /// must write the deadline; if false, nothing was changed.
  [[nodiscard]] bool try_keep_slot(timer_node& node, instant deadline) noexcept {
    const instant old = node.deadline();
    if (deadline < old && deadline < rings::start_of(place::region(timer_node_access::place(node)), base_))
      return false;
    if (old == bound_) stale_ = true;
    if (deadline < bound_) lower_bound_to(deadline);
    return true;
  }

  /// Queues a node of a slot that was gathered again. Returns false if there is no memory for it.
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

  /// A lower bound of all deadlines, exact in most cases; never if the wheel is empty. It is the beginning of a slot
  /// where a rescan would have to read too many timers, and may for a while be the deadline of a timer that was stopped
  /// or moved.
  [[nodiscard]] instant earliest() noexcept {
    if (size() == 0) return instant::never();
    if (stale_) [[unlikely]]
      improve_bound();
    return bound_;
  }

  /// The instant at which the wheel stands.
  [[nodiscard]] instant base() const noexcept { return base_; }
  /// A lower bound of the beginnings of all occupied slots; never if there is none.
  [[nodiscard]] instant next_slot() const noexcept { return next_slot_; }
  [[nodiscard]] std::size_t size() const noexcept { return slots_.size(); }

  /// Moves the wheel on to `now`. Precondition: no slot begins before `now`.
  void stand_at(instant now) noexcept { base_ = std::max(base_, rings::floor(now, Tuning::base_shift)); }
  /// To be called when no timer is due at `now`: discards a bound that is not after `now`, so that no thread wakes for
  /// it again.
  void forget_bound_before(instant now) noexcept {
    if (bound_ <= now) forget_bound();
  }

  /// A slot that opens.
  struct opening {
    std::size_t slot = never_slot;
    int width = 0;           ///< the binary logarithm of its length in ns
    std::size_t chunks = 0;  ///< 0: there is no slot to open
  };
  /// Moves the wheel on to the next slot and returns it. If stops have emptied that slot, returns no slot and corrects
  /// next_slot() instead.
  [[nodiscard]] opening go_to_next_slot() noexcept {
    const auto first = rings_.first(base_);
    if (first.start != next_slot_) {
      next_slot_ = first.start;
      return {};
    }
    base_ = first.start;
    return {first.slot, rings::shift(rings::level(first.slot)), slots_.chunks(first.slot)};
  }
  /// How many chunks the slots have that begin in the rest of the aligned interval of 2^width ns around base().
  [[nodiscard]] std::size_t chunks_within(int width) const noexcept {
    std::size_t chunks = 0;
    rings_.for_each_slot_within(base_, width, [&](std::size_t slot) { chunks += slots_.chunks(slot); });
    return chunks;
  }
  /// Moves all nodes of those slots to `out`, which must have room for all entries of their chunks.
  void gather_within(int width, std::vector<deadline_entry>& out) noexcept {
    rings_.for_each_slot_within(base_, width, [&](std::size_t slot) { gather(slot, slots_.chunks(slot), out); });
  }
  /// Moves the nodes of a slot's first `chunks` chunks to `out`.
  void gather(std::size_t slot, std::size_t chunks, std::vector<deadline_entry>& out) noexcept {
    for (; chunks > 0; --chunks) {
      slots_.take_first_chunk(slot, [&](timer_node& node) {
        __builtin_prefetch(&node, 1);
        out.push_back({{}, &node});
      });
    }
    clear_if_empty(slot);
  }
  /// Finds the next slot; to be called when timers have been gathered and requeued.
  void find_next_slot() noexcept {
    next_slot_ = rings_.first(base_).start;
    forget_bound();
  }

  /// Whether stops have left so many holes that tidy() should be called.
  [[nodiscard]] bool sparse() const noexcept { return slots_.sparse(); }
  /// Returns a part of the memory that stops have left unused.
  [[gnu::noinline]] void tidy() noexcept {
    if (size() > 0) return slots_.pack();
    rings_.for_each_occupied([this](std::size_t slot) { drop_empty(slot); });
    drop_empty(never_slot);
    next_slot_ = instant::never();
  }

  /// Any node. Precondition: not empty.
  [[nodiscard]] timer_node& some() noexcept {
    for (;;) {
      const auto first = rings_.first(base_);
      const std::size_t slot = first.start.is_never() ? never_slot : first.slot;
      timer_node* found = slots_.some_in(slot);
      clear_if_empty(slot);
      if (found != nullptr) return *found;
    }
  }

  /// Memory for `count` timers in all; the wheel keeps it after take(): see reserve.hpp. Throws std::bad_alloc.
  using room = typename slot_table::room;
  [[nodiscard]] room room_for(std::size_t count) const { return slots_.room_for(count); }
  void take(room&& made) noexcept { slots_.take(std::move(made)); }

  [[nodiscard]] check_result check() const {
    const auto broken = [](const char* what) { return std::unexpected(std::string("wheel: ") + what); };
    if (rings_.first(base_).start < next_slot_) return broken("an occupied slot begins before the next slot");
    std::size_t with_chunks = slots_.chunks(never_slot) > 0 ? 1 : 0;
    std::size_t without = 0;
    rings_.for_each_occupied([&](std::size_t slot) { ++(slots_.chunks(slot) > 0 ? with_chunks : without); });
    if (without > 0 || with_chunks != slots_.occupied()) return broken("the bit of a slot is wrong");
    return slots_.check([&](std::size_t slot, const timer_node& node) -> check_result {
      if (node.deadline() < bound_) return broken("a deadline is before the bound");
      if (slot == never_slot) {
        if (!node.deadline().is_never()) return broken("a deadline other than never is in the slot of never");
      } else if (node.deadline() < rings::start_of(slot, base_)) {
        return broken("a deadline is before the beginning of its slot");
      }
      return {};
    });
  }

 private:
  friend struct structure_access;
  static constexpr instant unknown = instant::earliest();  // a bound that holds for every deadline
  /// The most chunks that one rescan reads.
  static constexpr std::size_t chunks_a_scan = std::max<std::size_t>(1, Tuning::window_size / Tuning::chunk_entries);
  static constexpr std::size_t few = 8;  // a rescan of so few timers may follow every stop

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

  /// Finds a better bound, or counts down to the next rescan. Until then earliest() returns the old bound, which is
  /// still a lower one. An unknown bound is replaced at once.
  [[gnu::noinline]] void improve_bound() noexcept {
    if (bound_ != unknown && cached_answers_left_ > 0) {
      --cached_answers_left_;
      return;
    }
    std::size_t seen = 0;
    bound_ = find_bound(seen);
    stale_ = false;
    cached_answers_left_ = seen > few ? seen / 2 : 0;
  }

  /// The earliest deadline of all, or the beginning of a slot that has too many timers. Adds to `seen` how many timers
  /// it has read.
  instant find_bound(std::size_t& seen) noexcept {
    instant bound = instant::never();
    std::size_t chunks_left = chunks_a_scan;
    rings_.for_each_level([&](std::size_t level) {
      // All slots that begin before the bound are read, not only the first: resets may have moved the deadlines of a
      // slot past the end of the slot, even past the next one.
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

  instant bound_ = instant::never();     // no deadline is before it; or unknown
  bool stale_ = false;                   // the timer with that deadline may have gone
  std::size_t cached_answers_left_ = 0;  // how often earliest() returns a stale bound before the next rescan
  instant base_ = instant::earliest();
  instant next_slot_ = instant::never();
  rings rings_;
  slot_table slots_;
};

}  // namespace foliot::detail
