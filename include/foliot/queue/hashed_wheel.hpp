// The simple timer wheel: one ring of slots, one slot a tick, with the timers of all rounds.
//
// Complexity: start, stop and reset O(1); expire O(1) a timer, plus n/slots a tick, because it passes over the timers
// of later rounds; after a stall of more than a turn, once O(n + slots) and O(log n) for each due timer. next_deadline
// O(1), or a search of at most a turn or 1024 timers once its bound has passed. Memory: 16 bytes a slot, beside the
// nodes; only the constructor allocates. Choose it where timeouts are short, up to about a turn, or timers are few;
// with long timeouts expire mostly passes over timers.
//
// Thread safety: none, one owner.
//
// Layout. In `hashed_wheel` a tick is 1 ms and the wheel has 512 slots, so that a turn is half a second;
// `chosen_hashed_wheel` gets both at run time, `basic_hashed_wheel` at compile time (wheel_shape.hpp). The timer of
// tick t is in slot t mod slots; its round is t / slots. Rounds are not counted down: a timer is due when its round is
// the hand's. The hand is the last tick that was reached. All timers of its slot are moved to `open_` together and
// processed from the front, so that a turn may end, and a sink may start and stop timers, between any two of them.
// Timers that the hand has already passed are in a small heap, `overdue_`: they were started late, or the clock jumped
// by more than a turn.
//
// Invariants (check):
//   1. A timer in a slot has a tick after the hand, and that slot belongs to its tick.
//   2. A timer in `open_` has a tick of the hand's slot, not before the hand.
//   3. A timer in `overdue_` has a tick not after the hand, or never fires.
//   4. `next_tick_` is not after any timer's tick.
//
// Source: G. Varghese, T. Lauck, "Hashed and hierarchical timing wheels" (1987), scheme 6.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>

#include <foliot/core/timer_node.hpp>
#include <foliot/queue/detail/reserve.hpp>
#include <foliot/queue/detail/structure_access.hpp>
#include <foliot/queue/detail/ticks.hpp>
#include <foliot/queue/detail/wheel_node.hpp>
#include <foliot/queue/detail/wheel_ring.hpp>
#include <foliot/queue/timer_queue.hpp>
#include <foliot/queue/wheel_shape.hpp>

namespace foliot::inline queue {

/// A timer_queue to the precision of a tick. `Shape` is a fixed_wheel, or chosen_wheel.
template <class Shape>
class basic_hashed_wheel : private detail::wheel_ring<Shape> {
  using slot_ring = detail::wheel_ring<Shape>;

 public:
  using node_type = wheel_node;
  static constexpr std::string_view name = "hashed-wheel";
  /// The length of a tick; constant where the shape is fixed.
  using slot_ring::precision;
  /// The number of slots, a power of two; constant where the shape is fixed.
  using slot_ring::slot_count;
  /// The number of slots of a wheel whose shape has 0.
  static constexpr std::size_t usual_slots = 512;
  static constexpr bool ties_in_start_order = false;  // timers of later rounds are appended to their slot again
  static constexpr bool next_deadline_exact = false;

  basic_hashed_wheel() noexcept
    requires(!std::same_as<Shape, chosen_wheel>)
  = default;
  /// Allocates the slots. Throws std::invalid_argument if the shape is out of range, and std::bad_alloc.
  explicit basic_hashed_wheel(wheel_shape shape = {})
    requires std::same_as<Shape, chosen_wheel>
      : slot_ring(shape.checked(usual_slots)) {}
  basic_hashed_wheel(const basic_hashed_wheel&) = delete;
  basic_hashed_wheel& operator=(const basic_hashed_wheel&) = delete;
  ~basic_hashed_wheel() { FOLIOT_ASSERT(size_ == 0, "a queue must be empty when it is destroyed"); }

  /// Makes a node pending. Precondition: it is not pending.
  void start(node_type& node, instant deadline) noexcept {
    FOLIOT_ASSERT(!node.pending(), "a pending timer must be reset, not started");
    access::deadline(node) = deadline;
    const tick due = ticks.of(deadline);
    next_tick_ = size_ == 0 ? due : std::min(next_tick_, due);
    ++size_;
    enqueue(node, due);
  }

  /// Makes a node not pending; returns whether it was.
  bool stop(node_type& node) noexcept {
    if (!node.pending()) return false;
    take_out(node);
    return true;
  }

  /// Gives a node a new deadline, and starts it if it was not pending; returns whether it was.
  bool reset(node_type& node, instant deadline) noexcept {
    const bool was_pending = stop(node);
    start(node, deadline);
    return was_pending;
  }

  /// The end of the earliest tick that a timer may have. A stop does not change it, so that it may be too early.
  [[nodiscard]] instant next_deadline() noexcept {
    if (size_ == 0) return instant::never();
    if (const node_type* first = overdue_.top(); first != nullptr && due_tick(*first) <= hand_) {
      return ticks.instant_of(due_tick(*first));
    }
    if (!open_.empty()) return ticks.instant_of(hand_);
    if (next_tick_ <= hand_) next_tick_ = find_next_tick();
    return ticks.instant_of(next_tick_);
  }

  /// Fires the timers that are due at `now`, at most `limit`: see timer_queue.
  template <class Sink>
  expiry expire(instant now, budget limit, Sink&& sink) {
    expiry turn;
    const tick reached = ticks.reached(now);
    while (node_type* const due = next_due(reached)) {
      if (turn.fired == limit) {
        turn.more = true;
        break;
      }
      take_out(*due);
      ++turn.fired;
      sink(*due);
    }
    return turn;
  }

  /// O(slots); O(timers + slots) for removing all timers.
  [[nodiscard]] node_type* pop_any() noexcept {
    node_type* found = overdue_.top();
    if (found == nullptr && !open_.empty()) found = &open_.front();
    for (std::size_t i = 0; found == nullptr && i < slot_count; ++i) {
      if (!slot(pop_slot_).empty()) {
        found = &slot(pop_slot_).front();
      } else {
        pop_slot_ = (pop_slot_ + 1) % slot_count;
      }
    }
    if (found != nullptr) take_out(*found);
    return found;
  }

  /// Does nothing, because starts do not allocate. Throws std::bad_alloc for more timers than an address space can
  /// have.
  void reserve(std::size_t count) { detail::refuse_impossible(count); }

  /// How many timers are pending.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// Checks all invariants. O(n).
  [[nodiscard]] check_result check() const {
    std::size_t found = 0;
    const auto holds = [&](node_type& node, bool right_place) {
      ++found;
      return right_place && next_tick_ <= due_tick(node);
    };
    for (std::size_t i = 0; i < slot_count; ++i) {
      const auto in_its_slot = [&](node_type& node) {
        const tick due = due_tick(node);
        return holds(node, due > hand_ && slot_of(due) == i && access::place(node) == in_ring);
      };
      if (!slot(i).sound()) {
        return std::unexpected("hashed_wheel: slot " + std::to_string(i) + " is not linked both ways");
      }
      if (!slot(i).for_each(in_its_slot)) {
        return std::unexpected("hashed_wheel: slot " + std::to_string(i) + " has a timer that belongs elsewhere");
      }
    }
    const bool opened = open_.sound() && open_.for_each([&](node_type& node) {
      const tick due = due_tick(node);
      return holds(node, due >= hand_ && slot_of(due) == slot_of(hand_) && access::place(node) == in_ring);
    });
    if (!opened) return std::unexpected("hashed_wheel: the open slot has a timer that belongs elsewhere");
    const bool overdue = overdue_.sound() && overdue_.for_each([&](node_type& node) {
      const tick due = due_tick(node);
      return holds(node, (due <= hand_ || due == detail::never_tick) && access::place(node) == in_heap);
    });
    if (!overdue) return std::unexpected("hashed_wheel: a timer in the heap of overdue timers is not overdue");
    if (found != size_) return std::unexpected("hashed_wheel: the count of timers is wrong");
    return {};
  }

 private:
  friend struct detail::structure_access;
  using access = timer_node_access;
  using tick = detail::tick;
  // The places of pending nodes.
  static constexpr std::size_t in_ring = 0;
  static constexpr std::size_t in_heap = 1;
  /// How many timers a search for the next tick reads before it returns a bound instead, if the bound is at least
  /// worth_a_wake_up ahead: with nearer bounds a thread would wake every few nanoseconds and do nothing else.
  static constexpr std::size_t search_limit = 1024;
  static constexpr duration worth_a_wake_up = duration::nanoseconds(1'000'000);

  using slot_ring::round_of;
  using slot_ring::slot_of;
  using slot_ring::ticks;

  /// The slot with this number.
  detail::ring& slot(std::size_t number) noexcept { return slot_ring::operator[](number); }
  [[nodiscard]] const detail::ring& slot(std::size_t number) const noexcept { return slot_ring::operator[](number); }
  [[nodiscard]] tick due_tick(const node_type& node) const noexcept { return ticks.of(node.deadline()); }

  /// How many turns after the hand's present one a timer of the hand's slot is due.
  [[nodiscard]] tick rounds_left(const node_type& node) const noexcept {
    return round_of(due_tick(node)) - round_of(hand_);
  }

  void enqueue(node_type& node, tick due) noexcept {
    if (due < hand_ || due == detail::never_tick) return enqueue_overdue(node);
    (due == hand_ ? open_ : slot(slot_of(due))).push_back(node);
    access::place(node) = in_ring;
  }

  void enqueue_overdue(node_type& node) noexcept {
    overdue_.push(node);
    access::place(node) = in_heap;
  }

  void take_out(node_type& node) noexcept {
    if (access::place(node) == in_heap) {
      overdue_.erase(node);
    } else {
      detail::ring::unlink(node);
    }
    access::place(node) = access::nowhere;
    --size_;
  }

  /// The timer that fires next; null if none is due at tick `reached`. Moves the hand, tick by tick.
  node_type* next_due(tick reached) noexcept {
    if (node_type* const first = overdue_.top(); first != nullptr && due_tick(*first) <= hand_) {
      return due_tick(*first) <= reached ? first : nullptr;
    }
    for (;;) {
      while (!open_.empty()) {
        node_type& first = open_.front();
        if (rounds_left(first) == 0) return hand_ <= reached ? &first : nullptr;
        detail::ring::unlink(first);
        slot(slot_of(hand_)).push_back(first);
      }
      if (hand_ >= reached) return nullptr;
      if (reached - hand_ > slot_count) return gather_overdue(reached);
      ++hand_;
      open_.take_all(slot(slot_of(hand_)));
    }
  }

  /// Moves the hand by more than a turn: a slot may have timers of several due ticks then. Reads each slot once,
  /// instead of once a turn, and sorts the due timers by the heap. Precondition: `open_` is empty and no timer is
  /// overdue.
  [[gnu::noinline]] node_type* gather_overdue(tick reached) noexcept {
    hand_ = reached;
    for (std::size_t i = 0; i < slot_count; ++i) {
      slot(i).for_each([&](node_type& node) {
        if (due_tick(node) <= reached) {
          detail::ring::unlink(node);
          enqueue_overdue(node);
        }
        return true;
      });
    }
    node_type* const first = overdue_.top();
    return first != nullptr && due_tick(*first) <= reached ? first : nullptr;
  }

  /// The earliest tick of any timer, or, where that takes too long to find, a lower bound of it. Precondition: `open_`
  /// is empty and no timer is overdue.
  [[gnu::noinline]] [[nodiscard]] tick find_next_tick() const noexcept {
    tick earliest = detail::never_tick;
    std::size_t looked_at = 0;
    const auto settles_from = static_cast<tick>((worth_a_wake_up.count() + precision.count() - 1) / precision.count());
    const tick last =
        hand_ + std::min<tick>(slot_count, ticks.last() - hand_);  // less than a turn before the end of time
    for (tick here = hand_ + 1; here <= last; ++here) {
      const bool none_here = slot(slot_of(here)).for_each([&](const node_type& node) {
        const tick due = due_tick(node);
        earliest = std::min(earliest, due);
        return due != here && (++looked_at < search_limit || here - hand_ < settles_from);
      });
      if (!none_here) return here;  // the timers of earlier slots are due at least a turn later
    }
    return earliest;
  }

  detail::ring open_;  // the timers of the hand's slot that have not been processed
  detail::pairing_heap overdue_;
  tick hand_ = 0;  // before all deadlines, until the first expire
  tick next_tick_ = detail::never_tick;
  std::size_t size_ = 0;
  std::size_t pop_slot_ = 0;  // the slot in which pop_any searches first
};

/// 512 slots of 1 ms.
using hashed_wheel = basic_hashed_wheel<fixed_wheel<1'000'000, 512>>;
/// A wheel whose constructor takes the shape; by default 512 slots of 1 ms.
using chosen_hashed_wheel = basic_hashed_wheel<chosen_wheel>;

static_assert(timer_queue<hashed_wheel>);
static_assert(timer_queue<chosen_hashed_wheel>);

}  // namespace foliot::inline queue
