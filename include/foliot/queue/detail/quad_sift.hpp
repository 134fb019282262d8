// Functions that keep an array in the order of a 4-ary min-heap: entry i has its children at 4i+1 … 4i+4, and none
// comes before its parent.
//
// Four children instead of two: half the levels, and the children of an entry are one or two cache lines.
//
// `Order` has two functions, the order of the entries and one that the heap calls for each entry that it stores:
//   static bool comes_before(const entry& a, const entry& b) noexcept;
//   static void moved(const entry& stored, std::size_t index) noexcept;   // `stored` is at `index` now
//
// Complexity: up, down and remove O(log4 n), build O(n). Thread safety: none.
//
// Source: the timer heap of Go's runtime (time.go; four children since 2013); D. B. Johnson, "Priority queues with
// update and finding minimum spanning trees" (1975), for heaps of more than two children.
#pragma once

#include <foliot/core/language.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace foliot::detail {

template <class Order>
class quad_sift {
 public:
  static constexpr std::size_t arity = 4;
  /// Precondition: index > 0.
  static constexpr std::size_t parent(std::size_t index) noexcept { return (index - 1) / arity; }

  /// Stores `entry` at `index` or at one of its ancestors, whose entries move down. The entry at `index` is
  /// overwritten.
  template <class Entry>
  static void up(std::vector<Entry>& heap, std::size_t index, Entry entry) noexcept {
    while (index > 0 && Order::comes_before(entry, heap[parent(index)])) {
      put(heap, index, heap[parent(index)]);
      index = parent(index);
    }
    put(heap, index, entry);
  }

  /// Stores `entry` at `index` or at one of its descendants, whose entries move up. The entry at `index` is
  /// overwritten.
  template <class Entry>
  static void down(std::vector<Entry>& heap, std::size_t index, Entry entry) noexcept {
    for (;;) {
      const std::size_t first = index * arity + 1;
      if (first >= heap.size()) break;
      const std::size_t end = std::min(first + arity, heap.size());
      std::size_t least = first;
      for (std::size_t child = first + 1; child < end; ++child) {
        if (Order::comes_before(heap[child], heap[least])) least = child;
      }
      if (!Order::comes_before(heap[least], entry)) break;
      put(heap, index, heap[least]);
      index = least;
    }
    put(heap, index, entry);
  }

  /// Removes the entry at `index`. The last entry replaces it, and moves up or down to where it belongs.
  template <class Entry>
  static void remove(std::vector<Entry>& heap, std::size_t index) noexcept {
    const Entry last = heap.back();
    heap.pop_back();
    if (index == heap.size()) return;
    if (index > 0 && Order::comes_before(last, heap[parent(index)])) {
      up(heap, index, last);
    } else {
      down(heap, index, last);
    }
  }

  /// Makes a heap of entries in any order.
  template <class Entry>
  static void build(std::vector<Entry>& heap) noexcept {
    for (std::size_t i = heap.size(); i-- > 0;) down(heap, i, heap[i]);
  }

  /// Whether the entry at `index` does not come before its parent.
  template <class Entry>
  [[nodiscard]] static bool is_ordered(const std::vector<Entry>& heap, std::size_t index) noexcept {
    return index == 0 || !Order::comes_before(heap[index], heap[parent(index)]);
  }

 private:
  template <class Entry>
  static void put(std::vector<Entry>& heap, std::size_t index, Entry entry) noexcept {
    heap[index] = entry;
    Order::moved(entry, index);
  }
};

}  // namespace foliot::detail
