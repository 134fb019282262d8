// Reserves memory in all parts of a queue, or in none. The first step allocates the memory for every part and may
// throw; the second step hands it to the parts and cannot fail.
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

/// The most timers that can be pending: their nodes alone would fill a 48-bit address space. No size that a queue
/// computes from a count up to this overflows.
inline constexpr std::size_t most_timers = (std::size_t{1} << place::position_bits) / sizeof(timer_node);

/// Throws std::bad_alloc if `count` exceeds most_timers.
inline void refuse_impossible(std::size_t count) {
  if (count > most_timers) throw std::bad_alloc();
}

/// Allocates `bytes` in one piece and frees them, without touching them; throws std::bad_alloc if the system refuses.
/// Called before a caller allocates as much in many small blocks. The system would grant those one by one until it
/// kills the process, and the allocator does not always return them to the system when a later one fails.
inline void ask_for(std::size_t bytes) { ::operator delete(::operator new(bytes)); }

/// An empty array with room for `capacity` entries, which will replace `array`; without memory of its own, if `array`
/// has that capacity already. Throws std::bad_alloc.
template <class T>
[[nodiscard]] std::vector<T> larger_array(const std::vector<T>& array, std::size_t capacity) {
  std::vector<T> larger;
  if (capacity > array.capacity()) larger.reserve(capacity);
  return larger;
}

/// Copies the entries of `array` to `larger` and swaps the two, unless `array` has grown to that capacity meanwhile.
template <class T>
void move_to_larger_array(std::vector<T>& array, std::vector<T>&& larger) noexcept {
  if (larger.capacity() <= array.capacity()) return;
  larger.assign(array.begin(), array.end());
  array.swap(larger);
}

}  // namespace foliot::detail
