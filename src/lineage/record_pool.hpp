// A free list for a shard's records: memory comes in blocks of cells, cells are used again, last in first out, and
// blocks stay with the shard until it is destroyed: goim's way of allocating its timers.
//
// Complexity: get and put are O(1); a get that finds no free cell allocates a block, O(block). Thread safety: none, the
// shard's lock guards it.
//
// Source: goim, pkg/time/timer.go: `Timer.free`, `Timer.num`, get, put, grow.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include <foliot/core/annotations.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/queue/detail/reserve.hpp>

namespace foliot::detail {

class record_pool {
  struct cell {
    cell* next;
  };
  using block = std::unique_ptr<std::byte[]>;

 public:
  /// Makes a pool of cells for records of this size, in blocks of `cells_in_block`, at least one: goim's `num`.
  /// Allocates nothing yet.
  record_pool(std::size_t record_size, std::size_t cells_in_block) noexcept
      : cell_size_((record_size + alignment - 1) / alignment * alignment), cells_in_block_(cells_in_block) {}
  record_pool(const record_pool&) = delete;
  record_pool& operator=(const record_pool&) = delete;
  /// Precondition: all cells have been put back.
  ~record_pool() = default;

  /// Returns a free cell. Throws std::bad_alloc, with nothing changed.
  [[nodiscard]] void* get() {
    if (free_ == nullptr) grow();
    ++in_use_;
    return std::exchange(free_, free_->next);
  }

  /// Puts a cell back, whose record has been destroyed; the next get() returns it.
  void put(void* back) noexcept {
    --in_use_;
    free_ = new (back) cell{free_};
  }

  /// The memory of a reserve in two steps: see queue/detail/reserve.hpp.
  class room {
    friend class record_pool;
    std::vector<block> all_;    // empty, with a capacity for the pool's blocks and the added ones
    std::vector<block> added_;  // the new blocks
  };
  /// Allocates room for `count` cells in all. Throws std::bad_alloc.
  [[nodiscard]] room room_for(std::size_t count) const {
    room made;
    if (count <= capacity()) return made;
    const std::size_t missing = (count - capacity() + cells_in_block_ - 1) / cells_in_block_;
    if (missing > 1) ask_for(missing * block_size());
    made.all_.reserve(blocks_.size() + missing);
    made.added_.reserve(missing);
    while (made.added_.size() < missing) made.added_.push_back(new_block());
    return made;
  }
  /// Adds that room to the pool.
  void take(room made) noexcept {
    if (made.all_.capacity() > blocks_.capacity()) {
      for (block& each : blocks_) made.all_.push_back(std::move(each));
      blocks_.swap(made.all_);
    }
    // Threads that made timers since room_for() may have added blocks, which count.
    while (!made.added_.empty() && blocks_.size() < blocks_.capacity()) {
      add(std::move(made.added_.back()));
      made.added_.pop_back();
    }
  }

  [[nodiscard]] std::size_t capacity() const noexcept { return blocks_.size() * cells_in_block_; }
  [[nodiscard]] std::size_t in_use() const noexcept { return in_use_; }

 private:
  static constexpr std::size_t alignment = __STDCPP_DEFAULT_NEW_ALIGNMENT__;

  [[nodiscard]] std::size_t block_size() const noexcept { return cells_in_block_ * cell_size_; }
  [[nodiscard]] block new_block() const { return std::make_unique_for_overwrite<std::byte[]>(block_size()); }

  void grow() {
    block added = new_block();
    if (blocks_.size() == blocks_.capacity()) blocks_.reserve(2 * blocks_.size() + 1);
    add(std::move(added));
  }

  /// Puts the cells of a block on the free list, the first one foremost. Precondition: `blocks_` has room for it.
  void add(block added) noexcept {
    for (std::size_t i = cells_in_block_; i > 0; --i) free_ = new (&added[(i - 1) * cell_size_]) cell{free_};
    blocks_.push_back(std::move(added));
  }

  const std::size_t cell_size_;
  const std::size_t cells_in_block_;
  std::size_t in_use_ = 0;
  cell* free_ = nullptr;
  std::vector<block> blocks_;
};

/// The records of a shard in such a pool; those of another size, as a ticker's may be, are the allocator's.
class pooled_records {
 public:
  pooled_records(std::size_t record_size, std::size_t cells_in_block) noexcept
      : record_size_(record_size), pool_(record_size, cells_in_block) {}

  /// Without the lock, which it takes for the cell alone: the constructor moves a user's closure. Throws
  /// std::bad_alloc.
  template <class Record, class... Arguments>
  [[nodiscard]] Record* make(mutex& of_shard, Arguments&&... arguments) FOLIOT_EXCLUDES(of_shard) {
    static_assert(std::is_nothrow_constructible_v<Record, Arguments...>);
    if (sizeof(Record) != record_size_) return new Record(std::forward<Arguments>(arguments)...);
    void* cell = nullptr;
    {
      const lock held(of_shard);
      cell = pool_.get();
    }
    return new (cell) Record(std::forward<Arguments>(arguments)...);
  }
  /// Under the lock, as the next two, which is an argument only so that clang checks that it is held.
  template <class Record>
  void free([[maybe_unused]] mutex& of_shard, Record& r) noexcept FOLIOT_REQUIRES(of_shard) {
    if (sizeof(Record) != record_size_) {
      delete &r;
    } else {
      std::destroy_at(&r);
      pool_.put(&r);
    }
  }
  [[nodiscard]] record_pool::room room_for([[maybe_unused]] mutex& of_shard, std::size_t count) const
      FOLIOT_REQUIRES(of_shard) {
    return pool_.room_for(count);
  }
  void take([[maybe_unused]] mutex& of_shard, record_pool::room made) noexcept FOLIOT_REQUIRES(of_shard) {
    pool_.take(std::move(made));
  }

 private:
  const std::size_t record_size_;
  record_pool pool_;
};

}  // namespace foliot::detail
