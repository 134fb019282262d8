// Lists whose links are fields of their nodes: nothing here allocates, and a node can be erased without a search.
//
//   intrusive_list    doubly linked: any node can be erased
//   intrusive_queue   singly linked: nodes leave at the front; one pointer a node
//
//   struct job {
//     foliot::list_links<job> links;
//   };
//   foliot::intrusive_list<job, &job::links> jobs;
//   jobs.push_back(one);
//   for (job* each = jobs.front(); each != nullptr; each = jobs.next(*each)) each->run();
//   jobs.erase(one);
//
// A node may be in several lists, with links for each. A list does not own its nodes: a node must stay where it is, and
// alive, until it has left the list. The links of a node that is in no list mean nothing. Moving a list leaves it
// empty.
//
// Complexity: O(1), except check(). Thread safety: none.
#pragma once

#include <foliot/core/language.hpp>

#include <utility>

#include <foliot/core/contract.hpp>

namespace foliot::inline core {

/// The links of a node in one intrusive_list.
template <class Node>
struct list_links {
  Node* previous = nullptr;
  Node* next = nullptr;
};

/// `Links` is the field of the node that this list uses.
template <class Node, list_links<Node> Node::* Links>
class intrusive_list {
 public:
  constexpr intrusive_list() noexcept = default;
  intrusive_list(intrusive_list&& other) noexcept
      : first_(std::exchange(other.first_, nullptr)), last_(std::exchange(other.last_, nullptr)) {}
  /// Precondition: this list is empty.
  intrusive_list& operator=(intrusive_list&& other) noexcept {
    FOLIOT_ASSERT(empty(), "a list that is assigned to must be empty");
    first_ = std::exchange(other.first_, nullptr);
    last_ = std::exchange(other.last_, nullptr);
    return *this;
  }
  ~intrusive_list() = default;

  /// Whether there is no node.
  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  /// The first node; null if the list is empty.
  [[nodiscard]] Node* front() const noexcept { return first_; }
  /// The last node; null if the list is empty.
  [[nodiscard]] Node* back() const noexcept { return last_; }
  /// The node after `node`, which is in a list; null if `node` is the last.
  [[nodiscard]] static Node* next(const Node& node) noexcept { return (node.*Links).next; }

  /// Precondition: the node is in no list of these links.
  void push_front(Node& node) noexcept {
    (node.*Links).previous = nullptr;
    (node.*Links).next = first_;
    (first_ == nullptr ? last_ : (first_->*Links).previous) = &node;
    first_ = &node;
  }
  /// Precondition: the node is in no list of these links.
  void push_back(Node& node) noexcept {
    (node.*Links).previous = last_;
    (node.*Links).next = nullptr;
    (last_ == nullptr ? first_ : (last_->*Links).next) = &node;
    last_ = &node;
  }
  /// Takes the node out. Precondition: it is in this list.
  void erase(Node& node) noexcept {
    Node* const before = (node.*Links).previous;
    Node* const after = (node.*Links).next;
    (before == nullptr ? first_ : (before->*Links).next) = after;
    (after == nullptr ? last_ : (after->*Links).previous) = before;
  }
  /// Takes the first node out and returns it; null if the list is empty.
  [[nodiscard]] Node* pop_front() noexcept {
    Node* const first = first_;
    if (first == nullptr) return nullptr;
    first_ = (first->*Links).next;
    (first_ == nullptr ? last_ : (first_->*Links).previous) = nullptr;
    return first;
  }

  /// Whether the links of all nodes agree in both directions. O(n).
  [[nodiscard]] check_result check() const {
    const Node* before = nullptr;
    for (const Node* each = first_; each != nullptr; each = next(*each)) {
      if ((each->*Links).previous != before) return std::unexpected("intrusive_list: a node is not linked both ways");
      before = each;
    }
    if (last_ != before) return std::unexpected("intrusive_list: the last node is not the one that the list knows");
    return {};
  }

 private:
  Node* first_ = nullptr;
  Node* last_ = nullptr;
};

/// `Next` is the field of the node that this queue uses: the node behind it.
template <class Node, Node* Node::* Next>
class intrusive_queue {
 public:
  constexpr intrusive_queue() noexcept = default;
  intrusive_queue(intrusive_queue&& other) noexcept
      : first_(std::exchange(other.first_, nullptr)), last_(std::exchange(other.last_, nullptr)) {}
  /// Precondition: this queue is empty.
  intrusive_queue& operator=(intrusive_queue&& other) noexcept {
    FOLIOT_ASSERT(empty(), "a queue that is assigned to must be empty");
    first_ = std::exchange(other.first_, nullptr);
    last_ = std::exchange(other.last_, nullptr);
    return *this;
  }
  ~intrusive_queue() = default;

  /// Whether there is no node.
  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  /// The first node; null if the queue is empty.
  [[nodiscard]] Node* front() const noexcept { return first_; }
  /// The last node; null if the queue is empty.
  [[nodiscard]] Node* back() const noexcept { return first_ == nullptr ? nullptr : last_; }
  /// The node behind `node`, which is in a queue; null if `node` is the last.
  [[nodiscard]] static Node* next(const Node& node) noexcept { return node.*Next; }

  /// Precondition: the node is in no queue of this link.
  void push_front(Node& node) noexcept {
    node.*Next = first_;
    if (first_ == nullptr) last_ = &node;
    first_ = &node;
  }
  /// Precondition: the node is in no queue of this link.
  void push_back(Node& node) noexcept {
    node.*Next = nullptr;
    (first_ == nullptr ? first_ : last_->*Next) = &node;
    last_ = &node;
  }
  /// Takes the first node out and returns it; null if the queue is empty.
  [[nodiscard]] Node* pop_front() noexcept {
    Node* const first = first_;
    if (first != nullptr) first_ = first->*Next;
    return first;
  }
  /// Moves all nodes of `other` to the front of this queue, in their order; `other` is empty afterwards.
  void prepend(intrusive_queue&& other) noexcept {
    if (other.empty()) return;
    other.last_->*Next = first_;
    if (first_ == nullptr) last_ = other.last_;
    first_ = std::exchange(other.first_, nullptr);
  }

 private:
  Node* first_ = nullptr;
  Node* last_ = nullptr;  // means nothing while the queue is empty
};

}  // namespace foliot::inline core
