// A free list of timer nodes, for users who do not want to own each node: nodes are allocated in blocks and reused.
//
//   foliot::node_pool<session_timer> pool;
//   session_timer& timer = pool.get();
//   const auto ticket = pool.ticket_of(timer);
//   queue.start(timer, now + 30s);
//   …
//   if (session_timer* mine = pool.find(ticket)) {  // null after the node was put back
//     queue.stop(*mine);
//     pool.put(*mine);
//   }
//
// Complexity: get, put and find O(1); a get that finds no free node allocates a block, O(block).
// Memory: 16 bytes beside each node, which the pool keeps until it is destroyed. At most 2^32 nodes.
// A node is constructed once, with its block: get() returns it with the fields as its last user left them.
//
// Thread safety: none; the pool and its queue have one owner.
//
// After a put the node belongs to the pool, which may give the same address to another user. Code that may run later
// than that keeps a ticket instead of the address. A ticket identifies one use of a node, from get to put, and is stale
// afterwards.
//
// Invariants (check):
//   1. A node is on the free list if and only if its use number is even and is not 0 again: a node that was used 2^31
//      times is not used again.
//   2. No node on the free list is pending.
//
// Source: goim, pkg/time/timer.go: `Timer.free`, get, put, grow.
#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include <foliot/core/contract.hpp>
#include <foliot/core/timer_node.hpp>
#include <foliot/queue/detail/reserve.hpp>

namespace foliot::inline queue {

/// A pool of nodes of type Node. `Use` is the type of the use number; tests choose a small one, so that it overflows.
/// One owner.
template <class Node, std::unsigned_integral Use = std::uint32_t>
  requires std::derived_from<Node, timer_node> && std::default_initializable<Node> && (sizeof(Use) <= 4)
class node_pool {
  struct cell : Node {
    cell* next = nullptr;
    std::uint32_t index = 0;
    Use use = 0;  // odd while the node is in use
  };
  using blocks = std::vector<std::unique_ptr<cell[]>>;

 public:
  /// Identifies one use of a node, in 64 bits. A default-constructed ticket is stale.
  class ticket {
   public:
    ticket() noexcept = default;
    friend bool operator==(const ticket&, const ticket&) = default;

    /// The ticket as a number.
    [[nodiscard]] std::uint64_t bits() const noexcept { return std::uint64_t{index_} << 32 | use_; }
    /// The ticket of which `bits` is the number. A number that bits() did not return makes a stale ticket, or one that
    /// find() may take for a node's.
    [[nodiscard]] static ticket from_bits(std::uint64_t bits) noexcept {
      return {static_cast<std::uint32_t>(bits >> 32), static_cast<Use>(bits)};
    }

   private:
    friend class node_pool;
    ticket(std::uint32_t index, Use use) noexcept : index_(index), use_(use) {}
    std::uint32_t index_ = 0;
    Use use_ = 0;  // odd in a ticket of a node
  };

  /// How many nodes a block has by default.
  static constexpr std::size_t usual_block = 1024;

  /// A pool that allocates blocks of `block` nodes, rounded up to a power of two. The constructor allocates nothing.
  explicit node_pool(std::size_t block = usual_block) noexcept
      : block_bits_(std::min(most_block_bits, static_cast<int>(std::bit_width(std::max<std::size_t>(block, 1) - 1)))) {}
  node_pool(const node_pool&) = delete;
  node_pool& operator=(const node_pool&) = delete;
  /// Destroys all nodes, also those in use. None may be pending.
  ~node_pool() = default;

  /// Returns a node that is not pending. Throws std::bad_alloc, and the exceptions of the node's constructor, with
  /// nothing changed.
  [[nodiscard]] Node& get() {
    if (free_ == nullptr) grow();
    cell& node = *free_;
    FOLIOT_ASSERT(!node.pending(), "a node must not be started after it was put back into its pool");
    free_ = node.next;
    ++node.use;
    ++in_use_;
    return node;
  }

  /// Takes a node of this pool back. Returns false, with nothing changed, if it was put back before. Precondition: it
  /// is not pending.
  bool put(Node& node) noexcept {
    cell& back = static_cast<cell&>(node);
    if (!is_in_use(back.use)) return false;
    FOLIOT_ASSERT(!node.pending(), "a node must be stopped before it is put back into its pool");
    ++back.use;
    --in_use_;
    if (back.use == 0) [[unlikely]] {
      ++retired_;  // all use numbers are spent: with another use an old ticket would be valid again
      return true;
    }
    back.next = free_;
    free_ = &back;
    return true;
  }

  /// The ticket of the present use of `node`. Precondition: it is a node of this pool, in use.
  [[nodiscard]] ticket ticket_of(Node& node) const noexcept {
    cell& used = static_cast<cell&>(node);
    FOLIOT_ASSERT(is_in_use(used.use), "a ticket must be made while the node is in use");
    return {used.index, used.use};
  }

  /// The node of a ticket, until the node is put back; null afterwards.
  [[nodiscard]] Node* find(ticket name) const noexcept {
    if (!is_in_use(name.use_) || name.index_ >= capacity()) return nullptr;
    cell& named = blocks_[name.index_ >> block_bits_][name.index_ & (block() - 1)];
    return named.use == name.use_ ? &named : nullptr;
  }

  /// Allocates so many blocks that the pool has `count` nodes. Throws as get does, and std::bad_alloc for more nodes
  /// than a pool can have, with nothing changed.
  void reserve(std::size_t count) { take(room_for(count)); }

  /// Reserves in two steps, for users who reserve elsewhere, too, in all or in none: see detail/reserve.hpp.
  class room {
   public:
    room() noexcept = default;

   private:
    friend class node_pool;
    blocks all_;    // with capacity for the pool's blocks and the added ones
    blocks added_;  // the new blocks
  };
  /// The first step of reserve(): allocates the memory. Throws std::bad_alloc.
  [[nodiscard]] room room_for(std::size_t count) const {
    room made;
    if (count <= capacity()) return made;
    if (count > most_nodes) throw std::bad_alloc();
    const std::size_t missing = (count - capacity() + block() - 1) >> block_bits_;
    if (missing > 1) detail::ask_for(missing * block() * sizeof(cell));
    made.all_.reserve(blocks_.size() + missing);
    made.added_.reserve(missing);
    while (made.added_.size() < missing) made.added_.push_back(new_block());
    return made;
  }
  /// The second step of reserve(): gives the pool the memory.
  void take(room made) noexcept {
    if (made.added_.empty()) return;
    for (auto& each : blocks_) made.all_.push_back(std::move(each));
    blocks_.swap(made.all_);
    for (auto& each : made.added_) {
      blocks_.push_back(std::move(each));
      free_last_block();
    }
  }

  /// How many nodes are in use.
  [[nodiscard]] std::size_t in_use() const noexcept { return in_use_; }
  /// How many nodes the pool has.
  [[nodiscard]] std::size_t capacity() const noexcept { return blocks_.size() << block_bits_; }

  /// Checks all invariants. O(n).
  [[nodiscard]] check_result check() const {
    std::size_t free = 0;
    for (const cell* each = free_; each != nullptr; each = each->next) {
      if (++free > capacity() - in_use_ - retired_)
        return std::unexpected("node_pool: the free list has too many nodes");
      if (is_in_use(each->use)) return std::unexpected("node_pool: a node on the free list is in use");
      if (each->pending()) return std::unexpected("node_pool: a node on the free list is pending");
    }
    if (free != capacity() - in_use_ - retired_) return std::unexpected("node_pool: the free list has too few nodes");
    return {};
  }

 private:
  static constexpr int most_block_bits = 20;
  static constexpr std::uint64_t most_nodes = std::uint64_t{1} << 32;

  static constexpr bool is_in_use(Use use) noexcept { return use % 2 == 1; }
  [[nodiscard]] std::size_t block() const noexcept { return std::size_t{1} << block_bits_; }

  [[nodiscard]] std::unique_ptr<cell[]> new_block() const { return std::make_unique<cell[]>(block()); }

  void grow() {
    if (capacity() + block() > most_nodes) throw std::bad_alloc();
    blocks_.push_back(new_block());
    free_last_block();
  }

  /// Puts the nodes of the last block on the free list.
  void free_last_block() noexcept {
    const std::unique_ptr<cell[]>& added = blocks_.back();
    const std::size_t first = capacity() - block();
    for (std::size_t i = block(); i > 0; --i) {
      added[i - 1].index = static_cast<std::uint32_t>(first + i - 1);
      added[i - 1].next = free_;
      free_ = &added[i - 1];
    }
  }

  int block_bits_;
  std::size_t in_use_ = 0;
  std::size_t retired_ = 0;
  cell* free_ = nullptr;
  blocks blocks_;
};

}  // namespace foliot::inline queue
