// The slots of a wheel: bags of nodes, made of chunks of 8-byte entries.
//
//   slot 17:  first ──► chunk ──► chunk ◄── last        a chunk: 30 entries, each a node or a hole
//             holes ──────────► hole ──► hole           holes are threaded through the entries, last in,
//                                                       first out, so that the next start finds a warm one
//
// A node's place is its slot and the address of its entry: a stop turns the entry into a hole and touches
// the node and that entry, no neighbour. A slot is emptied chunk by chunk, which a processor prefetches.
//
// Complexity: fill and vacate O(1). Memory: 8.5 bytes a node where slots are full. Holes that stops have
// left are used again by the slot; when more than half of all entries are holes (not counting one chunk
// a slot), each stop, and each reset that moves, packs two chunks, until they are not. Thread safety: none.
//
// Invariants (check):
//   1. A node in a slot has its place there, and nowhere else.
//   2. What hangs in a slot's list of holes is a hole in one of its chunks, once.
//   3. Entries are at most twice the nodes, one chunk a slot, and what packing has yet to reach: a third
//      more, and what a round over the slots leaves behind.
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

  /// A hole to fill, or null: then add_chunk makes some.
  [[nodiscard]] word* hole_in(std::size_t slot) const noexcept { return holes_[slot]; }

  /// Adds a chunk to the end of a slot that has no holes; returns its first entry. Throws std::bad_alloc,
  /// with nothing changed.
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

  /// Puts a node into the hole that hole_in or add_chunk has shown.
  void fill(std::size_t slot, word* hole, timer_node& node) noexcept {
    holes_[slot] = next_hole(*hole);
    *hole = reinterpret_cast<word>(&node);
    access::place(node) = place::at(slot, reinterpret_cast<word>(hole));
    ++size_;
  }

  /// Takes out the node whose place this is; its place is the caller's to change.
  void vacate(std::size_t its_place) noexcept {
    auto* entry = reinterpret_cast<word*>(place::position(its_place));
    word*& holes = holes_[place::region(its_place)];
    *entry = as_hole(holes);
    holes = entry;
    --size_;
  }

  /// Whether pack() has something to do.
  [[nodiscard]] bool sparse() const noexcept { return size_ < pack_below_; }
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

  /// How many chunks the slot has; zero means that nothing is in it, one that there may be.
  [[nodiscard]] std::size_t chunks(std::size_t slot) const noexcept { return chains_[slot].chunks; }
  /// How many slots have a chunk.
  [[nodiscard]] std::size_t occupied() const noexcept { return occupied_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// Some node of a slot; null if there is none. Chunks without any, before it, go back to the pool.
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

  /// Takes all nodes out of a slot's first chunk, which goes back to the pool: `visit(node)` gets each, its
  /// place still what it was. The slot's holes are forgotten, those in its other chunks too.
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

  /// Room for `count` nodes, and as many holes as there may be beside them, which stays once it is taken: see
  /// reserve.hpp. Throws std::bad_alloc.
  using room = typename pool::room;
  [[nodiscard]] room room_for(std::size_t count) const { return pool_.room_for(2 * count / Entries + 1 + Slots); }
  void take(room&& made) noexcept { pool_.take(std::move(made)); }

  /// Walks all slots; `visit(slot, node)` is called for each node, and returns what is wrong with it.
  template <class Visit>
  [[nodiscard]] check_result check(Visit visit) const {
    std::size_t nodes = 0;
    std::size_t occupied = 0;
    for (std::size_t slot = 0; slot < Slots && occupied < occupied_; ++slot) {
      const auto broken = [slot](const char* what) {
        return std::unexpected("slot_table: slot " + std::to_string(slot) + " " + what);
      };
      if (chains_[slot].chunks == 0) {
        if (holes_[slot] != nullptr || chains_[slot].first != nullptr) return broken("is empty, and is not");
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
            return broken("has a node whose place is elsewhere");
          }
          if (check_result fine = visit(slot, *node); !fine) return fine;
          ++nodes;
        }
        if (each->next == nullptr && each != chains_[slot].last) return broken("does not end with its last chunk");
      }
      if (counted != chains_[slot].chunks) return broken("has another number of chunks");
      for (const word* hole = holes_[slot]; hole != nullptr; hole = next_hole(*hole)) {
        if (holes.erase(hole) == 0) return broken("lists a hole that is none");
      }
    }
    if (occupied != occupied_) return std::unexpected("slot_table: fewer slots have a chunk than were counted");
    if (nodes != size_) return std::unexpected("slot_table: its size is not the number of nodes");
    const std::size_t spare = pool_.taken() * Entries;
    // Packing walks over the slots: a round takes so many stops, and each of them leaves a hole.
    constexpr std::size_t stops_a_round = Slots / slots_a_pack + 1;
    if (spare > 2 * (size_ + stops_a_round) + (occupied_ + 2) * Entries + spare / 4) {
      return std::unexpected("slot_table: too many holes");
    }
    return {};
  }

 private:
  using access = timer_node_access;

  struct chain {
    chunk* first = nullptr;
    chunk* last = nullptr;
    std::size_t chunks = 0;
  };

  static constexpr word hole_bit = 1;  // nodes are aligned
  static_assert(alignof(timer_node) > hole_bit);
  /// How many slots without anything to pack one call passes by.
  static constexpr std::size_t slots_a_pack = 64;
  static constexpr std::size_t chunks_a_pack = 2;
  static constexpr std::size_t worth_dropping = 64;  // chunks

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
    if (pool_.taken() > worth_dropping) pack_below_ = std::max<std::size_t>(pack_below_, 1);  // empty is sparse too
  }

  /// Moves what is left in the slot's first chunks to its end, in their order. The holes before the last
  /// chunk are forgotten, those in it found again: the chunks with the others are about to go.
  void pack_slot() noexcept {
    const std::size_t slot = packing_;
    find_holes_of_last_chunk(slot);
    for (std::size_t i = 0; i < chunks_a_pack && unpacked_ > 0 && chains_[slot].chunks >= 2; ++i) {
      if (!move_to_end(slot, *chains_[slot].first)) return;  // no memory: it stays as it is
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
      --size_;  // it was counted where it came from
      entry = as_hole(nullptr);
    }
    return true;
  }

  std::array<word*, Slots> holes_{};  // what starts and stops touch: apart from the rest
  std::size_t size_ = 0;
  std::size_t pack_below_ = 0;
  std::array<chain, Slots> chains_{};
  std::size_t occupied_ = 0;  // slots with a chunk
  std::size_t packing_ = 0;   // the slot being packed
  std::size_t unpacked_ = 0;  // of its chunks, those at its beginning that are yet to be
  pool pool_;
};

}  // namespace foliot::detail
