// A 4-ary min-heap of timers: exact order, simple, and fast as long as it fits into the cache.
//
// Complexity: start, stop and reset O(log4 n); next_deadline O(1); expire O(log4 n) a timer. Memory: 16 bytes a timer
// in the array, beside the node. Choose it for up to a few thousand timers, or to measure a heap; with many more, each
// step of a sift is a cache miss.
//
// Thread safety: none, one owner.
//
// The heap, with its layout, invariants and sources, is in detail/deadline_heap.hpp. A node knows its index there, so
// that stop and reset need no search.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include <foliot/core/timer_node.hpp>
#include <foliot/queue/detail/deadline_heap.hpp>
#include <foliot/queue/detail/reserve.hpp>
#include <foliot/queue/detail/structure_access.hpp>
#include <foliot/queue/timer_queue.hpp>

namespace foliot::inline queue {

/// A timer_queue with exact order, which fires equal deadlines in the order of their starts.
class quad_heap {
 public:
  using node_type = timer_node;
  static constexpr std::string_view name = "quad-heap";
  static constexpr duration precision = duration::zero();
  static constexpr bool ties_in_start_order = true;
  static constexpr bool next_deadline_exact = true;

  quad_heap() noexcept = default;
  quad_heap(const quad_heap&) = delete;
  quad_heap& operator=(const quad_heap&) = delete;
  ~quad_heap() { FOLIOT_ASSERT(heap_.empty(), "a queue must be empty when it is destroyed"); }

  /// Makes a node pending. Throws std::bad_alloc with nothing changed. Precondition: it is not pending.
  void start(node_type& node, instant deadline) {
    FOLIOT_ASSERT(!node.pending(), "a pending timer must be reset, not started");
    heap_.append(node, deadline);
    arm(node, deadline);
    heap_.settle_last();
  }

  /// Makes a node not pending; returns whether it was.
  bool stop(node_type& node) noexcept {
    if (!node.pending()) return false;
    heap_.remove(node);
    return true;
  }

  /// Gives a node a new deadline, and starts it if it was not pending; returns whether it was. Throws as start does.
  bool reset(node_type& node, instant deadline) {
    if (!node.pending()) {
      start(node, deadline);
      return false;
    }
    const bool is_later = deadline >= node.deadline();  // its start is newer, so that a tie makes it later, too
    arm(node, deadline);
    if (is_later) {
      heap_.move_later(node);
    } else {
      heap_.move_earlier(node);
    }
    return true;
  }

  /// The earliest deadline; never if no timer is pending.
  [[nodiscard]] instant next_deadline() const noexcept {
    return heap_.empty() ? instant::never() : heap_.top().deadline;
  }

  /// Fires the timers that are due at `now`, at most `limit`: see timer_queue.
  template <class Sink>
  expiry expire(instant now, budget limit, Sink&& sink) {
    expiry turn;
    while (!heap_.empty() && is_due(heap_.top().deadline, now)) {
      if (turn.fired == limit) {
        turn.more = true;
        break;
      }
      node_type& node = *heap_.top().node;
      heap_.remove(node);
      ++turn.fired;
      sink(node);
    }
    return turn;
  }

  /// Makes any pending node not pending and returns it; null if there is none.
  [[nodiscard]] node_type* pop_any() noexcept {
    if (heap_.empty()) return nullptr;
    node_type& node = heap_.last();
    heap_.remove(node);
    return &node;
  }

  /// Reserves in two steps, for users who reserve in several queues, in all or in none: see detail/reserve.hpp.
  using room = detail::deadline_heap<>::room;
  /// The first step of reserve(): allocates the memory. Throws std::bad_alloc.
  [[nodiscard]] room room_for(std::size_t count) const {
    detail::refuse_impossible(count);
    return heap_.room_for(count);
  }
  /// The second step of reserve(): gives the queue the memory.
  void take(room made) noexcept { heap_.take(std::move(made)); }
  /// Reserves memory for `count` pending timers. Throws std::bad_alloc with nothing changed.
  void reserve(std::size_t count) { take(room_for(count)); }
  /// Makes room for one more timer than there are, so that the next start does not throw. Amortised O(1); throws
  /// std::bad_alloc with nothing changed.
  void make_room() { heap_.make_room(); }

  /// How many timers are pending.
  [[nodiscard]] std::size_t size() const noexcept { return heap_.size(); }

  /// Checks all invariants. O(n).
  [[nodiscard]] check_result check() const { return heap_.check("quad_heap"); }

 private:
  friend struct detail::structure_access;
  using access = timer_node_access;

  void arm(node_type& node, instant deadline) noexcept {
    access::deadline(node) = deadline;
    access::sequence(node) = next_sequence_++;
  }

  detail::deadline_heap<> heap_;
  std::uint64_t next_sequence_ = 0;
};

static_assert(timer_queue<quad_heap>);

}  // namespace foliot::inline queue
