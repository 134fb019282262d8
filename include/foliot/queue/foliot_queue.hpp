// foliot's own timer queue: exact nanosecond order at a cost that does not grow with what is pending.
//
//   foliot::foliot_queue queue(clock.now());
//   queue.start(node, clock.now() + 30s);
//   queue.reset(node, clock.now() + 60s);            // later: the node's own cache line, nothing else
//   queue.expire(clock.now(), 100, [](foliot::timer_node& due) { … });
//
//            window (exact order)          wheel (detail/wheel.hpp)
//   now ──► [ sorted run │ heap ] ──► [64 ns slots][512 ns]…[17 ms][134 ms]…[centuries]
//
// A wheel of overlapping rings (detail/ring_levels.hpp) holds what is far: a slot is a bag of nodes
// (detail/slot_table.hpp). Time opens the slots: those of the next stretch, as wide as some two thousand
// timers allow, are sorted into the window (detail/open_window.hpp), which fires in exact order. A slot
// that holds more is first split over finer ones, down to 64 ns; one that is wide and holds little goes to
// the window as it is.
//
// Complexity: start, stop and reset O(1), but O(log w) for the w timers that are started inside the open
// window (at most 17 ms ahead), amortised; a timer is moved about once for each 64-fold of its timeout, and fired
// in O(1). A reset to a later deadline only writes the node: its entry stays, and follows when its slot
// opens. next_deadline is kept, and found again by a look at what is in the slots that decide, amortised O(1):
// exact up to two thousand timers there, else when their slot begins; after the earliest was stopped it may be
// what that had been, for a while, and once for who sleeps until then. Memory: 24 bytes of node, 8.5 to 17 of entry,
// and 40 KiB. Turns are bounded: expire moves 512 timers, or four for each that it may fire, at most twice that, and
// then says `more`.
//
// Pick it always, unless there are a handful of timers and no 40 KiB.
// Thread safety: none, one owner.
//
// Invariants (check), beside those of the parts:
//   1. What is in the window and earlier than the wheel's next slot can fire.
//   2. The window does not end before the wheel's base; deadlines before its end go to the window.
//
// docs/engines/foliot.md has pictures and the measurements that decided.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
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
#include <foliot/queue/detail/wheel.hpp>
#include <foliot/queue/timer_queue.hpp>

namespace foliot::inline queue {

/// What can be tuned, as it ships. Tests make everything small, so that few timers reach every corner.
struct foliot_tuning {
  static constexpr std::string_view name = "foliot";
  static constexpr int base_shift = 6;              ///< the finest slots: 2^6 ns
  static constexpr int widest_window = 24;          ///< 2^24 ns; a whole number of levels above base_shift
  static constexpr std::size_t window_size = 2048;  ///< a slot with room for more is split
  static constexpr std::size_t few_chunks = 6;      ///< what is not worth splitting, however wide its slot
  static constexpr std::size_t moves_a_turn = 512;  ///< with a budget: this, or four times the budget
  static constexpr std::size_t chunk_entries = 30;
  static constexpr std::size_t chunks_in_block = 16;
};

template <class Tuning>
class basic_foliot_queue {
 public:
  using node_type = timer_node;
  static constexpr std::string_view name = Tuning::name;
  static constexpr duration precision = duration::zero();
  static constexpr bool ties_in_start_order = true;
  static constexpr bool next_deadline_exact = false;
  static constexpr bool turns_may_pause = true;

  /// The wheel stands at the beginning of time until the first expire; `now` saves what is started
  /// before that a few moves.
  basic_foliot_queue() noexcept = default;
  explicit basic_foliot_queue(instant now) noexcept { stand_at(now); }
  basic_foliot_queue(const basic_foliot_queue&) = delete;
  basic_foliot_queue& operator=(const basic_foliot_queue&) = delete;
  ~basic_foliot_queue() { FOLIOT_ASSERT(size() == 0, "a queue must be empty when it is destroyed"); }

  void start(node_type& node, instant deadline) {
    FOLIOT_ASSERT(!node.pending(), "a timer that is pending must be reset, not started");
    if (deadline < window_end_) [[unlikely]]
      return start_in_window(node, deadline);
    const std::size_t slot = wheel_.slot_for(deadline);
    word* hole = wheel_.hole_in(slot);
    if (hole == nullptr) [[unlikely]]
      return start_in_new_chunk(node, deadline, slot);
    arm(node, deadline);
    wheel_.put(node, slot, hole);
  }
  /// Fires within [deadline, deadline + slack], where it shares a wake-up with others: see coalesced().
  void start(node_type& node, instant deadline, duration slack) { start(node, coalesced(deadline, slack)); }

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
  /// Stops all of these; returns how many were pending. Quicker than one by one where there are many
  /// timers, because the next ones are on their way into the cache.
  std::size_t stop(std::span<node_type* const> nodes) noexcept {
    std::size_t stopped = 0;
    for_each_prefetched(nodes, [&](node_type& node) {
      if (stop(node)) ++stopped;
    });
    return stopped;
  }

  bool reset(node_type& node, instant deadline) {
    if (wheel::in_ring(access::place(node)) && wheel_.may_keep_its_slot(node, deadline)) [[likely]] {
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
  bool reset(node_type& node, instant deadline, duration slack) { return reset(node, coalesced(deadline, slack)); }
  /// Resets all of these to one deadline, in this order; returns how many were pending. Throws
  /// std::bad_alloc when one could not be: those before it are reset.
  std::size_t reset(std::span<node_type* const> nodes, instant deadline) {
    std::size_t superseded = 0;
    for_each_prefetched(nodes, [&](node_type& node) {
      if (reset(node, deadline)) ++superseded;
    });
    return superseded;
  }

  /// Tells the processor that this node is about to be started, stopped or reset: for callers who know
  /// a dozen operations ahead. Harmless for any address.
  static void prefetch(const node_type& node) noexcept { __builtin_prefetch(&node, 1); }

  [[nodiscard]] instant next_deadline() noexcept {
    const instant first = window_.first_deadline();
    return first < wheel_.next_slot() ? first : std::min(first, wheel_.earliest());
  }

  /// Throws std::bad_alloc where timers must be moved and there is no memory for that: what has fired has
  /// fired, nothing is lost, and a later call goes on.
  template <class Sink>
  expiry expire(instant now, budget limit, Sink&& sink) {
    expiry turn;
    now = std::min(now, instant::latest());  // no clock shows more
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

  [[nodiscard]] node_type* pop_any() noexcept {
    if (!window_.empty()) return &window_.pop();
    if (wheel_.size() == 0) return nullptr;
    node_type& some = wheel_.some();
    wheel_.take(some);
    return &some;
  }

  /// For `count` timers as they usually lie, and for the case that all of them are due at once: up to
  /// there neither a start nor an expire allocates. Throws std::bad_alloc, with nothing changed.
  void reserve(std::size_t count) { take(room_for(count)); }
  /// The same in two steps, for who reserves in several queues, in all or in none: see detail/reserve.hpp.
  struct room;
  [[nodiscard]] room room_for(std::size_t count) const;
  void take(room made) noexcept;

  [[nodiscard]] std::size_t size() const noexcept { return window_.size() + wheel_.size(); }
  [[nodiscard]] check_result check() const {
    if (window_end_ < wheel_.base()) return std::unexpected("foliot_queue: the window ends before the wheel's base");
    if (check_result fine = window_.check(); !fine) return fine;
    return wheel_.check();
  }

 private:
  using access = timer_node_access;
  using wheel = detail::wheel<Tuning>;
  using rings = typename wheel::rings;
  using word = typename wheel::word;

  void arm(node_type& node, instant deadline) noexcept {
    access::set_deadline(node, deadline);
    access::sequence(node) = next_sequence_++;
  }

  // The rare ends of a start: out of line, and called last, so that the common one saves no registers.
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

  /// Gives memory back that is not needed any more.
  void tidy() noexcept {
    if (wheel_.sparse()) [[unlikely]]
      wheel_.tidy();
    window_.tidy();
  }

  struct choice {
    bool whole;  // a stretch; else a slot
    int width;   // as a logarithm
    std::size_t chunks;
  };
  [[nodiscard]] choice choose(const typename wheel::opening& next, std::size_t most) const noexcept;
  void move(node_type& node, instant deadline);
  void stand_at(instant now) noexcept;
  [[nodiscard]] std::size_t open_next_slot(std::size_t most);
  template <class Do>
  static void for_each_prefetched(std::span<node_type* const> nodes, Do&& act);

  instant window_end_ = instant::earliest();  // what a start looks at first
  std::uint64_t next_sequence_ = 0;
  wheel wheel_;
  detail::open_window window_;
  std::vector<detail::deadline_entry> moving_;  // on their way from slots to others, or to the window
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

/// A reset that cannot leave the entry where it is. What may throw comes first.
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

/// Brings the wheel to `now`, before which no slot begins, so that what is started from here on is queued
/// as finely as it can be. The finest slot around `now` is in the window.
template <class Tuning>
void basic_foliot_queue<Tuning>::stand_at(instant now) noexcept {
  wheel_.stand_at(now);
  window_end_ = std::max(window_end_, rings::end_of_stretch(wheel_.base(), Tuning::base_shift));
}

/// The widest stretch from the next slot on that fits a window; or none, and the slot alone, or a part of it
/// that fits. A stretch that is wider than windows are has next to nothing in it.
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

/// Opens the next slot: with all others of the stretch around it; or it alone, and then what is in it, or a
/// part of that, goes to finer slots. Moves what `most` entries can hold, or a chunk; returns how many timers
/// that were, or somewhat more. Throws std::bad_alloc, with nothing lost.
template <class Tuning>
[[gnu::noinline]] std::size_t basic_foliot_queue<Tuning>::open_next_slot(std::size_t most) {
  const auto next = wheel_.go_to_next_slot();
  if (next.chunks == 0) return 1;
  window_end_ = std::max(window_end_, wheel_.base());
  auto [whole, width, chunks] = choose(next, std::max<std::size_t>(1, most / Tuning::chunk_entries));
  moving_.clear();
  moving_.reserve(chunks * Tuning::chunk_entries);
  window_.make_room(chunks * Tuning::chunk_entries);
  // From here on nothing fails.
  instant end = window_end_;  // what fires before that goes to the window
  if (whole) {
    end = rings::end_of_stretch(wheel_.base(), width);
    // What is started does so only as far as windows go: heaps are for the few, slots for the many.
    window_end_ = std::min(end, rings::end_of_stretch(wheel_.base(), Tuning::widest_window));
    wheel_.gather_within(width, moving_);
  } else {
    // The finest slots cannot be split: as many as there are, they go to the window, part by part, and
    // none of them fires before all are there, since the next slot is still this one.
    if (width == Tuning::base_shift) end = window_end_ = rings::end_of_stretch(wheel_.base(), width);
    wheel_.gather(next.slot, chunks, moving_);
  }
  // Entries that stops have left cost their share too.
  const std::size_t moved = std::max(moving_.size(), chunks * Tuning::chunk_entries / 4);
  // By where the deadline is now: to the window, or to a slot. Where there is no memory for the latter the
  // window takes it, at some cost and none to the order.
  std::size_t kept = 0;
  for (const detail::deadline_entry each : moving_) {
    const instant deadline = each.node->deadline();
    if (deadline >= end && wheel_.requeue(*each.node)) continue;
    moving_[kept++] = {deadline, each.node};
  }
  // What a wide stretch has put far ahead would be in the way of a sort.
  if (window_.run_size() > 0 && window_.run_size() < kept) {
    window_.give_back_from(window_end_, [this](timer_node& node) { return wheel_.requeue(node); });
  }
  window_.load(std::span(moving_).first(kept), wheel_.base(), width);
  wheel_.look_for_next_slot();
  // Full chunks that go make what is left sparser: for each of them, a step.
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
