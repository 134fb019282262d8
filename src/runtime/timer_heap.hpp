// The array of processor_heaps: a 4-ary heap of timers. Each entry keeps the deadline at which its timer is queued
// beside the pointer, so that a comparison reads the array alone.
//
// Thread safety: none; one owner. Invariant: no entry has an earlier deadline than its parent.
// Complexity: add O(log4 n), amortised; remove_first and requeue_first O(log4 n); rebuild O(n).
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include <foliot/core/instant.hpp>
#include <foliot/queue/detail/quad_sift.hpp>
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
  /// Precondition: there is room. (Go: doaddtimer)
  // always_inline: g++ 12 would call it, as it has two callers, which costs each start of a timer 24 instructions.
  [[gnu::always_inline]] void add(instant when, heap_timer& timer) noexcept {
    entries_.push_back({when, &timer});
    sift::up(entries_, entries_.size() - 1, entry{when, &timer});
  }
  /// Precondition: not empty. (Go: dodeltimer0)
  void remove_first() noexcept {
    const entry last = entries_.back();
    entries_.pop_back();
    if (!entries_.empty()) sift::down(entries_, 0, last);
    foliot::detail::shrink(entries_, 0);
  }
  /// Gives the first entry another deadline. Precondition: not empty.
  void requeue_first(instant when) noexcept { sift::down(entries_, 0, entry{when, entries_.front().timer}); }

  /// Calls `keeps(entry&)` for each entry, which returns whether the entry stays and may change its deadline; then
  /// restores the order.
  template <class Keeps>
  void rebuild(const Keeps& keeps) noexcept {
    bool changed = false;
    auto kept = entries_.begin();
    for (entry& each : entries_) {
      const instant before = each.when;
      if (!keeps(each)) {
        changed = true;
        continue;
      }
      changed = changed || each.when != before;
      *kept++ = each;
    }
    entries_.erase(kept, entries_.end());
    if (!changed) return;
    sift::build(entries_);
    foliot::detail::shrink(entries_, 0);
  }

  void clear() noexcept { std::vector<entry>().swap(entries_); }

  /// Whether the invariant holds.
  [[nodiscard]] bool ordered() const noexcept {
    for (std::size_t i = 1; i < entries_.size(); ++i) {
      if (!sift::is_ordered(entries_, i)) return false;
    }
    return true;
  }

 private:
  struct order {
    static bool comes_before(const entry& a, const entry& b) noexcept { return a.when < b.when; }
    static void moved(const entry&, std::size_t) noexcept {}  // no timer keeps its index
  };
  using sift = foliot::detail::quad_sift<order>;

  std::vector<entry> entries_;
};

}  // namespace foliot::runtime::detail
