// Erlang's timer wheel (OTP 18): 65,536 slots of 1 ms, each a circular list.
//
// Complexity: start, stop and reset O(1). expire O(1) a timer, and O(1) a slot on the way to the next timer; a timer
// that is more than a turn (65.5 s) away is read once a turn. A jump of more than a turn takes one pass over all slots
// and a sort of the due timers. next_deadline O(1) if the next timeout is known, else a search of at most one turn.
// Memory: 512 KiB for the slots, from the first start until the queue is destroyed; nothing else beside the nodes (48
// bytes). Choose it for very many timers that rarely live longer than a turn, where a precision of 1 ms is enough.
// Thread safety: none, one owner.
//
// A timer's position (`timeout_pos`) is its deadline in ticks of 1 ms, rounded up. The wheel stands at `pos_`: no timer
// up to that position is in a slot. A timer is in one of three containers, and its place tells which:
//
//   slots_[timeout_pos mod 65,536]   timers ahead of pos_, by up to a turn or more
//   the ring of sentinel_            timers that are being fired: those of the slot of pos_, moved here together, then
//                                    those that a long jump has found overdue, by position
//   at_once_                         timers that were already due when they were started, by position;
//                                    at_once_unsorted_ has those that came out of order, until they are needed
//
// So a callback may start timers in the slot that is being fired, and stop timers that are being fired, since every
// list is circular and unlinking is the same everywhere. A turn that its budget ends keeps the ring.
//
// Invariants (check):
//   1. A timer in a slot is ahead of pos_, in the slot of its position, and not before next_timeout_.
//   2. The ring begins with timers of the slot of pos_; overdue timers follow, in order, and not before pos_.
//   3. A timer in at_once_ or at_once_unsorted_ is not ahead of pos_; at_once_ is in order.
//   4. nto_ timers are in these containers, at_once_nto_ of them in at_once_ and at_once_unsorted_.
//   5. Every list is linked both ways, and every node knows its place.
//
// Source: erts/emulator/beam/time.c and erl_time.h of OTP 18; docs/mechanisms.md maps it.
#pragma once

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <foliot/core/timer_node.hpp>
#include <foliot/queue/detail/erlang_position.hpp>
#include <foliot/queue/detail/reserve.hpp>
#include <foliot/queue/detail/structure_access.hpp>
#include <foliot/queue/erlang_timer.hpp>
#include <foliot/queue/timer_queue.hpp>

namespace foliot::inline queue {

/// A timer_queue to the precision of 1 ms. `Slots` must be a power of two: 65,536 in `erlang_wheel`, fewer where memory
/// is small, or in tests.
template <std::size_t Slots>
class basic_erlang_wheel : private detail::erlang_position {
  static_assert(std::has_single_bit(Slots), "foliot: the number of slots of an erlang_wheel must be a power of two");

 public:
  using node_type = erlang_timer;
  static constexpr std::string_view name = Slots == 65'536 ? "erlang-wheel" : "erlang-wheel-small";
  static constexpr duration precision = std::chrono::milliseconds(1);
  static constexpr bool ties_in_start_order = false;  // not across turns: see put_back
  static constexpr bool next_deadline_exact = false;
  /// ERTS_TWHEEL_BUMP_YIELD_LIMIT: the budget of a service's turns, and the count of bump_timers.
  static constexpr budget yield_limit = 100;

  basic_erlang_wheel() noexcept = default;
  basic_erlang_wheel(const basic_erlang_wheel&) = delete;
  basic_erlang_wheel& operator=(const basic_erlang_wheel&) = delete;
  ~basic_erlang_wheel() { FOLIOT_ASSERT(nto_ == 0, "a queue must be empty when it is destroyed"); }

  /// The first start allocates the slots.
  void start(node_type& node, instant deadline) {
    FOLIOT_ASSERT(!node.pending(), "a pending timer must be reset, not started");
    if (slots_ == nullptr) slots_ = new_slots();
    set_timer(node, deadline);
  }

  /// Makes a node not pending; returns whether it was.
  bool stop(node_type& node) noexcept {
    if (!node.pending()) return false;
    remove_timer(node);
    return true;
  }

  /// As stop; if it has stopped the timer, it then calls the node's on_cancel, which may destroy the node.
  bool cancel(node_type& node) {
    if (!stop(node)) return false;
    if (node.on_cancel != nullptr) node.on_cancel(node);
    return true;
  }

  /// Gives a node a new deadline, and starts it if it was not pending; returns whether it was. Throws as start does.
  bool reset(node_type& node, instant deadline) {
    const bool was_pending = node.pending();
    if (was_pending) {
      remove_timer(node);
      set_timer(node, deadline);
    } else {
      start(node, deadline);
    }
    return was_pending;
  }

  /// Searches for the next timeout if it is not known. A stop does not change a known one, so that it may be too early.
  [[nodiscard]] instant next_deadline() noexcept {
    if (nto_ == 0) return instant::never();
    settle_at_once();
    if (!at_once_.empty()) return instant_of(timeout_pos(at_once_.front()));
    if (!sentinel_.empty()) return instant_of(pos_);
    if (!true_next_timeout_) find_next_timeout(never_pos);
    return instant_of(next_timeout_);
  }

  /// A `now` before that of an earlier call counts as the earlier call's.
  template <class Sink>
  expiry expire(instant now, budget limit, Sink&& sink) {
    return fire_due(now, limit, sink, [](node_type&) { return true; });
  }

  /// As expire, but ends also by the count of the original's turns, 100, in which the first timer of each slot is left
  /// out: 1,000 timers of 1,000 slots fire in one call, 250 of one slot in calls of 100, 99 and 51, and 250 that were
  /// due when they were started in calls of 99, 99 and 52. `more` tells that either bound has ended the call while a
  /// timer is due. After a jump of more than a turn of the wheel the timers of one position count as those of a slot.
  template <class Sink>
  expiry bump_timers(instant now, budget limit, Sink&& sink) {
    yield_count_ = static_cast<std::ptrdiff_t>(yield_limit);
    return fire_due(now, limit, sink, [this](node_type& due) {
      return (access::place(due) != at_once && !begun_) || --yield_count_ > 0;
    });
  }

  /// Makes any pending node not pending and returns it; null if there is none.
  [[nodiscard]] node_type* pop_any() noexcept {
    if (nto_ == 0) return nullptr;
    node_type* any = nullptr;
    for (const detail::erlang_list* list : {&sentinel_, &at_once_, &at_once_unsorted_}) {
      if (!list->empty()) any = &list->back();
    }
    while (any == nullptr) {
      any = slots_[pop_slot_];
      if (any == nullptr) pop_slot_ = (pop_slot_ + 1) % Slots;
    }
    remove_timer(*any);
    return any;
  }

  /// Allocates the slots, for any count above zero; nothing else is ever allocated. Throws std::bad_alloc, also for
  /// more timers than an address space can have.
  void reserve(std::size_t count) { take(room_for(count)); }

  /// Reserves in two steps, for users who reserve in several queues, in all or in none: see detail/reserve.hpp.
  class room {
    friend class basic_erlang_wheel;
    std::unique_ptr<node_type*[]> slots_;
  };
  /// The first step of reserve(): allocates the memory. Throws std::bad_alloc.
  [[nodiscard]] room room_for(std::size_t count) const {
    detail::refuse_impossible(count);
    room made;
    if (count > 0 && slots_ == nullptr) made.slots_ = new_slots();
    return made;
  }
  /// The second step of reserve(): gives the queue the memory.
  void take(room made) noexcept {
    if (slots_ == nullptr) slots_ = std::move(made.slots_);
  }

  /// How many timers are pending.
  [[nodiscard]] std::size_t size() const noexcept { return nto_; }

  /// Checks all invariants. O(n).
  [[nodiscard]] check_result check() const;

 private:
  friend struct detail::structure_access;
  using access = timer_node_access;
  using ring = detail::erlang_ring;
  using typename detail::erlang_position::tick;

  static std::unique_ptr<node_type*[]> new_slots() { return std::make_unique<node_type*[]>(Slots); }
  static constexpr tick turn_length = static_cast<tick>(Slots);
  static constexpr tick search_ahead = 2'000;  // how far a turn searches when it has fired all that is due: two seconds
  // The places of nodes that are in no slot.
  static constexpr std::size_t at_once = Slots;
  static constexpr std::size_t overdue = Slots + 1;

  static std::size_t slot_of(tick pos) noexcept { return static_cast<std::size_t>(pos) % Slots; }
  static bool in_a_slot(node_type& node) noexcept { return access::place(node) < Slots; }

  void set_timer(node_type& node, instant deadline) noexcept {
    access::deadline(node) = deadline;
    const tick pos = timeout_pos(node);
    if (nto_++ == 0) know_next_timeout(never_pos);
    if (pos <= pos_) {
      const bool in_order = at_once_.empty() || timeout_pos(at_once_.back()) <= pos;
      (in_order ? at_once_ : at_once_unsorted_).push_back(node);
      access::place(node) = at_once;
      ++at_once_nto_;
    } else {
      insert_timer_into_slot(slot_of(pos), node);
      if (pos < next_timeout_) know_next_timeout(pos);
    }
  }

  void insert_timer_into_slot(std::size_t slot, node_type& node) noexcept {
    access::place(node) = slot;
    if (slots_[slot] == nullptr) {
      ring::make_alone(node);
      slots_[slot] = &node;
    } else {
      ring::link_before(*slots_[slot], node);
    }
  }

  void remove_timer(node_type& node) noexcept {
    const std::size_t slot = access::place(node);
    if (ring::alone(node)) {
      slots_[slot] = nullptr;  // only in a slot: the other lists have a head
    } else {
      if (slot < Slots && slots_[slot] == &node) slots_[slot] = ring::next(node);
      ring::unlink(node);
    }
    if (slot == at_once) --at_once_nto_;
    access::place(node) = access::nowhere;
    --nto_;
  }

  /// Merges at_once_unsorted_ into at_once_. The search begins at the front, where these timers mostly belong: they are
  /// earlier than the one that was last when they were started.
  void settle_at_once() noexcept {
    if (at_once_unsorted_.empty()) [[likely]]
      return;
    at_once_unsorted_.sort(timeout_pos);
    node_type* after = &at_once_.front();
    while (!at_once_unsorted_.empty()) {
      node_type& node = at_once_unsorted_.front();
      const tick pos = timeout_pos(node);
      if (at_once_.empty() || timeout_pos(at_once_.back()) <= pos) after = &at_once_.head();
      while (after != &at_once_.head() && timeout_pos(*after) <= pos) after = ring::next(*after);
      ring::unlink(node);
      ring::link_before(*after, node);
    }
  }

  /// expire, as long as `may_fire` permits the timer that is next.
  template <class Sink, class MayFire>
  expiry fire_due(instant now, budget limit, Sink& sink, MayFire may_fire) {
    expiry turn;
    const tick bump_to = std::max({round_down(now), pos_, collected_to_});
    while (node_type* due = next_due(bump_to)) {
      if (turn.fired == limit || !may_fire(*due)) {
        turn.more = true;
        return turn;
      }
      if (access::place(*due) != at_once) begun_ = true;
      remove_timer(*due);
      ++turn.fired;
      sink(*due);
    }
    if (!true_next_timeout_) find_next_timeout(bump_to + search_ahead);
    return turn;
  }

  /// The earliest timer that is due at `bump_to`, still in its list; null if there is none, and then the wheel stands
  /// at `bump_to`.
  node_type* next_due(tick bump_to) noexcept {
    while (nto_ > 0) {
      node_type* firing = next_firing();
      settle_at_once();
      node_type* waiting = at_once_.empty() ? nullptr : &at_once_.front();
      // On a tie the timer of the ring goes first: it was started earlier.
      if (waiting && (!firing || timeout_pos(*waiting) < timeout_pos(*firing))) return waiting;
      if (firing && timeout_pos(*firing) <= pos_) return firing;
      if (pos_ == bump_to) return nullptr;
      advance(firing ? timeout_pos(*firing) : bump_to, bump_to);
    }
    pos_ = bump_to;
    know_next_timeout(never_pos);
    return nullptr;
  }

  /// The first timer of the ring that fires now, or is overdue; null if there is none. Puts timers of later turns back.
  node_type* next_firing() noexcept {
    while (!sentinel_.empty()) {
      node_type& head = sentinel_.front();
      if (!in_a_slot(head) || timeout_pos(head) <= pos_) return &head;
      put_back(head);
    }
    return nullptr;
  }

  /// Moves a timer of the ring to the end of its slot, behind timers that callbacks have started there meanwhile.
  void put_back(node_type& node) noexcept {
    // The original counted all but the first, and then gave each timer that it put back one back.
    if (!std::exchange(begun_, true)) ++yield_count_;
    ring::unlink(node);
    insert_timer_into_slot(access::place(node), node);
  }

  /// Moves the wheel on to the next slot that may have a due timer, or to `limit`, which is at most `bump_to`. Skips
  /// the slots before next_timeout_.
  void advance(tick limit, tick bump_to) noexcept {
    if (bump_to - std::max({pos_, collected_to_, next_timeout_ - 1}) >= turn_length) return collect_overdue(bump_to);
    if (!true_next_timeout_ && next_timeout_ <= limit) find_next_timeout(limit + 1);
    begun_ = false;
    if (next_timeout_ > limit) {
      pos_ = limit;
      return;
    }
    pos_ = next_timeout_;
    if (node_type* head = std::exchange(slots_[slot_of(pos_)], nullptr)) ring::splice_after(sentinel_.head(), *head);
    next_timeout_ = pos_ + 1;
    true_next_timeout_ = false;
  }

  /// Searches the slots for the earliest timer, up to `horizon` and for at most one turn. Sets next_timeout_ to its
  /// position and true_next_timeout_ to true, or else next_timeout_ to a lower bound and true_next_timeout_ to false.
  void find_next_timeout(tick horizon) noexcept {
    tick least = std::min(horizon, never_pos);
    bool is_true = least == never_pos;
    const tick end = next_timeout_ + turn_length;
    for (tick pos = next_timeout_; pos < std::min(least, end); ++pos) {
      node_type* const head = slots_[slot_of(pos)];
      node_type* each = head;
      while (each != nullptr) {
        if (timeout_pos(*each) < least) {
          least = timeout_pos(*each);
          is_true = true;
          if (least == pos) break;
        }
        each = ring::next(*each) == head ? nullptr : ring::next(*each);
      }
    }
    next_timeout_ = std::max(next_timeout_, least);
    true_next_timeout_ = is_true;
  }

  void know_next_timeout(tick pos) noexcept {
    next_timeout_ = pos;
    true_next_timeout_ = true;
  }

  /// After a jump of more than a turn: moves all timers that are due at `bump_to` to the ring, in order, in one pass
  /// over the slots, and finds the next timeout of the rest.
  void collect_overdue(tick bump_to) noexcept {
    tick least = never_pos;
    for (tick pos = pos_ + 1; pos <= pos_ + turn_length; ++pos) {
      node_type* const head = std::exchange(slots_[slot_of(pos)], nullptr);
      node_type* next = head;
      while (next != nullptr) {
        node_type& node = *std::exchange(next, ring::next(*next) == head ? nullptr : ring::next(*next));
        if (timeout_pos(node) <= bump_to) {
          access::place(node) = overdue;
          sentinel_.push_back(node);
        } else {
          insert_timer_into_slot(slot_of(pos), node);
          least = std::min(least, timeout_pos(node));
        }
      }
    }
    sentinel_.sort(timeout_pos);
    know_next_timeout(least);
    collected_to_ = bump_to;
  }

  std::unique_ptr<node_type*[]> slots_;  // `w` in the original
  std::size_t nto_ = 0;                  // how many timers are pending
  std::size_t at_once_nto_ = 0;          // how many of them are in at_once_ and at_once_unsorted_
  std::size_t pop_slot_ = 0;             // the slot in which pop_any searches first
  std::ptrdiff_t yield_count_ = 0;       // what is left of the count of bump_timers
  bool begun_ = false;                   // whether the ring has fired or put back a timer since pos_ was set
  tick pos_ = before_all;
  tick collected_to_ = before_all;  // bump_to of the last long jump
  tick next_timeout_ = never_pos;   // no timer in a slot is earlier
  bool true_next_timeout_ = true;   // when next_timeout_ was set, a timer in a slot was there, or no slot had a timer
  detail::erlang_list sentinel_;
  detail::erlang_list at_once_;
  detail::erlang_list at_once_unsorted_;
};

template <std::size_t Slots>
check_result basic_erlang_wheel<Slots>::check() const {
  std::size_t count = 0;
  std::string broken;
  const auto expect = [&](bool holds, const char* what, const node_type& node) {
    if (holds || !broken.empty()) return;
    broken = "erlang_wheel: the timer at " + std::to_string(timeout_pos(node)) + " " + what;
  };
  // Walks from `first` up to `end`; gives up after more timers than are pending.
  const auto walk = [&](node_type* first, const node_type* end, auto&& look) {
    node_type* each = first;
    do {
      expect(ring::linked_both_ways(*each), "is not linked both ways", *each);
      look(*each);
      each = ring::next(*each);
    } while (each != end && ++count <= nto_ && broken.empty());
  };
  const auto walk_list = [&](const detail::erlang_list& list, auto&& look) {
    if (list.empty()) return;
    walk(&list.front(), &list.head(), look);
    ++count;
  };

  for (std::size_t slot = 0; slots_ != nullptr && slot < Slots && broken.empty(); ++slot) {
    if (slots_[slot] == nullptr) continue;
    walk(slots_[slot], slots_[slot], [&](node_type& node) {
      expect(access::place(node) == slot, "is not in the slot that its node knows", node);
      expect(slot_of(timeout_pos(node)) == slot, "is in the slot of another position", node);
      expect(timeout_pos(node) > pos_, "is in a slot that the wheel has passed", node);
      expect(timeout_pos(node) >= next_timeout_, "is earlier than the next timeout", node);
    });
    ++count;
  }
  tick last = before_all;
  walk_list(sentinel_, [&](node_type& node) {
    expect(timeout_pos(node) >= pos_, "is in the ring, and the wheel has passed it", node);
    if (in_a_slot(node)) {
      expect(access::place(node) == slot_of(pos_), "is in the ring of another slot", node);
      expect(last == before_all, "is behind overdue timers in the ring", node);
    } else {
      expect(access::place(node) == overdue, "is in the ring, and its node has another place", node);
      expect(timeout_pos(node) >= last, "is out of order in the ring", node);
      expect(timeout_pos(node) <= collected_to_, "is in the ring, and not due", node);
      last = timeout_pos(node);
    }
  });
  std::size_t at_once_seen = 0;
  const auto look_at_once = [&](node_type& node) {
    ++at_once_seen;
    expect(access::place(node) == at_once, "is in at_once_, and its node has another place", node);
    expect(timeout_pos(node) <= pos_, "is in at_once_, and not due", node);
  };
  last = before_all;
  walk_list(at_once_, [&](node_type& node) {
    look_at_once(node);
    expect(timeout_pos(node) >= std::exchange(last, timeout_pos(node)), "is out of order in at_once_", node);
  });
  walk_list(at_once_unsorted_, look_at_once);

  if (!broken.empty()) return std::unexpected(broken);
  if (at_once_seen != at_once_nto_) {
    return std::unexpected("erlang_wheel: the count of timers in at_once_ is wrong");
  }
  if (count != nto_) return std::unexpected("erlang_wheel: the count of timers is wrong");
  return {};
}

/// The wheel with the original's 65,536 slots.
using erlang_wheel = basic_erlang_wheel<65'536>;

static_assert(timer_queue<erlang_wheel>);

}  // namespace foliot::inline queue
