// A red-black tree of timers: exact order, links in the nodes, and the earliest timer at hand.
//
// Complexity: start, stop and reset O(log2 n); next_deadline O(1); expire O(log2 n) a timer. Memory: none beside the
// nodes, and nothing allocates. Choose it where exact order is wanted and no start may fail, or to compare with a heap:
// each step of a descent reads a node anywhere in memory.
//
// Thread safety: none, one owner.
//
// Layout. A node has links to its parent and its two children. The place of a pending node is its colour. A start
// descends to the right of equal deadlines, so timers of one deadline are in the order of their starts. `first_` is the
// leftmost node, as Linux keeps it; nginx descends to it each time.
//
// Invariants (check):
//   1. In the order of the tree, deadlines ascend, and equal deadlines are in the order of their starts.
//   2. The root is black, and a red node has no red child.
//   3. All paths from a node down to a missing child have the same number of black nodes.
//   4. A child links back to its parent; `first_` is the leftmost node.
//
// Source: R. Bayer, "Symmetric binary B-trees" (1972); L. Guibas, R. Sedgewick, "A dichromatic framework for balanced
// trees" (1978); the steps of T. Cormen and others, "Introduction to Algorithms". nginx keeps its timers in such a tree
// (src/event/ngx_event_timer.c), and so do Linux' high-resolution timers (lib/timerqueue.c).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <foliot/core/timer_node.hpp>
#include <foliot/queue/detail/reserve.hpp>
#include <foliot/queue/detail/structure_access.hpp>
#include <foliot/queue/timer_queue.hpp>

namespace foliot::inline queue {

/// The node of a red_black_tree. 48 bytes.
class tree_node : public timer_node {
 private:
  friend class red_black_tree;
  friend struct detail::structure_access;
  tree_node* parent_ = nullptr;
  std::array<tree_node*, 2> child_{};  // the left one, the right one
};

/// A timer_queue with exact order, which fires equal deadlines in the order of their starts.
class red_black_tree {
 public:
  using node_type = tree_node;
  static constexpr std::string_view name = "red-black-tree";
  static constexpr duration precision = duration::zero();
  static constexpr bool ties_in_start_order = true;
  static constexpr bool next_deadline_exact = true;

  red_black_tree() noexcept = default;
  red_black_tree(const red_black_tree&) = delete;
  red_black_tree& operator=(const red_black_tree&) = delete;
  ~red_black_tree() { FOLIOT_ASSERT(size_ == 0, "a queue must be empty when it is destroyed"); }

  /// Makes a node pending. Precondition: it is not.
  void start(node_type& node, instant deadline) noexcept {
    FOLIOT_ASSERT(!node.pending(), "a pending timer must be reset, not started");
    access::deadline(node) = deadline;
    access::sequence(node) = next_sequence_++;
    insert(node);
    ++size_;
  }

  /// Makes a node not pending; returns whether it was.
  bool stop(node_type& node) noexcept {
    if (!node.pending()) return false;
    erase(node);
    access::place(node) = access::nowhere;
    --size_;
    return true;
  }

  /// Gives a node a new deadline, and starts it if it was not pending; returns whether it was.
  bool reset(node_type& node, instant deadline) noexcept {
    const bool was_pending = stop(node);
    start(node, deadline);
    return was_pending;
  }

  /// The earliest deadline; never if no timer is pending.
  [[nodiscard]] instant next_deadline() const noexcept {
    return first_ == nullptr ? instant::never() : first_->deadline();
  }

  /// Fires the timers that are due at `now`, at most `limit`: see timer_queue.
  template <class Sink>
  expiry expire(instant now, budget limit, Sink&& sink) {
    expiry turn;
    while (first_ != nullptr && is_due(first_->deadline(), now)) {
      if (turn.fired == limit) {
        turn.more = true;
        break;
      }
      node_type& node = *first_;
      stop(node);
      ++turn.fired;
      sink(node);
    }
    return turn;
  }

  /// Makes any pending node not pending and returns it; null if there is none.
  [[nodiscard]] node_type* pop_any() noexcept {
    node_type* const node = first_;
    if (node != nullptr) stop(*node);
    return node;
  }

  /// Does nothing, because starts do not allocate. Throws std::bad_alloc for more timers than an address space can
  /// have.
  void reserve(std::size_t count) { detail::refuse_impossible(count); }

  /// How many timers are pending.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// Checks all invariants. O(n).
  [[nodiscard]] check_result check() const {
    if (root_ != nullptr && root_->parent_ != nullptr) return std::unexpected("red_black_tree: the root has a parent");
    if (is_red(root_)) return std::unexpected("red_black_tree: the root is red");
    walk seen;
    count_blacks(root_, seen);
    if (!seen.broken.empty()) return std::unexpected("red_black_tree: " + seen.broken);
    if (seen.nodes != size_) return std::unexpected("red_black_tree: the count of timers is wrong");
    if (first_ != (root_ == nullptr ? nullptr : &leftmost(*root_))) {
      return std::unexpected("red_black_tree: the first timer is not the leftmost");
    }
    return {};
  }

 private:
  friend struct detail::structure_access;
  using access = timer_node_access;
  // Indexes of children; the other side of `side` is 1 - side.
  static constexpr std::size_t left = 0;
  static constexpr std::size_t right = 1;
  // The places of pending nodes: their colours.
  static constexpr std::size_t black = 0;
  static constexpr std::size_t red = 1;

  /// A missing child counts as black.
  static bool is_red(node_type* node) noexcept { return node != nullptr && access::place(*node) == red; }
  static void paint(node_type& node, std::size_t colour) noexcept { access::place(node) = colour; }
  /// On which side of `parent` the child is. A missing child has a sibling, so that it is known, too.
  static std::size_t side_of(const node_type* child, const node_type& parent) noexcept {
    return parent.child_[left] == child ? left : right;
  }

  static node_type& leftmost(node_type& top) noexcept {
    node_type* at = &top;
    while (at->child_[left] != nullptr) at = at->child_[left];
    return *at;
  }

  /// The next node in order; null after the last.
  static node_type* following(node_type& node) noexcept {
    if (node.child_[right] != nullptr) return &leftmost(*node.child_[right]);
    node_type* at = &node;
    while (at->parent_ != nullptr && side_of(at, *at->parent_) == right) at = at->parent_;
    return at->parent_;
  }

  /// Makes `taker`, which may be null, the child of `node`'s parent, or the root, in place of `node`.
  void replace(node_type& node, node_type* taker) noexcept {
    if (node.parent_ == nullptr) {
      root_ = taker;
    } else {
      node.parent_->child_[side_of(&node, *node.parent_)] = taker;
    }
    if (taker != nullptr) taker->parent_ = node.parent_;
  }

  static void link(node_type& parent, std::size_t side, node_type* child) noexcept {
    parent.child_[side] = child;
    if (child != nullptr) child->parent_ = &parent;
  }

  /// Moves `top` down to `side`; the child of its other side takes its place.
  void rotate(node_type& top, std::size_t side) noexcept {
    node_type& risen = *top.child_[1 - side];
    replace(top, &risen);
    link(top, 1 - side, risen.child_[side]);
    link(risen, side, &top);
  }

  void insert(node_type& node) noexcept {
    node_type* parent = nullptr;
    std::size_t side = left;
    bool earliest = true;
    for (node_type* at = root_; at != nullptr; at = at->child_[side]) {
      parent = at;
      side = node.deadline() < at->deadline() ? left : right;
      earliest = earliest && side == left;
    }
    node.child_ = {};
    node.parent_ = parent;
    (parent == nullptr ? root_ : parent->child_[side]) = &node;
    if (earliest) first_ = &node;
    paint(node, red);
    mend_red(&node);
  }

  /// Restores the second invariant, which the red node `at` and its parent may break.
  void mend_red(node_type* at) noexcept {
    while (is_red(at->parent_)) {
      node_type& parent = *at->parent_;
      node_type& grandparent = *parent.parent_;  // exists, because the root is black
      const std::size_t side = side_of(&parent, grandparent);
      node_type* const uncle = grandparent.child_[1 - side];
      if (is_red(uncle)) {
        paint(parent, black);
        paint(*uncle, black);
        paint(grandparent, red);
        at = &grandparent;
        continue;
      }
      if (side_of(at, parent) != side) rotate(parent, side);  // `at` is the child of the grandparent then
      paint(*grandparent.child_[side], black);
      paint(grandparent, red);
      rotate(grandparent, 1 - side);
      break;
    }
    paint(*root_, black);
  }

  void erase(node_type& node) noexcept {
    if (first_ == &node) first_ = following(node);
    if (node.child_[left] == nullptr || node.child_[right] == nullptr) {
      node_type* const child = node.child_[node.child_[left] == nullptr ? right : left];
      node_type* const parent = node.parent_;
      replace(node, child);
      if (access::place(node) == black) mend_black(child, parent);
      return;
    }
    // The next node has no left child. It gives its place to its right child, and takes the place of `node`.
    node_type& heir = leftmost(*node.child_[right]);
    node_type* const child = heir.child_[right];
    node_type* const parent = heir.parent_ == &node ? &heir : heir.parent_;
    const std::size_t lost = access::place(heir);
    if (parent != &heir) {
      replace(heir, child);
      link(heir, right, node.child_[right]);
    }
    replace(node, &heir);
    link(heir, left, node.child_[left]);
    paint(heir, access::place(node));
    if (lost == black) mend_black(child, parent);
  }

  /// Restores the third invariant: the paths through `at`, a child of `parent` or missing, have lost a black node.
  void mend_black(node_type* at, node_type* parent) noexcept {
    while (parent != nullptr && !is_red(at)) {
      const std::size_t side = side_of(at, *parent);
      node_type* sibling = parent->child_[1 - side];  // exists: the paths through it have a black node more
      if (is_red(sibling)) {
        paint(*sibling, black);
        paint(*parent, red);
        rotate(*parent, side);
        sibling = parent->child_[1 - side];
      }
      if (!is_red(sibling->child_[left]) && !is_red(sibling->child_[right])) {
        paint(*sibling, red);
        at = parent;
        parent = at->parent_;
        continue;
      }
      if (!is_red(sibling->child_[1 - side])) {
        paint(*sibling->child_[side], black);
        paint(*sibling, red);
        rotate(*sibling, 1 - side);
        sibling = parent->child_[1 - side];
      }
      paint(*sibling, access::place(*parent));
      paint(*parent, black);
      paint(*sibling->child_[1 - side], black);
      rotate(*parent, side);
      return;
    }
    if (at != nullptr) paint(*at, black);
  }

  /// What check() has seen of the tree, in order.
  struct walk {
    std::size_t nodes = 0;
    node_type* last = nullptr;
    std::string broken;  // the first invariant that does not hold
  };

  /// Returns how many black nodes each path from `at` down has. A node is entered only through the parent that it links
  /// to, so that the walk ends.
  static std::size_t count_blacks(node_type* at, walk& seen) {
    if (at == nullptr || !seen.broken.empty()) return 0;
    for (node_type* const child : at->child_) {
      if (child != nullptr && child->parent_ != at) seen.broken = "a timer does not link back to its parent";
      if (is_red(at) && is_red(child)) seen.broken = "a red timer has a red child";
    }
    const std::size_t blacks_left = count_blacks(at->child_[left], seen);
    if (!seen.broken.empty()) return 0;
    const std::string number = std::to_string(seen.nodes++);
    if (access::place(*at) > red) seen.broken = "timer " + number + " has no colour";
    if (seen.last != nullptr && starts_before(*at, *seen.last)) {
      seen.broken = "timer " + number + " comes before its predecessor";
    }
    seen.last = at;
    const std::size_t blacks_right = count_blacks(at->child_[right], seen);
    if (seen.broken.empty() && blacks_left != blacks_right) {
      seen.broken = "the paths below timer " + number + " have different numbers of black timers";
    }
    return blacks_left + (is_red(at) ? 0 : 1);
  }

  static bool starts_before(node_type& a, node_type& b) noexcept {
    if (a.deadline() != b.deadline()) return a.deadline() < b.deadline();
    return access::sequence(a) < access::sequence(b);
  }

  node_type* root_ = nullptr;
  node_type* first_ = nullptr;
  std::size_t size_ = 0;
  std::uint64_t next_sequence_ = 0;
};

static_assert(timer_queue<red_black_tree>);

}  // namespace foliot::inline queue
