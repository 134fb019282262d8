// A free list of timer nodes, for who does not want to own each one: the nodes come in blocks and are
// used again.
//
//   foliot::node_pool<session_timer> pool;
//   session_timer& timer = pool.get();
//   const auto ticket = pool.ticket_of(timer);
//   queue.start(timer, now + 30s);
//   …
//   if (session_timer* mine = pool.find(ticket)) {  // null once the node has been put back
//     queue.stop(*mine);
//     pool.put(*mine);
//   }
//
// Complexity: get, put, find O(1); a get that finds no free node makes a block of them, O(block).
// Memory: 16 bytes a node beside the node; it stays with the pool until the pool is destroyed.
// A node is constructed once, with its block, and not again: who gets one finds its fields as the last
// user has left them.
//
// Thread safety: none, one owner: the queue's.
//
// A node that has been put back is the pool's. Its address may be in use again at any time, by
// somebody else, so who might come late keeps a ticket instead of the address. A ticket names one use
// of a node, from get to put, and nothing afterwards.
//
// Invariants (check):
//   1. A node is on the free list exactly while its use number is even.
//   2. No node on the free list is pending.
//
// Source: goim, pkg/time/timer.go: `Timer.free`, get, put, grow.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <foliot/core/contract.hpp>
#include <foliot/core/timer_node.hpp>

namespace foliot::inline queue {

template <class Node>
  requires std::derived_from<Node, timer_node> && std::default_initializable<Node>
class node_pool {
  struct cell : Node {
    cell* next = nullptr;
    std::uint64_t use = 0;  // odd while the node is out
  };

 public:
  /// Names one use of a node. A default one names none.
  class ticket {
   public:
    ticket() noexcept = default;
    friend bool operator==(const ticket&, const ticket&) = default;

   private:
    friend class node_pool;
    ticket(cell* node, std::uint64_t use) noexcept : node_(node), use_(use) {}
    cell* node_ = nullptr;
    std::uint64_t use_ = 0;
  };

  static constexpr std::size_t usual_block = 1024;

  /// A pool that grows by `block` nodes at a time; zero counts as one. It allocates nothing yet.
  explicit node_pool(std::size_t block = usual_block) noexcept : block_(block == 0 ? 1 : block) {}
  node_pool(const node_pool&) = delete;
  node_pool& operator=(const node_pool&) = delete;
  /// All nodes end with the pool, those that are out as well: none may be pending.
  ~node_pool() = default;

  /// A node that is not pending. Throws std::bad_alloc, and what the node's constructor throws, with
  /// nothing changed.
  [[nodiscard]] Node& get() {
    if (free_ == nullptr) grow();
    cell& node = *free_;
    FOLIOT_ASSERT(!node.pending(), "a node must not be started after it has been put back");
    free_ = node.next;
    ++node.use;
    ++in_use_;
    return node;
  }

  /// Takes a node of this pool back; false, and nothing happens, when it has been put back already.
  /// Precondition: it is not pending.
  bool put(Node& node) noexcept {
    cell& back = static_cast<cell&>(node);
    if (!is_out(back.use)) return false;
    FOLIOT_ASSERT(!node.pending(), "a node must be stopped before it is put back");
    ++back.use;
    --in_use_;
    back.next = free_;
    free_ = &back;
    return true;
  }

  /// The name of this use of `node`, a node of this pool that is out.
  [[nodiscard]] ticket ticket_of(Node& node) const noexcept {
    cell& out = static_cast<cell&>(node);
    FOLIOT_ASSERT(is_out(out.use), "only a node that is out has a ticket");
    return {&out, out.use};
  }

  /// The node, as long as it has not been put back since its ticket was made; null afterwards.
  [[nodiscard]] Node* find(const ticket& name) const noexcept {
    return name.node_ != nullptr && name.node_->use == name.use_ ? name.node_ : nullptr;
  }

  /// How many nodes are out, and how many there are.
  [[nodiscard]] std::size_t in_use() const noexcept { return in_use_; }
  [[nodiscard]] std::size_t capacity() const noexcept { return blocks_.size() * block_; }

  [[nodiscard]] check_result check() const {
    std::size_t free = 0;
    for (const cell* each = free_; each != nullptr; each = each->next) {
      if (++free > capacity() - in_use_) return std::unexpected("node_pool: the free list has too many nodes");
      if (is_out(each->use)) return std::unexpected("node_pool: a node on the free list is out");
      if (each->pending()) return std::unexpected("node_pool: a node on the free list is pending");
    }
    if (free != capacity() - in_use_) return std::unexpected("node_pool: the free list has too few nodes");
    return {};
  }

 private:
  static constexpr bool is_out(std::uint64_t use) noexcept { return use % 2 == 1; }

  void grow() {
    blocks_.push_back(std::make_unique<cell[]>(block_));
    const std::unique_ptr<cell[]>& block = blocks_.back();
    for (std::size_t i = block_; i > 0; --i) {
      block[i - 1].next = free_;
      free_ = &block[i - 1];
    }
  }

  std::size_t block_;
  std::size_t in_use_ = 0;
  cell* free_ = nullptr;
  std::vector<std::unique_ptr<cell[]>> blocks_;
};

}  // namespace foliot::inline queue
