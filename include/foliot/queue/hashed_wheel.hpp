// The simple timer wheel: one ring of slots, a slot a tick, and timers of every round in it.
//
// Complexity: start, stop and reset O(1); expire O(1) a timer, plus n/slots a tick, since the timers of
// later rounds are passed over; after a stall of more than a turn, once O(n + slots), and O(log n) a timer that
// is due. next_deadline O(1), and a search of at most a turn, or 1024 timers, once its bound has passed.
// Memory: 16 bytes a slot, beside the nodes; after the constructor nothing is ever allocated. Pick it where
// timeouts are short, about a turn and less, or timers few; with long timeouts most of a turn is passing over timers.
//
// Thread safety: none, one owner.
//
// Layout. In `hashed_wheel` a tick is 1 ms, and the wheel has 512 slots, so that a turn is half a second;
// `chosen_hashed_wheel` gets both at run time, `basic_hashed_wheel` at compile time (wheel_shape.hpp). The timer of
// tick t hangs in slot t mod slots; its round is t / slots. It is not counted down: a timer is due when its
// round is the hand's. The hand is the last tick that was reached. Its slot is taken off the wheel as a
// whole, to `open_`, and worked off from its front, so that a call may end, and a sink may do anything,
// between any two timers. A timer that the hand has passed already, since it was started late or the
// clock leapt over more than a turn, is in a small heap, `overdue_`.
//
// Invariants (check):
//   1. A timer in a slot has a tick after the hand, and that slot is its own.
//   2. A timer in `open_` has the hand's slot, and a tick not before the hand.
//   3. A timer in `overdue_` has a tick not after the hand, or never fires.
//   4. next_tick is not after any timer's tick.
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
#include <foliot/queue/detail/ticks.hpp>
#include <foliot/queue/detail/wheel_node.hpp>
#include <foliot/queue/detail/wheel_ring.hpp>
#include <foliot/queue/timer_queue.hpp>
#include <foliot/queue/wheel_shape.hpp>

namespace foliot::inline queue {

/// `Shape` is a fixed_wheel, or chosen_wheel.
template <class Shape>
class basic_hashed_wheel : private detail::wheel_ring<Shape> {
  using slot_ring = detail::wheel_ring<Shape>;

 public:
  using node_type = wheel_node;
  static constexpr std::string_view name = "hashed-wheel";
  /// The length of a tick; constant where the shape is fixed.
  using slot_ring::precision;
  /// How many slots it has, a power of two; constant where the shape is fixed.
  using slot_ring::slot_count;
  /// How many slots a wheel has whose shape leaves that open.
  static constexpr std::size_t usual_slots = 512;
  static constexpr bool ties_in_start_order = false;  // a slot's later rounds are hung in again
  static constexpr bool next_deadline_exact = false;

  basic_hashed_wheel() noexcept
    requires(!std::same_as<Shape, chosen_wheel>)
  = default;
  /// Allocates the slots. Throws std::invalid_argument for a shape that cannot be, std::bad_alloc.
  explicit basic_hashed_wheel(wheel_shape shape = {})
    requires std::same_as<Shape, chosen_wheel>
      : slot_ring(shape.checked(usual_slots)) {}
  basic_hashed_wheel(const basic_hashed_wheel&) = delete;
  basic_hashed_wheel& operator=(const basic_hashed_wheel&) = delete;
  ~basic_hashed_wheel() { FOLIOT_ASSERT(size_ == 0, "a queue must be empty when it is destroyed"); }

  void start(node_type& node, instant deadline) noexcept {
    FOLIOT_ASSERT(!node.pending(), "a timer that is pending must be reset, not started");
    access::deadline(node) = deadline;
    const tick due = ticks.of(deadline);
    next_tick_ = size_ == 0 ? due : std::min(next_tick_, due);
    ++size_;
    hang(node, due);
  }

  bool stop(node_type& node) noexcept {
    if (!node.pending()) return false;
    take_out(node);
    return true;
  }

  bool reset(node_type& node, instant deadline) noexcept {
    const bool was_pending = stop(node);
    start(node, deadline);
    return was_pending;
  }

  /// The end of the earliest tick that a timer may have. A stop leaves it as it is, too early then.
  [[nodiscard]] instant next_deadline() noexcept {
    if (size_ == 0) return instant::never();
    if (const node_type* first = overdue_.top(); first != nullptr && due_tick(*first) <= hand_) {
      return ticks.instant_of(due_tick(*first));
    }
    if (!open_.empty()) return ticks.instant_of(hand_);
    if (next_tick_ <= hand_) next_tick_ = find_next_tick();
    return ticks.instant_of(next_tick_);
  }

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

  /// O(slots), and with all others of the wheel together O(timers + slots).
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

  /// Nothing to do: the wheel allocates nothing. Throws std::bad_alloc for more timers than there can be.
  void reserve(std::size_t count) { detail::refuse_impossible(count); }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }

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
      if (!slot(i).sound()) return std::unexpected("hashed_wheel: slot " + std::to_string(i) + " is torn");
      if (!slot(i).for_each(in_its_slot)) {
        return std::unexpected("hashed_wheel: slot " + std::to_string(i) + " has a timer of another place");
      }
    }
    const bool opened = open_.sound() && open_.for_each([&](node_type& node) {
      const tick due = due_tick(node);
      return holds(node, due >= hand_ && slot_of(due) == slot_of(hand_) && access::place(node) == in_ring);
    });
    if (!opened) return std::unexpected("hashed_wheel: the open slot has a timer of another place");
    const bool overdue = overdue_.sound() && overdue_.for_each([&](node_type& node) {
      const tick due = due_tick(node);
      return holds(node, (due <= hand_ || due == detail::never_tick) && access::place(node) == in_heap);
    });
    if (!overdue) return std::unexpected("hashed_wheel: a timer counts as overdue and is not");
    if (found != size_) return std::unexpected("hashed_wheel: holds more timers, or fewer, than it says");
    return {};
  }

 private:
  using access = timer_node_access;
  using tick = detail::tick;
  // What a node's place says.
  static constexpr std::size_t in_ring = 0;
  static constexpr std::size_t in_heap = 1;
  /// How many timers a search for the next tick looks at before it settles for a bound, if that is some way ahead: a
  /// thread that woke for one every few nanoseconds would do nothing else.
  static constexpr std::size_t search_limit = 1024;
  static constexpr duration worth_a_wake_up = duration::nanoseconds(1'000'000);

  using slot_ring::round_of;
  using slot_ring::slot_of;
  using slot_ring::ticks;

  /// The slot with this number.
  detail::ring& slot(std::size_t number) noexcept { return slot_ring::operator[](number); }
  [[nodiscard]] const detail::ring& slot(std::size_t number) const noexcept { return slot_ring::operator[](number); }
  [[nodiscard]] tick due_tick(const node_type& node) const noexcept { return ticks.of(node.deadline()); }

  /// How often the hand still passes over a timer of its slot before that is due.
  [[nodiscard]] tick rounds_left(const node_type& node) const noexcept {
    return round_of(due_tick(node)) - round_of(hand_);
  }

  void hang(node_type& node, tick due) noexcept {
    if (due < hand_ || due == detail::never_tick) return hang_overdue(node);
    (due == hand_ ? open_ : slot(slot_of(due))).push_back(node);
    access::place(node) = in_ring;
  }

  void hang_overdue(node_type& node) noexcept {
    overdue_.push(node);
    access::place(node) = in_heap;
  }

  void unhang(node_type& node) noexcept {
    if (access::place(node) == in_heap) {
      overdue_.erase(node);
    } else {
      detail::ring::unlink(node);
    }
  }

  void take_out(node_type& node) noexcept {
    unhang(node);
    access::place(node) = access::nowhere;
    --size_;
  }

  /// The timer that fires next, by tick `reached`; null when none is due. Moves the hand, tick by tick.
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

  /// The clock has leapt by more than a turn, so that a slot may hold several ticks that are due. Looks
  /// into each slot once, instead of once a turn, and lets the heap sort them. Precondition: no timer is
  /// open or overdue.
  [[gnu::noinline]] node_type* gather_overdue(tick reached) noexcept {
    hand_ = reached;
    for (std::size_t i = 0; i < slot_count; ++i) {
      slot(i).for_each([&](node_type& node) {
        if (due_tick(node) <= reached) {
          detail::ring::unlink(node);
          hang_overdue(node);
        }
        return true;
      });
    }
    node_type* const first = overdue_.top();
    return first != nullptr && due_tick(*first) <= reached ? first : nullptr;
  }

  /// The first tick of a timer, or, when that takes too long to find, one that none comes before.
  /// Precondition: no timer is open or overdue.
  [[gnu::noinline]] [[nodiscard]] tick find_next_tick() const noexcept {
    tick earliest = detail::never_tick;
    std::size_t looked_at = 0;
    const auto settles_from = static_cast<tick>((worth_a_wake_up.count() + precision.count() - 1) / precision.count());
    const tick last =
        hand_ + std::min<tick>(slot_count, ticks.last() - hand_);  // where time ends there is no turn left
    for (tick here = hand_ + 1; here <= last; ++here) {
      const bool none_here = slot(slot_of(here)).for_each([&](const node_type& node) {
        const tick due = due_tick(node);
        earliest = std::min(earliest, due);
        return due != here && (++looked_at < search_limit || here - hand_ < settles_from);
      });
      if (!none_here) return here;  // those of the slots before it come a turn later
    }
    return earliest;
  }

  detail::ring open_;  // what is left of the hand's slot
  detail::pairing_heap overdue_;
  tick hand_ = 0;  // before all deadlines, until the first expire
  tick next_tick_ = detail::never_tick;
  std::size_t size_ = 0;
  std::size_t pop_slot_ = 0;  // where pop_any has found something last
};

/// 512 slots of 1 ms.
using hashed_wheel = basic_hashed_wheel<fixed_wheel<1'000'000, 512>>;
/// Slots and ticks that the constructor is told; 512 of 1 ms unless it is.
using chosen_hashed_wheel = basic_hashed_wheel<chosen_wheel>;

static_assert(timer_queue<hashed_wheel>);
static_assert(timer_queue<chosen_hashed_wheel>);

}  // namespace foliot::inline queue
