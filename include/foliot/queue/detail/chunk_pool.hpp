// Where chunks come from, and go back to: small arrays of words, all of one size, in blocks.
//
// A chunk that is given back is used again; a block of which every chunk came back is returned to the
// system, but for one, so that a queue at the edge of a block does not allocate with every other start.
//
// Complexity: O(1). Thread safety: none. No chunk ever moves.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include <foliot/core/contract.hpp>
#include <foliot/queue/detail/place.hpp>
#include <foliot/queue/detail/reserve.hpp>

namespace foliot::detail {

template <std::size_t Entries, std::size_t ChunksInBlock>
class chunk_pool {
  struct block;

 public:
  using word = std::uintptr_t;

  /// Four cache lines, where Entries is 30.
  struct alignas(64) chunk {
    chunk* next;  // the user's, while the chunk is out
    block* home;
    word entries[Entries];
  };

  chunk_pool() noexcept = default;
  chunk_pool(const chunk_pool&) = delete;
  chunk_pool& operator=(const chunk_pool&) = delete;
  ~chunk_pool() {
    FOLIOT_ASSERT(taken_ == 0, "a pool must have its chunks back when it is destroyed");
    while (available_ != nullptr) free_block(*available_);
  }

  /// A chunk, its entries not initialised. Throws std::bad_alloc.
  [[nodiscard]] chunk& take() {
    if (available_ == nullptr) [[unlikely]]
      adopt(new_block());
    block& from = *available_;
    if (from.taken++ == 0) --idle_blocks_;
    chunk* taken = from.free;
    if (taken != nullptr) {
      from.free = taken->next;
    } else {
      taken = &from.chunks[from.untouched++];
      taken->home = &from;
    }
    if (from.taken == ChunksInBlock) unlink(from);
    ++taken_;
    return *taken;
  }

  void give(chunk& given) noexcept {
    block& home = *given.home;
    given.next = home.free;
    home.free = &given;
    if (home.taken-- == ChunksInBlock) link(home);
    --taken_;
    if (home.taken == 0) {
      ++idle_blocks_;
      if (idle_blocks_ > 1 && chunks_ - ChunksInBlock >= floor_) free_block(home);
    }
  }

  /// Blocks that a reserve has allocated and not yet added to the pool.
  class room {
   public:
    explicit room(std::size_t count) noexcept : count_(count) {}
    room(room&& other) noexcept : first_(std::exchange(other.first_, nullptr)), count_(other.count_) {}
    room& operator=(room&&) = delete;
    ~room() {
      while (block* each = get()) delete each;
    }

   private:
    friend chunk_pool;
    void put(block& added) noexcept { added.next = std::exchange(first_, &added); }
    block* get() noexcept {
      block* const taken = first_;
      if (taken != nullptr) first_ = taken->next;
      return taken;
    }
    block* first_ = nullptr;
    std::size_t count_;
  };
  /// Memory for `count` chunks, which stays once it is taken: see reserve.hpp. Throws std::bad_alloc.
  [[nodiscard]] room room_for(std::size_t count) const {
    room made(count);
    if (count > chunks_ + ChunksInBlock) ask_for((count - chunks_) / ChunksInBlock * sizeof(block));
    for (std::size_t chunks = chunks_; chunks < count; chunks += ChunksInBlock) made.put(new_block());
    return made;
  }
  void take(room&& made) noexcept {
    while (block* added = made.get()) adopt(*added);
    floor_ = std::max(floor_, made.count_);
  }

  /// How many chunks are out.
  [[nodiscard]] std::size_t taken() const noexcept { return taken_; }

 private:
  struct block {
    chunk chunks[ChunksInBlock];
    block* previous;
    block* next;
    chunk* free;            // of those that came back
    std::size_t untouched;  // from here on they were never out, and cost no memory until they are
    std::size_t taken;
  };

  [[nodiscard]] static block& new_block() {
    auto* added = new block;  // default-initialised: its pages are not touched
    // A place has 48 bits for an address, which is what processors and systems use unless asked.
    if (place::region(reinterpret_cast<std::uintptr_t>(added + 1)) != 0) [[unlikely]] {
      delete added;
      throw std::bad_alloc();
    }
    added->free = nullptr;
    added->untouched = 0;
    added->taken = 0;
    return *added;
  }

  void adopt(block& added) noexcept {
    chunks_ += ChunksInBlock;
    ++idle_blocks_;
    link(added);
  }

  void free_block(block& freed) noexcept {
    unlink(freed);
    chunks_ -= ChunksInBlock;
    --idle_blocks_;
    delete &freed;
  }

  /// Behind the one that chunks are taken from: that one is filled up, so that others can empty.
  void link(block& linked) noexcept {
    linked.previous = available_;
    linked.next = available_ == nullptr ? nullptr : available_->next;
    (available_ == nullptr ? available_ : available_->next) = &linked;
    if (linked.next != nullptr) linked.next->previous = &linked;
  }

  void unlink(block& unlinked) noexcept {
    (unlinked.previous != nullptr ? unlinked.previous->next : available_) = unlinked.next;
    if (unlinked.next != nullptr) unlinked.next->previous = unlinked.previous;
  }

  block* available_ = nullptr;  // the blocks that have a chunk to give; the first one does
  std::size_t idle_blocks_ = 0;
  std::size_t chunks_ = 0;
  std::size_t taken_ = 0;
  std::size_t floor_ = 0;  // what reserve() asked for
};

}  // namespace foliot::detail
