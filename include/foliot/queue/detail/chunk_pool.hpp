// A pool of chunks: small arrays of words, all of one size, which are allocated in blocks.
//
// A chunk that was given back is used again. A block without taken chunks is freed, unless it is reserved or the only
// such block: otherwise a queue whose size varies by a few timers would allocate and free a block again and again.
//
// Complexity: O(1). Thread safety: none. No chunk ever moves.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>

#include <foliot/core/contract.hpp>
#include <foliot/core/intrusive_list.hpp>
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
    chunk* next;  // while the chunk is taken, its user writes this; while it is free, the pool does
    block* owner;
    word entries[Entries];
  };

 private:
  struct block {
    chunk chunks[ChunksInBlock];
    list_links<block> links;
    chunk* free;            // the chunks that were given back: a stack, linked through chunk::next
    std::size_t untouched;  // chunks from this index on were never taken, so their pages may have no memory yet
    std::size_t taken;
  };
  using block_list = intrusive_list<block, &block::links>;

 public:
  chunk_pool() noexcept = default;
  chunk_pool(const chunk_pool&) = delete;
  chunk_pool& operator=(const chunk_pool&) = delete;
  ~chunk_pool() {
    FOLIOT_ASSERT(taken_ == 0, "a pool must have its chunks back when it is destroyed");
    while (block* left = available_.front()) free_block(*left);
  }

  /// A chunk whose entries are not initialised. Throws std::bad_alloc.
  [[nodiscard]] chunk& take() {
    if (available_.empty()) [[unlikely]]
      adopt(new_block());
    block& from = *available_.front();
    if (from.taken++ == 0) --idle_blocks_;
    chunk* taken = from.free;
    if (taken != nullptr) {
      from.free = taken->next;
    } else {
      taken = &from.chunks[from.untouched++];
      taken->owner = &from;
    }
    if (from.taken == ChunksInBlock) available_.erase(from);
    ++taken_;
    return *taken;
  }

  /// Takes a chunk of this pool back.
  void give(chunk& given) noexcept {
    block& owner = *given.owner;
    given.next = owner.free;
    owner.free = &given;
    if (owner.taken-- == ChunksInBlock) make_available(owner);
    --taken_;
    if (owner.taken == 0) {
      ++idle_blocks_;
      if (idle_blocks_ > 1 && chunks_ - ChunksInBlock >= floor_) free_block(owner);
    }
  }

  /// Blocks that a reserve has allocated and not yet added to the pool.
  class room {
   public:
    explicit room(std::size_t count) noexcept : count_(count) {}
    room(room&& other) noexcept = default;
    room& operator=(room&&) = delete;
    ~room() {
      while (block* each = blocks_.pop_front()) delete each;
    }

   private:
    friend chunk_pool;
    block_list blocks_;
    std::size_t count_;
  };
  /// Memory for `count` chunks in all; the pool keeps it after take(): see reserve.hpp. Throws std::bad_alloc.
  [[nodiscard]] room room_for(std::size_t count) const {
    room made(count);
    if (count > chunks_ + ChunksInBlock) ask_for((count - chunks_) / ChunksInBlock * sizeof(block));
    for (std::size_t chunks = chunks_; chunks < count; chunks += ChunksInBlock) made.blocks_.push_front(new_block());
    return made;
  }
  void take(room&& made) noexcept {
    while (block* added = made.blocks_.pop_front()) adopt(*added);
    floor_ = std::max(floor_, made.count_);
  }

  /// How many chunks are taken.
  [[nodiscard]] std::size_t taken() const noexcept { return taken_; }

 private:
  [[nodiscard]] static block& new_block() {
    auto* added = new block;  // default-initialised: its pages are not touched
    // A place has 48 bits for an address. Systems give larger addresses only to programs that ask for them.
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
    make_available(added);
  }

  void free_block(block& freed) noexcept {
    available_.erase(freed);
    chunks_ -= ChunksInBlock;
    --idle_blocks_;
    delete &freed;
  }

  /// Adds a block as the second one. take() goes on with the first one, so that the others can become empty.
  void make_available(block& added) noexcept {
    block* const first = available_.pop_front();
    available_.push_front(added);
    if (first != nullptr) available_.push_front(*first);
  }

  block_list available_;         // the blocks that have a free chunk; take() uses the first
  std::size_t idle_blocks_ = 0;  // blocks without a taken chunk
  std::size_t chunks_ = 0;
  std::size_t taken_ = 0;
  std::size_t floor_ = 0;  // the number of chunks that reserve() asked for
};

}  // namespace foliot::detail
