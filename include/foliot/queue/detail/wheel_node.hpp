// The containers of the timer wheels: a node with links, rings of nodes for the slots, and a heap of nodes for the few
// timers that belong to no slot. Nothing here allocates.
//
// Thread safety: none, one owner.
//
// Invariants (sound):
//   ring         1. The neighbours of each node link back to it.
//   pairing_heap 1. No node has an earlier deadline than its parent.
//                2. Each node's left sibling, or for a first child the parent, links to the node.
//
// Source of the heap: M. Fredman, R. Sedgewick, D. Sleator, R. Tarjan, "The pairing heap" (1986).
#pragma once

#include <utility>

#include <foliot/core/timer_node.hpp>

namespace foliot::detail {
class ring;
class pairing_heap;

struct ring_links {
  ring_links* prev = nullptr;
  ring_links* next = nullptr;
};
}  // namespace foliot::detail

namespace foliot::inline queue {

/// The node of the timer wheels. 48 bytes.
class wheel_node : public timer_node, private detail::ring_links {
 private:
  friend class detail::ring;
  friend class detail::pairing_heap;
  wheel_node* child_ = nullptr;  // its first child, while it is in a pairing_heap
};

}  // namespace foliot::inline queue

namespace foliot::detail {

/// A slot: a circular doubly linked list with a head that is not a node, so that a node can be unlinked without the
/// list. Every operation is O(1) unless stated otherwise.
class ring {
 public:
  ring() noexcept = default;
  ring(const ring&) = delete;
  ring& operator=(const ring&) = delete;

  [[nodiscard]] bool empty() const noexcept { return head_.next == &head_; }
  /// Precondition: not empty.
  [[nodiscard]] wheel_node& front() const noexcept { return node(head_.next); }

  void push_back(wheel_node& added) noexcept {
    ring_links& links = added;
    links.prev = head_.prev;
    links.next = &head_;
    head_.prev->next = &links;
    head_.prev = &links;
  }

  /// Removes a node from the ring that it is in.
  static void unlink(wheel_node& removed) noexcept {
    ring_links& links = removed;
    links.prev->next = links.next;
    links.next->prev = links.prev;
  }

  /// Appends all nodes of `other`, which is empty afterwards.
  void take_all(ring& other) noexcept {
    if (other.empty()) return;
    head_.prev->next = other.head_.next;
    other.head_.next->prev = head_.prev;
    head_.prev = other.head_.prev;
    head_.prev->next = &head_;
    other.head_ = {&other.head_, &other.head_};
  }

  /// Calls `visit(node)` for each node until it returns false, and then returns false. `visit` may remove that node.
  /// O(n).
  template <class Visit>
  bool for_each(Visit&& visit) const {
    for (ring_links* at = head_.next; at != &head_;) {
      ring_links* const next = at->next;
      if (!visit(node(at))) return false;
      at = next;
    }
    return true;
  }

  /// Whether the invariant holds. O(n).
  [[nodiscard]] bool sound() const noexcept {
    const ring_links* at = &head_;
    do {
      if (at->next->prev != at) return false;
      at = at->next;
    } while (at != &head_);
    return true;
  }

 private:
  static wheel_node& node(ring_links* links) noexcept { return static_cast<wheel_node&>(*links); }

  ring_links head_{&head_, &head_};
};

/// A pairing heap, the earliest deadline first; equal deadlines are in no order. push and top are O(1), erase is
/// amortised O(log n).
class pairing_heap {
 public:
  pairing_heap() noexcept = default;
  pairing_heap(const pairing_heap&) = delete;
  pairing_heap& operator=(const pairing_heap&) = delete;

  /// A node with the earliest deadline; null if the heap is empty.
  [[nodiscard]] wheel_node* top() const noexcept { return root_; }

  void push(wheel_node& added) noexcept {
    added.prev = added.next = nullptr;
    added.child_ = nullptr;
    root_ = root_ == nullptr ? &added : merge(root_, &added);
  }

  /// Removes a node of this heap.
  void erase(wheel_node& removed) noexcept {
    wheel_node* const children = merge_siblings(removed.child_);
    if (root_ == &removed) {
      root_ = children;
      return;
    }
    if (before(removed)->child_ == &removed) {
      before(removed)->child_ = after(removed);
    } else {
      before(removed)->next = removed.next;
    }
    if (removed.next != nullptr) removed.next->prev = removed.prev;
    if (children != nullptr) root_ = merge(root_, children);
  }

  /// Removes all nodes and calls `visit(node)` for each; `visit` may push the node again. O(n).
  template <class Visit>
  void drain(Visit&& visit) {
    for (wheel_node* todo = std::exchange(root_, nullptr); todo != nullptr;) {
      wheel_node& node = *todo;
      todo = after(node);
      if (node.child_ != nullptr) {
        wheel_node* last = node.child_;
        while (last->next != nullptr) last = after(*last);
        last->next = todo;
        todo = node.child_;
      }
      visit(node);
    }
  }

  /// Calls `visit(node)` for each node until it returns false, and then returns false. O(n).
  template <class Visit>
  bool for_each(Visit&& visit) const {
    for (wheel_node* at = root_; at != nullptr; at = following(at)) {
      if (!visit(*at)) return false;
    }
    return true;
  }

  /// Whether the invariants hold. O(n).
  [[nodiscard]] bool sound() const {
    return for_each([](wheel_node& node) {
      for (wheel_node *child = node.child_, *left = &node; child != nullptr; left = child, child = after(*child)) {
        if (before(*child) != left || child->deadline() < node.deadline()) return false;
      }
      return true;
    });
  }

 private:
  // The links of a node: `next` is its right sibling; `prev` is its left sibling or, for a first child, its parent.
  static wheel_node* after(wheel_node& node) noexcept { return static_cast<wheel_node*>(node.next); }
  static wheel_node* before(wheel_node& node) noexcept { return static_cast<wheel_node*>(node.prev); }

  /// Merges two trees whose roots have no siblings, and returns the root.
  static wheel_node* merge(wheel_node* a, wheel_node* b) noexcept {
    if (b->deadline() < a->deadline()) std::swap(a, b);
    b->prev = a;
    b->next = a->child_;
    if (a->child_ != nullptr) a->child_->prev = b;
    a->child_ = b;
    a->prev = a->next = nullptr;
    return a;
  }

  /// Merges the siblings from `first` on, in pairs from the left and then the pairs from the right; returns the root.
  static wheel_node* merge_siblings(wheel_node* first) noexcept {
    wheel_node* pairs = nullptr;  // chained by next
    while (first != nullptr) {
      wheel_node* a = first;
      wheel_node* b = after(*a);
      first = b == nullptr ? nullptr : after(*b);
      if (b != nullptr) a = merge(a, b);
      a->prev = nullptr;
      a->next = pairs;
      pairs = a;
    }
    wheel_node* root = pairs;
    if (root == nullptr) return nullptr;
    pairs = after(*root);
    while (pairs != nullptr) {
      wheel_node* const following = after(*pairs);
      root = merge(root, pairs);
      pairs = following;
    }
    root->prev = root->next = nullptr;
    return root;
  }

  /// The next node in preorder: the first child, else the next sibling, else that of the nearest ancestor that has one.
  static wheel_node* following(wheel_node* at) noexcept {
    if (at->child_ != nullptr) return at->child_;
    while (at->next == nullptr) {
      while (before(*at) != nullptr && before(*at)->child_ != at) at = before(*at);
      at = before(*at);  // the parent
      if (at == nullptr) return nullptr;
    }
    return after(*at);
  }

  wheel_node* root_ = nullptr;
};

}  // namespace foliot::detail
