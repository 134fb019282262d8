// The watches of a shard, by tokens of an index and a generation: a token that the poller returns for a watch that has
// been freed meanwhile finds no record, and never the record that has the index now.
//
// Complexity: O(1) each, amortised. Memory: 16 bytes for each index, which is used again; records are freed at once.
// Thread safety: none, the watcher's lock guards it. Indexes do not change while other watches come and go.
// Bounds: 2^32 records, which would need over 256 GiB; and a token is mistaken for a newer one only if its index was
// used 2^32 times while one event waited for its callback.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <foliot/core/readiness.hpp>
#include <foliot/service/detail/closure_life.hpp>
#include <foliot/service/watch.hpp>

namespace foliot::detail {

/// One watch. The watcher's, under its lock.
struct watch_record {
  watch_record(int descriptor, interest wanted, watch_callback function) noexcept
      : fd(descriptor), what(wanted), life(std::move(function)) {}

  const int fd;
  interest what;
  closure_life<watch_callback> life;
  std::uint64_t token = 0;
  /// The poller watches the descriptor.
  bool polled = false;
};

class watch_table {
 public:
  /// Adds a record, and sets its token. Throws std::bad_alloc; the caller still owns the record then, and destroys it
  /// without the lock.
  watch_record& put(std::unique_ptr<watch_record>&& record) {
    if (free_ == none) {
      slots_.push_back({});
      free_ = static_cast<std::uint32_t>(slots_.size() - 1);
      slots_.back().next_free = none;
    }
    const std::uint32_t index = free_;
    slot& mine = slots_[index];
    free_ = mine.next_free;
    record->token = std::uint64_t{mine.generation} << 32 | index;
    mine.record = std::move(record);
    return *mine.record;
  }

  /// The record of that token; null if it has been removed.
  [[nodiscard]] watch_record* find(std::uint64_t token) const noexcept {
    const std::size_t index = token & ~std::uint32_t{0};
    if (index >= slots_.size() || slots_[index].generation != token >> 32) return nullptr;
    return slots_[index].record.get();
  }

  /// Removes a record, whose token finds nothing from then on.
  std::unique_ptr<watch_record> take(const watch_record& record) noexcept {
    const auto index = static_cast<std::uint32_t>(record.token);
    slot& left = slots_[index];
    ++left.generation;
    left.next_free = std::exchange(free_, index);
    return std::move(left.record);
  }

  /// The number of indexes, of which some may be free.
  [[nodiscard]] std::size_t size() const noexcept { return slots_.size(); }
  /// The record of that index; null if the index is free.
  [[nodiscard]] watch_record* at(std::size_t index) const noexcept { return slots_[index].record.get(); }

 private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  struct slot {
    std::unique_ptr<watch_record> record{};
    std::uint32_t generation = 0;
    std::uint32_t next_free = none;
  };

  std::vector<slot> slots_;
  std::uint32_t free_ = none;
};

}  // namespace foliot::detail
