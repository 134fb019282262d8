// A 4-ary min-heap of timers: exact order, simple, and quick while it fits the cache.
//
// Complexity: start, stop and reset O(log4 n); next_deadline O(1); expire O(log4 n) a timer. Memory:
// 16 bytes a timer in the array, beside the node. Pick it for a few thousand timers, or to see how a
// heap behaves; with many more, each step of a sift is a cache miss.
//
// Thread safety: none, one owner.
//
// Layout. The array holds {deadline, node}: a comparison reads the array alone, and the four children
// of an entry are 64 bytes, one or two cache lines. A node knows its index, so that stop and reset
// find it at once. Entry i has its children at 4i+1 … 4i+4.
//
// Invariants (check):
//   1. No entry comes before its parent: neither an earlier deadline, nor the same and an earlier start.
//   2. entry.node knows its own index, and entry.deadline is the node's.
//
// Source: the timer heap of Go's runtime (time.go; four children since 2013, the deadline beside the
// pointer since Go 1.23); D. B. Johnson, "Priority queues with update and finding minimum spanning
// trees" (1975), for heaps of more than two children.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include <foliot/core/timer_node.hpp>
#include <foliot/queue/timer_queue.hpp>

namespace foliot::inline queue {

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
  ~quad_heap() { FOLIOT_ASSERT(entries_.empty(), "a queue must be empty when it is destroyed"); }

  void start(node_type& node, instant deadline) {
    FOLIOT_ASSERT(!node.pending(), "a timer that is pending must be reset, not started");
    entries_.push_back({deadline, &node});
    arm(node, deadline);
    sift_up(entries_.size() - 1, {deadline, &node});
  }

  bool stop(node_type& node) noexcept {
    if (!node.pending()) return false;
    remove(access::place(node));
    return true;
  }

  bool reset(node_type& node, instant deadline) {
    if (!node.pending()) {
      start(node, deadline);
      return false;
    }
    const std::size_t index = access::place(node);
    const bool later = deadline >= node.deadline();  // its start is new, so a tie moves it back
    arm(node, deadline);
    if (later) {
      sift_down(index, {deadline, &node});
    } else {
      sift_up(index, {deadline, &node});
    }
    return true;
  }

  [[nodiscard]] instant next_deadline() const noexcept {
    return entries_.empty() ? instant::never() : entries_.front().deadline;
  }

  template <class Sink>
  expiry expire(instant now, budget limit, Sink&& sink) {
    expiry turn;
    while (!entries_.empty() && is_due(entries_.front().deadline, now)) {
      if (turn.fired == limit) {
        turn.more = true;
        break;
      }
      node_type& node = *entries_.front().node;
      remove(0);
      ++turn.fired;
      sink(node);
    }
    return turn;
  }

  [[nodiscard]] node_type* pop_any() noexcept {
    if (entries_.empty()) return nullptr;
    node_type* node = entries_.back().node;
    remove(entries_.size() - 1);
    return node;
  }

  void reserve(std::size_t count) {
    entries_.reserve(count);
    floor_ = count;
  }

  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }

  [[nodiscard]] check_result check() const {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      const entry& each = entries_[i];
      const auto broken = [i](const char* what) {
        return std::unexpected("quad_heap: entry " + std::to_string(i) + " " + what);
      };
      if (access::place(*each.node) != i) return broken("is not where its node says");
      if (each.node->deadline() != each.deadline) return broken("has another deadline than its node");
      if (i > 0 && before(each, entries_[parent(i)])) return broken("comes before its parent");
    }
    return {};
  }

 private:
  using access = timer_node_access;

  struct entry {
    instant deadline;
    node_type* node;
  };

  static constexpr std::size_t arity = 4;
  /// Below this capacity the array is not worth giving back.
  static constexpr std::size_t smallest_shrink = 1024;

  static constexpr std::size_t parent(std::size_t index) noexcept { return (index - 1) / arity; }

  static bool before(const entry& a, const entry& b) noexcept {
    if (a.deadline != b.deadline) return a.deadline < b.deadline;
    return access::sequence(*a.node) < access::sequence(*b.node);  // the only look into a node
  }

  void arm(node_type& node, instant deadline) noexcept {
    access::deadline(node) = deadline;
    access::sequence(node) = next_sequence_++;
  }

  void put(std::size_t index, entry moved) noexcept {
    entries_[index] = moved;
    access::place(*moved.node) = index;
  }

  /// Puts `moved` at `index` or above. The hole moves instead of the entries being swapped.
  void sift_up(std::size_t index, entry moved) noexcept {
    while (index > 0 && before(moved, entries_[parent(index)])) {
      put(index, entries_[parent(index)]);
      index = parent(index);
    }
    put(index, moved);
  }

  /// Puts `moved` at `index` or below.
  void sift_down(std::size_t index, entry moved) noexcept {
    for (;;) {
      const std::size_t first = index * arity + 1;
      if (first >= entries_.size()) break;
      const std::size_t end = std::min(first + arity, entries_.size());
      std::size_t least = first;
      for (std::size_t child = first + 1; child < end; ++child) {
        if (before(entries_[child], entries_[least])) least = child;
      }
      if (!before(entries_[least], moved)) break;
      put(index, entries_[least]);
      index = least;
    }
    put(index, moved);
  }

  void remove(std::size_t index) noexcept {
    access::place(*entries_[index].node) = access::nowhere;
    const entry last = entries_.back();
    entries_.pop_back();
    if (index < entries_.size()) {
      // The last entry fills the hole; it may belong above it as well as below.
      if (index > 0 && before(last, entries_[parent(index)])) {
        sift_up(index, last);
      } else {
        sift_down(index, last);
      }
    }
    shrink();
  }

  /// Gives memory back after a peak: the array is never more than four times what is pending, or what
  /// was reserved. Amortised O(1), and where there is no memory to move to, it just stays.
  void shrink() noexcept {
    const std::size_t capacity = entries_.capacity();
    if (entries_.size() > capacity / 4 || capacity <= std::max(smallest_shrink, floor_)) [[likely]]
      return;
    move_to_smaller_array(capacity / 2);
  }

  [[gnu::noinline]] void move_to_smaller_array(std::size_t capacity) noexcept {
    try {
      std::vector<entry> smaller;
      smaller.reserve(std::max(capacity, floor_));
      smaller.assign(entries_.begin(), entries_.end());
      entries_.swap(smaller);
    } catch (const std::bad_alloc&) {
      // Nothing depends on it.
    }
  }

  std::vector<entry> entries_;
  std::uint64_t next_sequence_ = 0;
  std::size_t floor_ = 0;  // what reserve() asked for
};

static_assert(timer_queue<quad_heap>);

}  // namespace foliot::inline queue
