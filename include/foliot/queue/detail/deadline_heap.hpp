// The array of a 4-ary min-heap of timers, in exact order: earlier deadlines first, and of equal ones
// the one started first. It orders nodes whose deadline and sequence somebody else writes.
//
// The array holds {deadline, node}: a comparison reads the array alone, but for ties, and the four
// children of an entry are 64 bytes, one or two cache lines. Entry i has its children at 4i+1 … 4i+4. A
// node's place is its index, in the region that the owner chooses.
//
// Complexity: O(log4 n), an entry that belongs at the end O(1). Thread safety: none.
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
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <foliot/core/contract.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/core/timer_node.hpp>
#include <foliot/queue/detail/place.hpp>
#include <foliot/queue/detail/reserve.hpp>
#include <foliot/queue/detail/shrink.hpp>

namespace foliot::detail {

/// A timer in an ordered array.
struct deadline_entry {
  instant deadline;
  timer_node* node;
};

/// Whether `a` fires before `b`.
inline bool fires_before(const deadline_entry& a, const deadline_entry& b) noexcept {
  if (a.deadline != b.deadline) return a.deadline < b.deadline;
  return timer_node_access::sequence(*a.node) < timer_node_access::sequence(*b.node);  // the only look into a node
}

template <std::size_t Region = 0>
class deadline_heap {
 public:
  using entry = deadline_entry;

  [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }
  /// The entry that fires first, of a heap that is not empty.
  [[nodiscard]] const entry& top() const noexcept { return entries_.front(); }
  /// Some node, the cheapest one to remove, of a heap that is not empty.
  [[nodiscard]] timer_node& last() const noexcept { return *entries_.back().node; }

  /// Puts a node at the end of the array, where it may be out of order until settle_last(): in between,
  /// its fields are written. Throws std::bad_alloc, with nothing changed.
  void append(timer_node& node, instant deadline) { entries_.push_back({deadline, &node}); }
  void settle_last() noexcept { sift_up(entries_.size() - 1, entries_.back()); }

  void remove(timer_node& node) noexcept {
    const std::size_t index = place::position(access::place(node));
    access::place(node) = access::nowhere;
    const entry last = entries_.back();
    entries_.pop_back();
    if (index < entries_.size()) {
      // The last entry fills the hole; it may belong above it as well as below.
      if (index > 0 && fires_before(last, entries_[parent(index)])) {
        sift_up(index, last);
      } else {
        sift_down(index, last);
      }
    }
    shrink(entries_, floor_);
  }

  /// Puts a node right whose deadline or sequence has changed; `later`: it does not fire before it did.
  void update(timer_node& node, bool later) noexcept {
    const std::size_t index = place::position(access::place(node));
    if (later) {
      sift_down(index, {node.deadline(), &node});
    } else {
      sift_up(index, {node.deadline(), &node});
    }
  }

  /// Room for `count` nodes, which stays once it is taken: see reserve.hpp. Throws std::bad_alloc.
  struct room {
    std::vector<entry> entries;
    std::size_t count;
  };
  [[nodiscard]] room room_for(std::size_t count) const { return {larger_array(entries_, count), count}; }
  void take(room&& made) noexcept {
    move_to_larger_array(entries_, std::move(made.entries));
    floor_ = std::max(floor_, made.count);
  }
  /// Makes room for `count` more than there are, for now. Amortised; throws std::bad_alloc.
  void make_room(std::size_t count = 1) {
    const std::size_t needed = entries_.size() + count;
    if (needed > entries_.capacity()) [[unlikely]]
      entries_.reserve(std::max(needed, 2 * entries_.capacity()));
  }

  [[nodiscard]] check_result check(std::string_view owner) const {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      const entry& each = entries_[i];
      const auto broken = [&](const char* what) {
        return std::unexpected(std::string(owner) + ": entry " + std::to_string(i) + " " + what);
      };
      if (access::place(*each.node) != place::at(Region, i)) return broken("is not where its node says");
      if (each.node->deadline() != each.deadline) return broken("has another deadline than its node");
      if (i > 0 && fires_before(each, entries_[parent(i)])) return broken("comes before its parent");
    }
    return {};
  }

 private:
  using access = timer_node_access;

  static constexpr std::size_t arity = 4;

  static constexpr std::size_t parent(std::size_t index) noexcept { return (index - 1) / arity; }

  void put(std::size_t index, entry moved) noexcept {
    entries_[index] = moved;
    access::place(*moved.node) = place::at(Region, index);
  }

  /// Puts `moved` at `index` or above. The hole moves instead of the entries being swapped.
  void sift_up(std::size_t index, entry moved) noexcept {
    while (index > 0 && fires_before(moved, entries_[parent(index)])) {
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
        if (fires_before(entries_[child], entries_[least])) least = child;
      }
      if (!fires_before(entries_[least], moved)) break;
      put(index, entries_[least]);
      index = least;
    }
    put(index, moved);
  }

  std::vector<entry> entries_;
  std::size_t floor_ = 0;  // what reserve() asked for
};

}  // namespace foliot::detail
