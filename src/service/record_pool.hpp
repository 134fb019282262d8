// A free list of a shard's records: they come in blocks, are used again, last in first out, and stay with the shard
// until it ends. For the designs that ask for it (`pools_records`): goim's way of allocating its timers.
//
// Complexity: get, put O(1); a get that finds no free cell makes a block, O(block). Thread safety: none, the shard's
// lock.
//
// Source: goim, pkg/time/timer.go: `Timer.free`, `Timer.num`, get, put, grow.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include <foliot/queue/detail/reserve.hpp>

namespace foliot::detail {

class record_pool {
  struct cell {
    cell* next;
  };
  using block = std::unique_ptr<std::byte[]>;

 public:
  /// How many cells a block has: goim's `num`.
  static constexpr std::size_t cells_in_block = 1024;

  /// Of cells with room for a record of this size. It allocates nothing yet.
  explicit record_pool(std::size_t record_size) noexcept
      : cell_size_((record_size + alignment - 1) / alignment * alignment) {}
  record_pool(const record_pool&) = delete;
  record_pool& operator=(const record_pool&) = delete;
  /// Precondition: all cells are back.
  ~record_pool() = default;

  /// A cell without a record. Throws std::bad_alloc, with nothing changed.
  [[nodiscard]] void* get() {
    if (free_ == nullptr) grow();
    ++in_use_;
    return std::exchange(free_, free_->next);
  }

  /// Takes a cell back whose record has been destroyed: it is the next that get() gives.
  void put(void* back) noexcept {
    --in_use_;
    free_ = new (back) cell{free_};
  }

  /// A reserve in two steps: see queue/detail/reserve.hpp. Room for `count` cells in all.
  class room {
    friend class record_pool;
    std::vector<block> all_;    // has room for the pool's blocks and those
    std::vector<block> added_;  // that it is to have
  };
  [[nodiscard]] room room_for(std::size_t count) const {
    room made;
    if (count <= capacity()) return made;
    const std::size_t missing = (count - capacity() + cells_in_block - 1) / cells_in_block;
    if (missing > 1) ask_for(missing * block_size());
    made.all_.reserve(blocks_.size() + missing);
    made.added_.reserve(missing);
    while (made.added_.size() < missing) made.added_.push_back(new_block());
    return made;
  }
  void take(room made) noexcept {
    if (made.all_.capacity() > blocks_.capacity()) {
      for (block& each : blocks_) made.all_.push_back(std::move(each));
      blocks_.swap(made.all_);
    }
    // Threads that made timers since room_for() may have added blocks: those count.
    while (!made.added_.empty() && blocks_.size() < blocks_.capacity()) {
      add(std::move(made.added_.back()));
      made.added_.pop_back();
    }
  }

  [[nodiscard]] std::size_t capacity() const noexcept { return blocks_.size() * cells_in_block; }
  [[nodiscard]] std::size_t in_use() const noexcept { return in_use_; }

 private:
  static constexpr std::size_t alignment = __STDCPP_DEFAULT_NEW_ALIGNMENT__;

  [[nodiscard]] std::size_t block_size() const noexcept { return cells_in_block * cell_size_; }
  [[nodiscard]] block new_block() const { return std::make_unique_for_overwrite<std::byte[]>(block_size()); }

  void grow() {
    block added = new_block();
    if (blocks_.size() == blocks_.capacity()) blocks_.reserve(2 * blocks_.size() + 1);
    add(std::move(added));
  }

  /// Puts the cells of a block on the free list, the first one foremost. Precondition: `blocks_` has room for it.
  void add(block added) noexcept {
    for (std::size_t i = cells_in_block; i > 0; --i) free_ = new (&added[(i - 1) * cell_size_]) cell{free_};
    blocks_.push_back(std::move(added));
  }

  const std::size_t cell_size_;
  std::size_t in_use_ = 0;
  cell* free_ = nullptr;
  std::vector<block> blocks_;
};

/// What designs have that allocate each record.
struct no_record_pool {
  explicit no_record_pool(std::size_t /*record_size*/) noexcept {}
};

}  // namespace foliot::detail
