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
// Memory: 16 bytes a node beside the node; it stays with the pool until the pool is destroyed. At most
// 2^32 nodes.
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
//   1. A node is on the free list while its use number is even; but for those that were used 2^31 times,
//      and are not used again.
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

/// `Use` counts a node's uses: smaller for tests, which want to see the end of it.
template <class Node, std::unsigned_integral Use = std::uint32_t>
  requires std::derived_from<Node, timer_node> && std::default_initializable<Node> && (sizeof(Use) <= 4)
class node_pool {
  struct cell : Node {
    cell* next = nullptr;
    std::uint32_t index = 0;
    Use use = 0;  // odd while the node is out
  };
  using blocks = std::vector<std::unique_ptr<cell[]>>;

 public:
  /// Names one use of a node, in 64 bits. A default one names none.
  class ticket {
   public:
    ticket() noexcept = default;
    friend bool operator==(const ticket&, const ticket&) = default;

    /// As one word, for who keeps it where only a number fits, and back.
    [[nodiscard]] std::uint64_t bits() const noexcept { return std::uint64_t{index_} << 32 | use_; }
    [[nodiscard]] static ticket from_bits(std::uint64_t bits) noexcept {
      return {static_cast<std::uint32_t>(bits >> 32), static_cast<Use>(bits)};
    }

   private:
    friend class node_pool;
    ticket(std::uint32_t index, Use use) noexcept : index_(index), use_(use) {}
    std::uint32_t index_ = 0;
    Use use_ = 0;  // odd, where it names one
  };

  static constexpr std::size_t usual_block = 1024;

  /// A pool that grows by `block` nodes at a time, rounded up to a power of two. It allocates nothing yet.
  explicit node_pool(std::size_t block = usual_block) noexcept
      : block_bits_(std::min(most_block_bits, static_cast<int>(std::bit_width(std::max<std::size_t>(block, 1) - 1)))) {}
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
    if (back.use == 0) [[unlikely]] {
      ++retired_;  // its uses are all counted: once more, and an old ticket would name a stranger
      return true;
    }
    back.next = free_;
    free_ = &back;
    return true;
  }

  /// The name of this use of `node`, a node of this pool that is out.
  [[nodiscard]] ticket ticket_of(Node& node) const noexcept {
    cell& out = static_cast<cell&>(node);
    FOLIOT_ASSERT(is_out(out.use), "only a node that is out has a ticket");
    return {out.index, out.use};
  }

  /// The node, as long as it has not been put back since its ticket was made; null afterwards.
  [[nodiscard]] Node* find(ticket name) const noexcept {
    if (!is_out(name.use_) || name.index_ >= capacity()) return nullptr;
    cell& named = blocks_[name.index_ >> block_bits_][name.index_ & (block() - 1)];
    return named.use == name.use_ ? &named : nullptr;
  }

  /// Makes room for `count` nodes. Throws as get does, and for more nodes than a pool can have, with nothing changed.
  void reserve(std::size_t count) { take(room_for(count)); }

  /// A reserve in two steps, for who reserves elsewhere too, in all or in none: see detail/reserve.hpp.
  class room {
   public:
    room() noexcept = default;

   private:
    friend class node_pool;
    blocks all_;    // has room for the pool's blocks and those
    blocks added_;  // that it is to have
  };
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
  void take(room made) noexcept {
    if (made.added_.empty()) return;
    for (auto& each : blocks_) made.all_.push_back(std::move(each));
    blocks_.swap(made.all_);
    for (auto& each : made.added_) {
      blocks_.push_back(std::move(each));
      free_last_block();
    }
  }

  /// How many nodes are out, and how many there are.
  [[nodiscard]] std::size_t in_use() const noexcept { return in_use_; }
  [[nodiscard]] std::size_t capacity() const noexcept { return blocks_.size() << block_bits_; }

  [[nodiscard]] check_result check() const {
    std::size_t free = 0;
    for (const cell* each = free_; each != nullptr; each = each->next) {
      if (++free > capacity() - in_use_ - retired_)
        return std::unexpected("node_pool: the free list has too many nodes");
      if (is_out(each->use)) return std::unexpected("node_pool: a node on the free list is out");
      if (each->pending()) return std::unexpected("node_pool: a node on the free list is pending");
    }
    if (free != capacity() - in_use_ - retired_) return std::unexpected("node_pool: the free list has too few nodes");
    return {};
  }

 private:
  static constexpr int most_block_bits = 20;
  static constexpr std::uint64_t most_nodes = std::uint64_t{1} << 32;

  static constexpr bool is_out(Use use) noexcept { return use % 2 == 1; }
  [[nodiscard]] std::size_t block() const noexcept { return std::size_t{1} << block_bits_; }

  [[nodiscard]] std::unique_ptr<cell[]> new_block() const { return std::make_unique<cell[]>(block()); }

  void grow() {
    if (capacity() + block() > most_nodes) throw std::bad_alloc();
    blocks_.push_back(new_block());
    free_last_block();
  }

  /// Puts the nodes of a block that has just come on the free list.
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
