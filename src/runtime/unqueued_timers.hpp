// Pending timers that their queue has no memory for: an intrusive list in the order of their deadlines.
//
// It is singly linked through the one pointer that the entries have for it, an atomic that the heaps use for something
// else: so it is no intrusive_list.
//
// Thread safety: none; one owner. Complexity: add and remove O(n), sort O(n log n), the others O(1). No function
// allocates.
#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include <foliot/core/instant.hpp>
#include <foliot/core/timer_node.hpp>
#include <foliot/runtime/detail/timer_entry.hpp>

namespace foliot::runtime::detail {

class unqueued_timers {
 public:
  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// The deadline of the first entry; never if there is none.
  [[nodiscard]] instant first_deadline() const noexcept {
    return first_ == nullptr ? instant::never() : first_->deadline();
  }

  /// Links the entry behind all entries of its deadline.
  void add(timer_entry& entry, instant deadline) noexcept {
    timer_entry* before = nullptr;
    for (timer_entry* each = first_; each != nullptr && each->deadline() <= deadline; each = next(*each)) before = each;
    timer_node_access::set_deadline(entry, deadline);
    link(before, entry);
  }
  /// Links the entry at the front. The caller must call sort() afterwards, unless the front is its place.
  void push_front(timer_entry& entry, instant deadline) noexcept {
    timer_node_access::set_deadline(entry, deadline);
    link(nullptr, entry);
  }
  /// Sorts by deadline, and for ties by the nodes' sequence. A bottom-up merge sort: bin i holds 2^i timers or none.
  void sort() noexcept {
    std::array<timer_entry*, 64> bins{};
    while (first_ != nullptr) {
      timer_entry* run = std::exchange(first_, next(*first_));
      set_next(*run, nullptr);
      std::size_t i = 0;
      for (; bins[i] != nullptr; ++i) run = merged(std::exchange(bins[i], nullptr), run);
      bins[i] = run;
    }
    for (timer_entry* const run : bins) {
      if (run != nullptr) first_ = merged(run, first_);
    }
  }
  /// Precondition: not empty.
  timer_entry& pop_first() noexcept {
    timer_entry& entry = *first_;
    unlink(nullptr, entry);
    return entry;
  }
  /// Returns false if the entry is not here.
  bool remove(timer_entry& entry) noexcept {
    timer_entry* before = nullptr;
    for (timer_entry* each = first_; each != nullptr; before = std::exchange(each, next(*each))) {
      if (each != &entry) continue;
      unlink(before, entry);
      return true;
    }
    return false;
  }

 private:
  // relaxed: under the lock of the timers.
  static timer_entry* next(timer_entry& entry) noexcept {
    return static_cast<timer_entry*>(timer_entry_access::record(entry).load(seam::relaxed));
  }
  static void set_next(timer_entry& entry, timer_entry* next) noexcept {
    timer_entry_access::record(entry).store(next, seam::relaxed);
  }
  static bool comes_before(timer_entry& a, timer_entry& b) noexcept {
    if (a.deadline() != b.deadline()) return a.deadline() < b.deadline();
    return timer_node_access::sequence(a) < timer_node_access::sequence(b);
  }
  static timer_entry* merged(timer_entry* a, timer_entry* b) noexcept {
    timer_entry* first = nullptr;
    timer_entry* last = nullptr;
    while (a != nullptr || b != nullptr) {
      timer_entry*& from = b == nullptr || (a != nullptr && comes_before(*a, *b)) ? a : b;
      timer_entry* const least = std::exchange(from, next(*from));
      if (last == nullptr) {
        first = least;
      } else {
        set_next(*last, least);
      }
      last = least;
    }
    return first;
  }
  void link(timer_entry* before, timer_entry& entry) noexcept {
    set_next(entry, before == nullptr ? first_ : next(*before));
    if (before == nullptr) {
      first_ = &entry;
    } else {
      set_next(*before, &entry);
    }
    ++size_;
  }
  void unlink(timer_entry* before, timer_entry& entry) noexcept {
    if (before == nullptr) {
      first_ = next(entry);
    } else {
      set_next(*before, next(entry));
    }
    set_next(entry, nullptr);
    --size_;
  }

  timer_entry* first_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace foliot::runtime::detail
