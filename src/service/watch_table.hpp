// The watches of a service by number: an index and a generation, so that what the system tells of one that has
// gone meanwhile finds nobody, and never the one that has its place now.
//
// Complexity: O(1) each, amortised. Memory: 16 bytes for each place, which is used again; the record goes at once.
// Thread safety: none, the watcher's lock. Places stay what they are while others come and go.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <foliot/core/readiness.hpp>
#include <foliot/service/watch.hpp>

namespace foliot::detail {

/// One watch. The watcher's, under its lock.
struct watch_record {
  watch_record(int descriptor, interest wanted, watch_callback function) noexcept
      : fd(descriptor), what(wanted), callback(std::move(function)) {}

  const int fd;
  interest what;
  watch_callback callback;
  std::uint64_t token = 0;
  /// The thread that uses the closure without the lock, running or destroying it; null if none does.
  const void* user = nullptr;
  /// The poller knows the descriptor.
  bool polled = false;
  /// Its callback does not begin any more.
  bool closed = false;
  /// No handle holds it: whoever is done with it last destroys it.
  bool orphaned = false;
};

class watch_table {
 public:
  /// Takes a record, and numbers it. Throws std::bad_alloc; the record is still the caller's then, who destroys it
  /// without the lock.
  watch_record& put(std::unique_ptr<watch_record>&& record) {
    if (free_ == none) {
      places_.push_back({});
      free_ = static_cast<std::uint32_t>(places_.size() - 1);
      places_.back().next_free = none;
    }
    const std::uint32_t index = free_;
    place& mine = places_[index];
    free_ = mine.next_free;
    record->token = std::uint64_t{mine.generation} << 32 | index;
    mine.record = std::move(record);
    return *mine.record;
  }

  /// The record of that number; null if it has gone.
  [[nodiscard]] watch_record* find(std::uint64_t token) const noexcept {
    const std::size_t index = token & ~std::uint32_t{0};
    if (index >= places_.size() || places_[index].generation != token >> 32) return nullptr;
    return places_[index].record.get();
  }

  /// Gives a record back, whose number names nobody from then on.
  std::unique_ptr<watch_record> take(const watch_record& record) noexcept {
    const auto index = static_cast<std::uint32_t>(record.token);
    place& left = places_[index];
    ++left.generation;
    left.next_free = std::exchange(free_, index);
    return std::move(left.record);
  }

  /// How many places there are, and who is there: null for a place that is free.
  [[nodiscard]] std::size_t places() const noexcept { return places_.size(); }
  [[nodiscard]] watch_record* at(std::size_t number) const noexcept { return places_[number].record.get(); }

 private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  struct place {
    std::unique_ptr<watch_record> record{};
    std::uint32_t generation = 0;
    std::uint32_t next_free = none;
  };

  std::vector<place> places_;
  std::uint32_t free_ = none;
};

}  // namespace foliot::detail
