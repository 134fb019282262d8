// A 4-ary min-heap of timers in exact order: by deadline, and among equal deadlines by start. The owner writes the
// deadlines and the sequence numbers of the nodes; the heap writes their places.
//
// The array holds {deadline, node}, so that a comparison reads the array only, except for ties. A node's place is its
// index, in the region that the owner chooses.
//
// Complexity: O(log4 n); O(1) for an entry that stays at the end. Thread safety: none.
//
// Invariants (check):
//   1. No entry has an earlier deadline than its parent, nor the same deadline and an earlier start.
//   2. The node of each entry knows the entry's index, and has the entry's deadline.
//
// The deadline beside the pointer: Go's runtime since Go 1.23. The order in the array: quad_sift.hpp.
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
#include <foliot/queue/detail/quad_sift.hpp>
#include <foliot/queue/detail/reserve.hpp>
#include <foliot/queue/detail/shrink.hpp>
#include <foliot/queue/detail/structure_access.hpp>

namespace foliot::detail {

/// The entry of a timer in an ordered array.
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
  /// The entry that fires first. Precondition: not empty.
  [[nodiscard]] const entry& top() const noexcept { return entries_.front(); }
  /// The node that is cheapest to remove. Precondition: not empty.
  [[nodiscard]] timer_node& last() const noexcept { return *entries_.back().node; }

  /// Whether append() needs no memory.
  [[nodiscard]] bool has_room() const noexcept { return entries_.size() < entries_.capacity(); }
  /// Appends a node to the array. The caller then writes the node's deadline and sequence, and calls settle_last();
  /// until then the heap may be out of order. Throws std::bad_alloc, with nothing changed.
  void append(timer_node& node, instant deadline) { entries_.push_back({deadline, &node}); }
  /// Moves the appended entry to where it belongs.
  void settle_last() noexcept { sift::up(entries_, entries_.size() - 1, entries_.back()); }

  /// Removes a node of this heap; it is not pending afterwards.
  void remove(timer_node& node) noexcept {
    const std::size_t index = place::position(access::place(node));
    access::place(node) = access::nowhere;
    sift::remove(entries_, index);
    shrink(entries_, floor_);
  }

  /// Restores the order after a node's deadline or sequence has become later: the node fires no earlier than before.
  void move_later(timer_node& node) noexcept {
    sift::down(entries_, place::position(access::place(node)), entry{node.deadline(), &node});
  }
  /// Restores the order after a node's deadline has become earlier.
  void move_earlier(timer_node& node) noexcept {
    sift::up(entries_, place::position(access::place(node)), entry{node.deadline(), &node});
  }

  /// Memory for `count` nodes in all; the heap keeps it after take(): see reserve.hpp. Throws std::bad_alloc.
  struct room {
    std::vector<entry> entries;
    std::size_t count;
  };
  [[nodiscard]] room room_for(std::size_t count) const { return {larger_array(entries_, count), count}; }
  void take(room&& made) noexcept {
    move_to_larger_array(entries_, std::move(made.entries));
    floor_ = std::max(floor_, made.count);
  }
  /// Makes room for `count` more nodes, so that as many appends do not throw. Amortised O(1); throws
  /// std::bad_alloc with nothing changed.
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
      if (access::place(*each.node) != place::at(Region, i)) return broken("is not at the index that its node knows");
      if (each.node->deadline() != each.deadline) return broken("has another deadline than its node");
      if (!sift::is_ordered(entries_, i)) return broken("comes before its parent");
    }
    return {};
  }

 private:
  friend struct structure_access;
  using access = timer_node_access;

  struct order {
    static bool comes_before(const entry& a, const entry& b) noexcept { return fires_before(a, b); }
    static void moved(const entry& at, std::size_t index) noexcept {
      access::place(*at.node) = place::at(Region, index);
    }
  };
  using sift = quad_sift<order>;

  std::vector<entry> entries_;
  std::size_t floor_ = 0;  // the capacity that reserve() asked for
};

}  // namespace foliot::detail
