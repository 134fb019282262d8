// The slots of a wheel: unordered sets of nodes, stored in chunks of 8-byte entries.
//
//   slot 17:  first ──► chunk ──► chunk ◄── last        a chunk: 30 entries, each a node or a hole
//             holes ──────────► hole ──► hole           a free list through the entries, last in, first out, so that
//                                                       the next start gets a hole that is in the cache
//
// A node's place is its slot and the address of its entry. A stop turns the entry into a hole: it accesses the node and
// the entry, no neighbour. A slot is emptied chunk by chunk: a processor prefetches the entries of a chunk.
//
// Complexity: fill and vacate O(1). Memory: 8.5 bytes a node where slots are full. A slot reuses the holes that stops
// have left. While more than half of all entries are holes (one chunk of each slot is not counted), the queue packs two
// chunks at each stop, and at each reset that moves the timer. Thread safety: none.
//
// Invariants (check):
//   1. A node in a slot has that entry as its place.
//   2. Each element of a slot's list of holes is a hole in one of the slot's chunks, and is in the list once.
//   3. Three quarters of the entries are at most twice the nodes, plus one chunk for each slot that has any, plus what
//      packing lags behind: two chunks, and the holes that stops leave while it goes once round the slots.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <unordered_set>
#include <utility>

#include <foliot/core/contract.hpp>
#include <foliot/core/timer_node.hpp>
#include <foliot/queue/detail/chunk_pool.hpp>
#include <foliot/queue/detail/place.hpp>
#include <foliot/queue/detail/structure_access.hpp>

namespace foliot::detail {

template <std::size_t Slots, std::size_t Entries, std::size_t ChunksInBlock>
class slot_table {
  using pool = chunk_pool<Entries, ChunksInBlock>;

 public:
  using chunk = typename pool::chunk;
  using word = typename pool::word;

  slot_table() noexcept = default;
  slot_table(const slot_table&) = delete;
  slot_table& operator=(const slot_table&) = delete;
  ~slot_table() {
    for (std::size_t slot = 0; occupied_ > 0; ++slot) {
      while (chains_[slot].chunks > 0) drop_first_chunk(slot);
    }
  }

  /// A hole of the slot for fill(). Null if the slot has none: the caller then calls add_chunk().
  [[nodiscard]] word* hole_in(std::size_t slot) const noexcept { return holes_[slot]; }

  /// Adds a chunk to the end of a slot that has no holes; returns the chunk's first entry, a hole. Throws
  /// std::bad_alloc with nothing changed.
  [[gnu::noinline]] word* add_chunk(std::size_t slot) {
    chunk& added = pool_.take();
    added.next = nullptr;
    chain& its = chains_[slot];
    (its.first == nullptr ? its.first : its.last->next) = &added;
    its.last = &added;
    if (its.chunks++ == 0) ++occupied_;
    thread_holes(slot, added);
    set_threshold();
    return holes_[slot];
  }

  /// Puts a node into the hole that hole_in() or add_chunk() has returned.
  void fill(std::size_t slot, word* hole, timer_node& node) noexcept {
    holes_[slot] = next_hole(*hole);
    *hole = reinterpret_cast<word>(&node);
    access::place(node) = place::at(slot, reinterpret_cast<word>(hole));
    ++size_;
  }

  /// Removes the node with this place. The caller changes the node's place.
  void vacate(std::size_t its_place) noexcept {
    auto* entry = reinterpret_cast<word*>(place::position(its_place));
    word*& holes = holes_[place::region(its_place)];
    *entry = as_hole(holes);
    holes = entry;
    --size_;
  }

  /// Whether there are so many holes that pack() should be called.
  [[nodiscard]] bool sparse() const noexcept { return size_ < pack_below_; }
  /// Packs up to two chunks of one slot. Passes over at most slots_a_pack slots that have nothing to pack.
  [[gnu::noinline]] void pack() noexcept {
    for (std::size_t step = 0; step < slots_a_pack; ++step) {
      if (unpacked_ == 0) {
        packing_ = (packing_ + 1) % Slots;
        unpacked_ = chains_[packing_].chunks;
      }
      if (unpacked_ >= 2 || (unpacked_ == 1 && chains_[packing_].chunks >= 2)) return pack_slot();
      unpacked_ = 0;
    }
  }

  /// How many chunks the slot has. A slot without chunks has no nodes; a slot with chunks may have none.
  [[nodiscard]] std::size_t chunks(std::size_t slot) const noexcept { return chains_[slot].chunks; }
  /// How many slots have a chunk.
  [[nodiscard]] std::size_t occupied() const noexcept { return occupied_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// Any node of a slot; null if it has none. Returns leading chunks without nodes to the pool.
  [[nodiscard]] timer_node* some_in(std::size_t slot) noexcept {
    for (; chains_[slot].chunks > 0; drop_first_chunk(slot)) {
      for (const word entry : chains_[slot].first->entries) {
        if (timer_node* node = node_in(entry)) return node;
      }
    }
    return nullptr;
  }

  /// Calls `visit(node)` for the nodes of a slot, until it returns false.
  template <class Visit>
  void visit(std::size_t slot, Visit visit) const {
    for (const chunk* each = chains_[slot].first; each != nullptr; each = each->next) {
      for (const word entry : each->entries) {
        timer_node* node = node_in(entry);
        if (node != nullptr && !visit(*node)) return;
      }
    }
  }

  /// Removes a slot's first chunk and its nodes. Calls `visit(node)` for each node, and leaves the node's place as it
  /// was. The slot's list of holes is empty afterwards, even if its other chunks have holes.
  template <class Visit>
  void take_first_chunk(std::size_t slot, Visit visit) noexcept {
    const chunk& first = *chains_[slot].first;
    if (first.next != nullptr) prefetch(*first.next);
    for (const word entry : first.entries) {
      timer_node* node = node_in(entry);
      if (node == nullptr) continue;
      --size_;
      visit(*node);
    }
    drop_first_chunk(slot);
  }

  /// Memory for `count` nodes in all, for as many holes, and for a chunk of each slot; the table keeps it after take():
  /// see reserve.hpp. Throws std::bad_alloc.
  using room = typename pool::room;
  [[nodiscard]] room room_for(std::size_t count) const { return pool_.room_for(2 * count / Entries + 1 + Slots); }
  void take(room&& made) noexcept { pool_.take(std::move(made)); }

  /// Checks all slots. Calls `visit(slot, node)` for each node, which returns a check_result of its own.
  template <class Visit>
  [[nodiscard]] check_result check(Visit visit) const {
    std::size_t nodes = 0;
    std::size_t occupied = 0;
    for (std::size_t slot = 0; slot < Slots && occupied < occupied_; ++slot) {
      const auto broken = [slot](const char* what) {
        return std::unexpected("slot_table: slot " + std::to_string(slot) + " " + what);
      };
      if (chains_[slot].chunks == 0) {
        if (holes_[slot] != nullptr || chains_[slot].first != nullptr) return broken("counts no chunk, and has one");
        continue;
      }
      ++occupied;
      std::unordered_set<const word*> holes;
      std::size_t counted = 0;
      for (const chunk* each = chains_[slot].first; each != nullptr; each = each->next, ++counted) {
        for (const word& entry : each->entries) {
          timer_node* node = node_in(entry);
          if (node == nullptr) {
            holes.insert(&entry);
            continue;
          }
          if (access::place(*node) != place::at(slot, reinterpret_cast<word>(&entry))) {
            return broken("has a node with another place");
          }
          if (check_result fine = visit(slot, *node); !fine) return fine;
          ++nodes;
        }
        if (each->next == nullptr && each != chains_[slot].last) return broken("does not end with its last chunk");
      }
      if (counted != chains_[slot].chunks) return broken("has another number of chunks than it counts");
      for (const word* hole = holes_[slot]; hole != nullptr; hole = next_hole(*hole)) {
        if (holes.erase(hole) == 0) return broken("has an entry in its list of holes that is not a hole of its own");
      }
    }
    if (occupied != occupied_) return std::unexpected("slot_table: the count of slots with chunks is wrong");
    if (nodes != size_) return std::unexpected("slot_table: the count of nodes is wrong");
    const std::size_t entries = pool_.taken() * Entries;
    // Packing goes round the slots, a few for each stop, and each stop leaves a hole.
    constexpr std::size_t stops_a_round = Slots / slots_a_pack + 1;
    if (entries > 2 * (size_ + stops_a_round) + (occupied_ + 2) * Entries + entries / 4) {
      return std::unexpected("slot_table: too many holes");
    }
    return {};
  }

 private:
  friend struct structure_access;
  using access = timer_node_access;

  /// The chunks of a slot: a singly linked FIFO, whose links lie in the chunks, and its length.
  struct chain {
    chunk* first = nullptr;
    chunk* last = nullptr;
    std::size_t chunks = 0;
  };

  static constexpr word hole_bit = 1;  // clear in the address of a node, which is aligned
  static_assert(alignof(timer_node) > hole_bit);
  /// How many slots without anything to pack one call of pack() passes over.
  static constexpr std::size_t slots_a_pack = 64;
  static constexpr std::size_t chunks_a_pack = 2;
  static constexpr std::size_t worth_dropping = 64;  // an empty table with more chunks is sparse

  /// The node in an entry, or null if it is a hole.
  static timer_node* node_in(word entry) noexcept {
    return (entry & hole_bit) != 0 ? nullptr : reinterpret_cast<timer_node*>(entry);
  }
  static word as_hole(word* next) noexcept { return reinterpret_cast<word>(next) | hole_bit; }
  static word* next_hole(word hole) noexcept { return reinterpret_cast<word*>(hole & ~hole_bit); }

  void thread_holes(std::size_t slot, chunk& its) noexcept {
    word* next = nullptr;
    for (std::size_t i = Entries; i-- > 0;) {
      its.entries[i] = as_hole(next);
      next = &its.entries[i];
    }
    holes_[slot] = next;
  }

  void drop_first_chunk(std::size_t slot) noexcept {
    chain& its = chains_[slot];
    chunk* dropped = its.first;
    its.first = dropped->next;
    if (--its.chunks == 0) {
      its.last = nullptr;
      --occupied_;
    }
    holes_[slot] = nullptr;
    if (slot == packing_ && unpacked_ > 0) --unpacked_;
    pool_.give(*dropped);
    set_threshold();
  }

  static void prefetch(const chunk& next) noexcept {
    for (std::size_t i = 0; i < Entries; i += 64 / sizeof(word)) __builtin_prefetch(&next.entries[i]);
  }

  void set_threshold() noexcept {
    pack_below_ = (pool_.taken() - occupied_) * Entries / 2;
    if (pool_.taken() > worth_dropping) pack_below_ = std::max<std::size_t>(pack_below_, 1);  // sparse() if size_ is 0
  }

  /// Moves the nodes of the slot's first chunks to its end, in their order, and drops these chunks. Before that,
  /// reduces the list of holes to those of the last chunk, so that no node moves to a chunk that will be dropped.
  void pack_slot() noexcept {
    const std::size_t slot = packing_;
    find_holes_of_last_chunk(slot);
    for (std::size_t i = 0; i < chunks_a_pack && unpacked_ > 0 && chains_[slot].chunks >= 2; ++i) {
      if (!move_to_end(slot, *chains_[slot].first)) return;  // no memory: the slot stays as it is
      word* holes = holes_[slot];
      drop_first_chunk(slot);
      holes_[slot] = holes;
    }
  }

  void find_holes_of_last_chunk(std::size_t slot) noexcept {
    word* holes = nullptr;
    chunk& last = *chains_[slot].last;
    for (std::size_t i = Entries; i-- > 0;) {
      if (node_in(last.entries[i]) != nullptr) continue;
      last.entries[i] = as_hole(holes);
      holes = &last.entries[i];
    }
    holes_[slot] = holes;
  }

  bool move_to_end(std::size_t slot, chunk& from) noexcept {
    for (word& entry : from.entries) {
      timer_node* node = node_in(entry);
      if (node == nullptr) continue;
      word* hole = holes_[slot];
      if (hole == nullptr) {
        try {
          hole = add_chunk(slot);
        } catch (const std::bad_alloc&) {
          return false;
        }
      }
      fill(slot, hole, *node);
      --size_;  // fill() has counted the node a second time
      entry = as_hole(nullptr);
    }
    return true;
  }

  std::array<word*, Slots> holes_{};  // apart from chains_: starts and stops access only this array
  std::size_t size_ = 0;
  std::size_t pack_below_ = 0;
  std::array<chain, Slots> chains_{};
  std::size_t occupied_ = 0;  // slots with a chunk
  std::size_t packing_ = 0;   // the slot being packed
  std::size_t unpacked_ = 0;  // how many chunks at that slot's beginning are still to be packed
  pool pool_;
};

}  // namespace foliot::detail
