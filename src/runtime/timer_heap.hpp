// The array of processor_heaps: a 4-ary heap of timers. Each entry keeps the deadline that it is queued at beside the
// pointer, so that a comparison reads the array alone.
//
// Thread safety: none; one owner. Invariant: no entry has an earlier deadline than its parent.
// Complexity: add O(log4 n), amortised; remove_first and requeue_first O(log4 n); rebuild O(n).
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include <foliot/core/instant.hpp>
#include <foliot/queue/detail/shrink.hpp>

namespace foliot::runtime::detail {

struct heap_timer;

class timer_heap {
 public:
  struct entry {
    instant when;
    heap_timer* timer;
  };

  [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }
  [[nodiscard]] std::size_t capacity() const noexcept { return entries_.capacity(); }
  /// Precondition: not empty.
  [[nodiscard]] const entry& first() const noexcept { return entries_.front(); }
  [[nodiscard]] const std::vector<entry>& entries() const noexcept { return entries_; }

  /// Makes room for `more` entries. Throws std::bad_alloc with nothing changed.
  void make_room(std::size_t more) {
    const std::size_t wanted = entries_.size() + more;
    if (wanted > entries_.capacity()) entries_.reserve(std::max(wanted, 2 * entries_.capacity()));
  }
  /// Precondition: there is room. (Go: doaddtimer, siftupTimer)
  void add(instant when, heap_timer& timer) noexcept {
    entries_.push_back({when, &timer});
    sift_up(entries_.size() - 1, {when, &timer});
  }
  /// Precondition: not empty. (Go: dodeltimer0)
  void remove_first() noexcept {
    const entry last = entries_.back();
    entries_.pop_back();
    if (!entries_.empty()) sift_down(0, last);
    foliot::detail::shrink(entries_, 0);
  }
  /// Gives the first entry another deadline. Precondition: not empty.
  void requeue_first(instant when) noexcept { sift_down(0, {when, entries_.front().timer}); }

  /// Calls `keeps(entry&)` for each entry, which returns whether the entry stays and may change its deadline; then
  /// restores the order.
  template <class Keeps>
  void rebuild(const Keeps& keeps) noexcept {
    bool changed = false;
    auto kept = entries_.begin();
    for (entry& each : entries_) {
      const instant stood_at = each.when;
      if (!keeps(each)) {
        changed = true;
        continue;
      }
      changed = changed || each.when != stood_at;
      *kept++ = each;
    }
    entries_.erase(kept, entries_.end());
    if (!changed) return;
    for (std::size_t i = entries_.size(); i-- > 0;) sift_down(i, entries_[i]);
    foliot::detail::shrink(entries_, 0);
  }

  void clear() noexcept { std::vector<entry>().swap(entries_); }

  /// Whether the invariant holds.
  [[nodiscard]] bool ordered() const noexcept {
    for (std::size_t i = 1; i < entries_.size(); ++i) {
      if (entries_[i].when < entries_[parent(i)].when) return false;
    }
    return true;
  }

 private:
  static constexpr std::size_t arity = 4;

  static constexpr std::size_t parent(std::size_t index) noexcept { return (index - 1) / arity; }

  /// Puts `moved` at `index` or above. The hole moves instead of the entries being swapped.
  void sift_up(std::size_t index, entry moved) noexcept {
    while (index > 0 && moved.when < entries_[parent(index)].when) {
      entries_[index] = entries_[parent(index)];
      index = parent(index);
    }
    entries_[index] = moved;
  }

  /// Puts `moved` at `index` or below. (Go: siftdownTimer)
  void sift_down(std::size_t index, entry moved) noexcept {
    for (;;) {
      const std::size_t first = index * arity + 1;
      if (first >= entries_.size()) break;
      const std::size_t end = std::min(first + arity, entries_.size());
      std::size_t least = first;
      for (std::size_t child = first + 1; child < end; ++child) {
        if (entries_[child].when < entries_[least].when) least = child;
      }
      if (!(entries_[least].when < moved.when)) break;
      entries_[index] = entries_[least];
      index = least;
    }
    entries_[index] = moved;
  }

  std::vector<entry> entries_;
};

}  // namespace foliot::runtime::detail
