// goim's timer: a binary min-heap of pointers, with the index in the node. Exact order; small and simple.
//
// Complexity: start, stop and reset O(log2 n); next_deadline O(1); expire O(log2 n) a timer. Memory: 8 bytes a timer in
// the array, beside the node. Choose it for up to a few thousand timers, or for comparison: each step of a sift reads
// two nodes anywhere in memory, so with many timers it is slower than `quad_heap`.
//
// Thread safety: none, one owner.
//
// Nodes belong to the user; a `node_pool` has them on a free list, as goim does. A second stop does nothing, whichever
// node is at the first one's old index by then: a node that is not pending has no index.
//
// Invariants (check):
//   1. No node has an earlier deadline than its parent. Node i has its children at 2i+1 and 2i+2.
//   2. A node knows its own index.
//
// Source: goim, pkg/time/timer.go (Timer, TimerData), whose functions keep their names here.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <foliot/core/timer_node.hpp>
#include <foliot/queue/detail/reserve.hpp>
#include <foliot/queue/detail/shrink.hpp>
#include <foliot/queue/detail/structure_access.hpp>
#include <foliot/queue/timer_queue.hpp>

namespace foliot::inline queue {

/// A timer_queue with exact deadline order, on a binary heap.
class goim_heap {
 public:
  using node_type = timer_node;
  static constexpr std::string_view name = "goim-heap";
  static constexpr duration precision = duration::zero();
  static constexpr bool ties_in_start_order = false;  // `less` compares only the deadlines
  static constexpr bool next_deadline_exact = true;

  goim_heap() noexcept = default;
  goim_heap(const goim_heap&) = delete;
  goim_heap& operator=(const goim_heap&) = delete;
  ~goim_heap() { FOLIOT_ASSERT(timers_.empty(), "a queue must be empty when it is destroyed"); }

  /// goim's Add, for a node of the caller's.
  void start(node_type& node, instant deadline) {
    FOLIOT_ASSERT(!node.pending(), "a pending timer must be reset, not started");
    timers_.push_back(&node);
    add(node, deadline);
  }

  /// goim's Del. Returns false, with nothing changed, for a timer that is not pending.
  bool stop(node_type& node) noexcept {
    if (!node.pending()) return false;
    del(node);
    detail::shrink(timers_, floor_);
    return true;
  }

  /// goim's Set: del and add; a start for a timer that is not pending.
  bool reset(node_type& node, instant deadline) {
    if (!node.pending()) {
      start(node, deadline);
      return false;
    }
    del(node);
    timers_.push_back(&node);  // cannot throw: del has left room
    add(node, deadline);
    return true;
  }

  /// The earliest deadline; never if no timer is pending.
  [[nodiscard]] instant next_deadline() const noexcept {
    return timers_.empty() ? instant::never() : timers_.front()->deadline();
  }

  /// Fires the timers that are due at `now`, at most `limit`: see timer_queue.
  template <class Sink>
  expiry expire(instant now, budget limit, Sink&& sink) {
    expiry turn;
    while (!timers_.empty() && is_due(timers_.front()->deadline(), now)) {
      if (turn.fired == limit) {
        turn.more = true;
        break;
      }
      node_type& node = *timers_.front();
      stop(node);
      ++turn.fired;
      sink(node);
    }
    return turn;
  }

  /// Makes any pending node not pending and returns it; null if there is none.
  [[nodiscard]] node_type* pop_any() noexcept {
    if (timers_.empty()) return nullptr;
    node_type* node = timers_.back();
    stop(*node);
    return node;
  }

  /// Reserves in two steps, for users who reserve in several queues, in all or in none: see detail/reserve.hpp.
  class room {
    friend class goim_heap;
    std::vector<node_type*> timers_;
    std::size_t count_ = 0;
  };
  /// The first step of reserve(): allocates the memory. Throws std::bad_alloc.
  [[nodiscard]] room room_for(std::size_t count) const {
    detail::refuse_impossible(count);
    room made;
    made.timers_ = detail::larger_array(timers_, count);
    made.count_ = count;
    return made;
  }
  /// The second step of reserve(): gives the queue the memory.
  void take(room made) noexcept {
    detail::move_to_larger_array(timers_, std::move(made.timers_));
    floor_ = std::max(floor_, made.count_);
  }
  /// Reserves memory for `count` pending timers. Throws std::bad_alloc with nothing changed.
  void reserve(std::size_t count) { take(room_for(count)); }

  /// How many timers are pending.
  [[nodiscard]] std::size_t size() const noexcept { return timers_.size(); }

  /// Checks all invariants. O(n).
  [[nodiscard]] check_result check() const {
    for (std::size_t i = 0; i < timers_.size(); ++i) {
      const auto broken = [i](const char* what) {
        return std::unexpected("goim_heap: timer " + std::to_string(i) + " " + what);
      };
      if (access::place(*timers_[i]) != i) return broken("is not at the index that its node knows");
      if (i > 0 && less(i, parent(i))) return broken("comes before its parent");
    }
    return {};
  }

 private:
  friend struct detail::structure_access;
  using access = timer_node_access;

  static constexpr std::size_t parent(std::size_t index) noexcept { return (index - 1) / 2; }

  [[nodiscard]] bool less(std::size_t a, std::size_t b) const noexcept {
    return timers_[a]->deadline() < timers_[b]->deadline();
  }

  /// Writes the deadline of `node`, which is the last of the array, and moves it to where it belongs.
  void add(node_type& node, instant deadline) noexcept {
    access::deadline(node) = deadline;
    access::place(node) = timers_.size() - 1;
    up(timers_.size() - 1);
  }

  void del(node_type& node) noexcept {
    const std::size_t index = access::place(node);
    const std::size_t last = timers_.size() - 1;
    if (index != last) {
      swap(index, last);
      // The node that was last may have to move down or up: one of the two calls does nothing.
      down(index, last);
      up(index);
    }
    access::place(node) = access::nowhere;
    timers_.pop_back();
  }

  void up(std::size_t index) noexcept {
    while (index > 0 && less(index, parent(index))) {
      swap(index, parent(index));
      index = parent(index);
    }
  }

  void down(std::size_t index, std::size_t end) noexcept {
    for (;;) {
      std::size_t child = 2 * index + 1;
      if (child >= end) break;
      if (child + 1 < end && !less(child, child + 1)) ++child;
      if (!less(child, index)) break;
      swap(index, child);
      index = child;
    }
  }

  void swap(std::size_t a, std::size_t b) noexcept {
    std::swap(timers_[a], timers_[b]);
    access::place(*timers_[a]) = a;
    access::place(*timers_[b]) = b;
  }

  std::vector<node_type*> timers_;
  std::size_t floor_ = 0;  // the capacity that reserve() asked for
};

static_assert(timer_queue<goim_heap>);

}  // namespace foliot::inline queue
