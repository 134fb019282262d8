// Makes room in all parts of a queue, or in none: memory is got first, from all parts, and put to use when nothing can
// fail any more.
//
//   auto room = queue.room_for(count);   // throws std::bad_alloc; destroyed, it gives the memory back
//   queue.take(std::move(room));         // never fails
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

#include <foliot/core/timer_node.hpp>
#include <foliot/queue/detail/place.hpp>

namespace foliot::detail {

/// No more timers can be pending: a place has 48 bits for an address, and the nodes alone would fill as much. What
/// queues compute from a count up to this does not overflow.
inline constexpr std::size_t most_timers = (std::size_t{1} << place::position_bits) / sizeof(timer_node);

/// Throws std::bad_alloc for a count of timers that there cannot be.
inline void refuse_impossible(std::size_t count) {
  if (count > most_timers) throw std::bad_alloc();
}

/// Throws std::bad_alloc where the system refuses so much at once, and touches nothing of it. Before many small pieces
/// of the same memory are got: these it would grant one after the other, and kill the process in the end; and what was
/// granted before one is refused does not always leave the process again.
inline void ask_for(std::size_t bytes) { ::operator delete(::operator new(bytes)); }

/// An array with room for `capacity` entries, to take the place of `array`; none, where that has room enough. Throws
/// std::bad_alloc.
template <class T>
[[nodiscard]] std::vector<T> larger_array(const std::vector<T>& array, std::size_t capacity) {
  std::vector<T> larger;
  if (capacity > array.capacity()) larger.reserve(capacity);
  return larger;
}

/// Moves what is in `array` to the larger one, unless it has grown as far meanwhile.
template <class T>
void move_to_larger_array(std::vector<T>& array, std::vector<T>&& larger) noexcept {
  if (larger.capacity() <= array.capacity()) return;
  larger.assign(array.begin(), array.end());
  array.swap(larger);
}

}  // namespace foliot::detail
