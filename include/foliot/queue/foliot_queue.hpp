// foliot's own timer queue: exact order to the nanosecond, at a cost that does not grow with the number of timers.
//
//   foliot::foliot_queue queue(clock.now());
//   queue.start(node, clock.now() + 30s);
//   queue.reset(node, clock.now() + 60s);            // to a later deadline: writes only the node
//   queue.expire(clock.now(), 100, [](foliot::timer_node& due) { … });
//
//            window (exact order)          wheel (detail/wheel.hpp)
//   now ──► [ sorted run │ heap ] ──► [64 ns slots][512 ns]…[17 ms][134 ms]…[centuries]
//
// A wheel of overlapping rings (detail/ring_levels.hpp) has the timers that are not about to fire; a slot is an
// unordered set of nodes (detail/slot_table.hpp). When a slot's time comes it opens: the slots of the next interval, as
// wide as some two thousand timers allow, are sorted into the window (detail/open_window.hpp), which fires in exact
// order. A slot with more timers is first split over finer slots, down to 64 ns; a wide slot with few timers goes to
// the window as it is.
//
// Complexity, amortised: start, stop and reset O(1), but O(log w) where the deadline is inside the open window (at most
// 17 ms ahead) and w timers were started there. A timer is moved about once for each factor of 64 in its timeout, and
// fired in O(1). A reset to a later deadline writes only the node: its entry stays, and is moved when its slot opens.
// next_deadline() is cached, and recomputed in amortised O(1) from the slots that may contain the earliest deadline. It
// is exact as long as these have up to two thousand timers, and else the beginning of their slot. After the earliest
// timer is stopped, next_deadline() may return its deadline for a while; a thread that sleeps until then wakes once for
// nothing.
// Memory: 24 bytes a node and 8.5 to 17 bytes an entry, and 40 KiB.
// Turns are bounded: an expire with a budget moves 512 timers or four times its budget, whichever is more, and at most
// twice as many; then it returns `more`.
//
// Choose it by default; another queue only for a handful of timers where 40 KiB are too much.
// Thread safety: none, one owner.
//
// Invariants (check), beside those of the parts:
//   1. A timer of the window whose deadline is before the wheel's next slot can fire.
//   2. The window does not end before the wheel's base; timers with deadlines before its end go to the window.
//
// docs/engines/foliot.md has pictures and the measurements that decided.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <foliot/core/slack.hpp>
#include <foliot/core/timer_node.hpp>
#include <foliot/queue/detail/open_window.hpp>
#include <foliot/queue/detail/place.hpp>
#include <foliot/queue/detail/reserve.hpp>
#include <foliot/queue/detail/structure_access.hpp>
#include <foliot/queue/detail/wheel.hpp>
#include <foliot/queue/timer_queue.hpp>

namespace foliot::inline queue {

/// The parameters of foliot_queue. Tests use small ones, so that few timers reach every case.
struct foliot_tuning {
  static constexpr std::string_view name = "foliot";
  static constexpr int base_shift = 6;              ///< the finest slots have 2^6 ns
  static constexpr int widest_window = 24;          ///< 2^24 ns; must be a whole number of levels above base_shift
  static constexpr std::size_t window_size = 2048;  ///< a slot whose chunks have more entries is split
  static constexpr std::size_t few_chunks = 6;      ///< so many chunks are never split, however wide their slot
  static constexpr std::size_t moves_a_turn = 512;  ///< a turn with a budget moves so many, or four times the budget
  static constexpr std::size_t chunk_entries = 30;
  static constexpr std::size_t chunks_in_block = 16;
};

/// A timer_queue with exact order and O(1) operations. `Tuning` has the members of foliot_tuning. One owner.
template <class Tuning>
class basic_foliot_queue {
 public:
  using node_type = timer_node;
  static constexpr std::string_view name = Tuning::name;
  static constexpr duration precision = duration::zero();
  static constexpr bool ties_in_start_order = true;
  static constexpr bool next_deadline_exact = false;
  static constexpr bool turns_may_pause = true;

  /// The wheel stands at the earliest instant until the first expire.
  basic_foliot_queue() noexcept = default;
  /// The wheel stands at `now`, which saves timers that are started before the first expire a few moves.
  explicit basic_foliot_queue(instant now) noexcept { stand_at(now); }
  basic_foliot_queue(const basic_foliot_queue&) = delete;
  basic_foliot_queue& operator=(const basic_foliot_queue&) = delete;
  ~basic_foliot_queue() { FOLIOT_ASSERT(size() == 0, "a queue must be empty when it is destroyed"); }

  /// Makes a node pending. Throws std::bad_alloc with nothing changed. Precondition: it is not pending.
  void start(node_type& node, instant deadline) {
    FOLIOT_ASSERT(!node.pending(), "a pending timer must be reset, not started");
    if (deadline < window_end_) [[unlikely]]
      return start_in_window(node, deadline);
    const std::size_t slot = wheel_.slot_for(deadline);
    word* hole = wheel_.hole_in(slot);
    if (hole == nullptr) [[unlikely]]
      return start_in_new_chunk(node, deadline, slot);
    arm(node, deadline);
    wheel_.put(node, slot, hole);
  }
  /// Starts a timer that may fire at any instant in [deadline, deadline + slack], so that several timers share a
  /// wake-up: see coalesced().
  void start(node_type& node, instant deadline, duration slack) { start(node, coalesced(deadline, slack)); }

  /// Makes a node not pending; returns whether it was.
  bool stop(node_type& node) noexcept {
    if (wheel::in_ring(access::place(node))) [[likely]] {
      wheel_.take(node);
      if (wheel_.sparse()) [[unlikely]]
        wheel_.tidy();
      return true;
    }
    if (!node.pending()) return false;
    detach(node);
    tidy();
    return true;
  }
  /// Stops all these timers and returns how many were pending. Faster than single stops of many timers, because it
  /// prefetches the next ones.
  std::size_t stop(std::span<node_type* const> nodes) noexcept {
    std::size_t stopped = 0;
    for_each_prefetched(nodes, [&](node_type& node) {
      if (stop(node)) ++stopped;
    });
    return stopped;
  }

  /// Gives a node a new deadline, and starts it if it was not pending; returns whether it was. Throws std::bad_alloc
  /// with nothing changed.
  bool reset(node_type& node, instant deadline) {
    if (wheel::in_ring(access::place(node)) && wheel_.try_keep_slot(node, deadline)) [[likely]] {
      arm(node, deadline);
      return true;
    }
    if (!node.pending()) {
      start(node, deadline);
      return false;
    }
    move(node, deadline);
    return true;
  }
  /// Resets a timer that may fire at any instant in [deadline, deadline + slack].
  bool reset(node_type& node, instant deadline, duration slack) { return reset(node, coalesced(deadline, slack)); }
  /// Resets all these timers to one deadline, in this order, and returns how many were pending. Throws std::bad_alloc
  /// if one of them cannot be reset; the timers before it have been.
  std::size_t reset(std::span<node_type* const> nodes, instant deadline) {
    std::size_t superseded = 0;
    for_each_prefetched(nodes, [&](node_type& node) {
      if (reset(node, deadline)) ++superseded;
    });
    return superseded;
  }

  /// Prefetches a node that is about to be started, stopped or reset, some dozen operations later.
  static void prefetch(const node_type& node) noexcept { __builtin_prefetch(&node, 1); }

  /// A lower bound of all deadlines, exact in most cases; never if no timer is pending. Amortised O(1).
  [[nodiscard]] instant next_deadline() noexcept {
    const instant first = window_.first_deadline();
    return first < wheel_.next_slot() ? first : std::min(first, wheel_.earliest());
  }

  /// Fires the timers that are due at `now`, at most `limit`, in exact order: see timer_queue. Throws std::bad_alloc if
  /// there is no memory to move timers: those that have fired have fired, all others stay pending, and a later call
  /// continues.
  template <class Sink>
  expiry expire(instant now, budget limit, Sink&& sink) {
    expiry turn;
    now = std::min(now, instant::latest());  // no clock shows never
    const bool bounded = limit < unlimited / 8;
    const std::size_t moves = bounded ? std::max(Tuning::moves_a_turn, 4 * limit) : unlimited;
    std::size_t moves_left = moves;
    for (;;) {
      const instant first = window_.first_deadline();
      if (first < wheel_.next_slot()) {
        if (!is_due(first, now)) {
          if (window_end_ <= now) stand_at(now);
          break;
        }
        if (turn.fired == limit) return {turn.fired, true};
        node_type& node = window_.pop();
        ++turn.fired;
        sink(node);
      } else if (wheel_.next_slot() > now) {
        stand_at(now);
        break;
      } else if (moves_left == 0) {
        return {turn.fired, true};
      } else {
        moves_left -= std::min(moves_left, open_next_slot(std::min(moves, Tuning::window_size)));
      }
    }
    wheel_.forget_bound_before(now);
    tidy();
    return turn;
  }

  /// To be called by the sink of expire() for the node that it was given, before the queue is used otherwise: starts
  /// that node again, and never fails. If there is no memory for the node's slot, the window keeps the node, and it
  /// fires in the same order.
  void requeue(node_type& node, instant deadline) noexcept {
    try {
      start(node, deadline);
    } catch (const std::bad_alloc&) {
      arm(node, deadline);
      window_.put_back(node);
    }
  }

  /// Any pending node, which stays pending; null if there is none.
  [[nodiscard]] node_type* any() noexcept {
    if (!window_.empty()) return &window_.some();
    return wheel_.size() == 0 ? nullptr : &wheel_.some();
  }
  /// Makes any pending node not pending and returns it; null if there is none.
  [[nodiscard]] node_type* pop_any() noexcept {
    if (!window_.empty()) return &window_.pop();
    if (wheel_.size() == 0) return nullptr;
    node_type& some = wheel_.some();
    wheel_.take(some);
    return &some;
  }

  /// Reserves memory for `count` timers of usual deadlines, also if all of them become due at once: up to that number
  /// neither start nor expire allocates. Throws std::bad_alloc with nothing changed.
  void reserve(std::size_t count) { take(room_for(count)); }
  /// Reserves in two steps, for users who reserve in several queues, in all or in none: see detail/reserve.hpp.
  struct room;
  /// The first step of reserve(): allocates the memory. Throws std::bad_alloc.
  [[nodiscard]] room room_for(std::size_t count) const;
  /// The second step of reserve(): gives the queue the memory.
  void take(room made) noexcept;

  /// How many timers are pending.
  [[nodiscard]] std::size_t size() const noexcept { return window_.size() + wheel_.size(); }
  /// Checks all invariants. O(n).
  [[nodiscard]] check_result check() const {
    if (window_end_ < wheel_.base()) return std::unexpected("foliot_queue: the window ends before the wheel's base");
    if (check_result fine = window_.check(); !fine) return fine;
    return wheel_.check();
  }

 private:
  friend struct detail::structure_access;
  using access = timer_node_access;
  using wheel = detail::wheel<Tuning>;
  using rings = typename wheel::rings;
  using word = typename wheel::word;

  void arm(node_type& node, instant deadline) noexcept {
    access::set_deadline(node, deadline);
    access::sequence(node) = next_sequence_++;
  }

  // The rare cases of start(). Out of line and in tail position, so that the common case saves no registers.
  [[gnu::noinline]] void start_in_window(node_type& node, instant deadline) {
    window_.make_room();
    arm(node, deadline);
    window_.add(node);
  }
  [[gnu::noinline]] void start_in_new_chunk(node_type& node, instant deadline, std::size_t slot) {
    word* hole = wheel_.new_hole_in(slot);
    arm(node, deadline);
    wheel_.put(node, slot, hole);
  }

  void detach(node_type& node) noexcept {
    if (detail::open_window::holds(access::place(node))) {
      window_.remove(node);
    } else {
      wheel_.take(node);
    }
  }

  /// Returns memory that is not needed any more.
  void tidy() noexcept {
    if (wheel_.sparse()) [[unlikely]]
      wheel_.tidy();
    window_.tidy();
  }

  /// What open_next_slot() opens.
  struct choice {
    bool whole_interval;  // all slots of the interval; else a part of one slot
    int width;            // the binary logarithm of the interval's or the slot's length in ns
    std::size_t chunks;
  };
  [[nodiscard]] choice choose(const typename wheel::opening& next, std::size_t most) const noexcept;
  void move(node_type& node, instant deadline);
  void stand_at(instant now) noexcept;
  [[nodiscard]] std::size_t open_next_slot(std::size_t most);
  template <class Do>
  static void for_each_prefetched(std::span<node_type* const> nodes, Do&& act);

  instant window_end_ = instant::earliest();  // first, because each start reads it
  std::uint64_t next_sequence_ = 0;
  wheel wheel_;
  detail::open_window window_;
  std::vector<detail::deadline_entry> moving_;  // timers of slots that open, until they are queued again
};

template <class Tuning>
struct basic_foliot_queue<Tuning>::room {
  detail::open_window::room window;
  std::vector<detail::deadline_entry> moving;
  typename wheel::room wheel_room;
};

template <class Tuning>
auto basic_foliot_queue<Tuning>::room_for(std::size_t count) const -> room {
  detail::refuse_impossible(count);
  return {window_.room_for(count + Tuning::window_size), detail::larger_array(moving_, Tuning::window_size),
          wheel_.room_for(count)};
}

template <class Tuning>
void basic_foliot_queue<Tuning>::take(room made) noexcept {
  window_.take(std::move(made.window));
  detail::move_to_larger_array(moving_, std::move(made.moving));
  wheel_.take(std::move(made.wheel_room));
}

/// A reset that cannot leave the entry where it is. Everything that may throw comes first.
template <class Tuning>
[[gnu::noinline]] void basic_foliot_queue<Tuning>::move(node_type& node, instant deadline) {
  if (deadline < window_end_) {
    window_.make_room();
    detach(node);
    arm(node, deadline);
    window_.add(node);
  } else {
    const std::size_t slot = wheel_.slot_for(deadline);
    word* hole = wheel_.hole_in(slot);
    if (hole == nullptr) hole = wheel_.new_hole_in(slot);
    detach(node);  // from another slot: a reset within one has left the entry where it is
    arm(node, deadline);
    wheel_.put(node, slot, hole);
  }
  tidy();
}

/// Moves the wheel on to `now`, before which no slot begins, so that timers that are started from here on are queued as
/// finely as possible. The window then includes the finest slot around `now`.
template <class Tuning>
void basic_foliot_queue<Tuning>::stand_at(instant now) noexcept {
  wheel_.stand_at(now);
  window_end_ = std::max(window_end_, rings::end_of_interval(wheel_.base(), Tuning::base_shift));
}

/// Chooses the widest interval from the next slot on whose timers fit into the window, or else the part of that slot
/// that fits. An interval that is wider than a window is chosen only if it has very few timers.
template <class Tuning>
auto basic_foliot_queue<Tuning>::choose(const typename wheel::opening& next, std::size_t most) const noexcept
    -> choice {
  const std::size_t few = std::min(Tuning::few_chunks, most);
  const std::size_t fitting = next.width > Tuning::widest_window ? few : most;
  int width = std::max(next.width, Tuning::widest_window);
  std::size_t chunks = wheel_.chunks_within(width);
  while (chunks > fitting) {
    if (width == next.width) return {false, width, std::min(next.chunks, most)};
    chunks = wheel_.chunks_within(width -= rings::level_bits);
  }
  if (width == Tuning::widest_window && chunks <= few / 2) {
    const std::size_t in_wider = wheel_.chunks_within(width + rings::level_bits);
    if (in_wider <= std::min(2 * few, most)) return {true, width + rings::level_bits, in_wider};
  }
  return {true, width, chunks};
}

/// Opens the next slot, either with all other slots of the interval around it, or alone; in the latter case its timers,
/// or a part of them, go to finer slots. Moves at most `most` timers, but at least a chunk. Returns how many it has
/// moved, or somewhat more. Throws std::bad_alloc; then no timer is lost.
template <class Tuning>
[[gnu::noinline]] std::size_t basic_foliot_queue<Tuning>::open_next_slot(std::size_t most) {
  const auto next = wheel_.go_to_next_slot();
  if (next.chunks == 0) return 1;
  window_end_ = std::max(window_end_, wheel_.base());
  auto [whole_interval, width, chunks] = choose(next, std::max<std::size_t>(1, most / Tuning::chunk_entries));
  moving_.clear();
  moving_.reserve(chunks * Tuning::chunk_entries);
  window_.make_room(chunks * Tuning::chunk_entries);
  // From here on nothing fails.
  instant end = window_end_;  // timers with deadlines before `end` go to the window
  if (whole_interval) {
    end = rings::end_of_interval(wheel_.base(), width);
    // Timers that are started later go to the window only as far ahead as a window is wide, since its heap is for few.
    window_end_ = std::min(end, rings::end_of_interval(wheel_.base(), Tuning::widest_window));
    wheel_.gather_within(width, moving_);
  } else {
    // The finest slots cannot be split: all their timers go to the window, part by part. None of them fires before all
    // are there, because this slot stays the next one until then.
    if (width == Tuning::base_shift) end = window_end_ = rings::end_of_interval(wheel_.base(), width);
    wheel_.gather(next.slot, chunks, moving_);
  }
  // Holes that stops have left take time as well.
  const std::size_t moved = std::max(moving_.size(), chunks * Tuning::chunk_entries / 4);
  // The present deadline decides whether a timer goes to the window or to a slot. If there is no memory for the slot,
  // the window takes it: slower, but in the right order.
  std::size_t kept = 0;
  for (const detail::deadline_entry each : moving_) {
    const instant deadline = each.node->deadline();
    if (deadline >= end && wheel_.requeue(*each.node)) continue;
    moving_[kept++] = {deadline, each.node};
  }
  // A wide interval may have put timers far ahead into the run; with them in it the new ones could not be sorted in.
  if (window_.run_size() > 0 && window_.run_size() < kept) {
    window_.requeue_from(window_end_, [this](timer_node& node) { return wheel_.requeue(node); });
  }
  window_.load(std::span(moving_).first(kept), wheel_.base(), width);
  wheel_.find_next_slot();
  // Removing full chunks makes the rest sparser: one step of packing for each of them.
  for (; chunks > 0 && wheel_.sparse(); --chunks) wheel_.tidy();
  return moved + 1;
}

template <class Tuning>
template <class Do>
void basic_foliot_queue<Tuning>::for_each_prefetched(std::span<node_type* const> nodes, Do&& act) {
  constexpr std::size_t node_ahead = 16;
  constexpr std::size_t entry_ahead = 8;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (i + node_ahead < nodes.size()) prefetch(*nodes[i + node_ahead]);
    if (i + entry_ahead < nodes.size()) {
      const std::size_t its_place = access::place(*nodes[i + entry_ahead]);
      if (wheel::in_ring(its_place)) {
        __builtin_prefetch(reinterpret_cast<const void*>(detail::place::position(its_place)), 1);
      }
    }
    act(*nodes[i]);
  }
}

using foliot_queue = basic_foliot_queue<foliot_tuning>;
static_assert(timer_queue<foliot_queue>);

}  // namespace foliot::inline queue
