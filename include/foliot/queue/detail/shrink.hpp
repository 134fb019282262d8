// Gives an array's memory back after a peak: as things are taken out, it becomes no more than four times
// what it holds, a thousand entries, or what the owner keeps in reserve. Amortised O(1), and where there
// is no memory to move to, it just stays.
#pragma once

#include <foliot/core/language.hpp>

#include <algorithm>
#include <cstddef>
#include <new>
#include <vector>

namespace foliot::detail {

template <class T>
[[gnu::noinline]] void move_to_smaller_array(std::vector<T>& array, std::size_t capacity) noexcept {
  try {
    std::vector<T> smaller;
    smaller.reserve(capacity);
    smaller.assign(array.begin(), array.end());
    array.swap(smaller);
  } catch (const std::bad_alloc&) {
    // Nothing depends on it.
  }
}

/// To be called when something was taken out; `reserved` is what reserve() asked for.
template <class T>
void shrink(std::vector<T>& array, std::size_t reserved) noexcept {
  constexpr std::size_t smallest = 1024;  // not worth giving back
  const std::size_t capacity = array.capacity();
  if (array.size() > capacity / 4 || capacity <= std::max(smallest, reserved)) [[likely]]
    return;
  move_to_smaller_array(array, std::max(capacity / 2, reserved));
}

}  // namespace foliot::detail
