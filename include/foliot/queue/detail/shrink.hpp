// Returns an array's memory after a peak: while entries are removed, the capacity is kept at no more than four times
// the size, 1024 entries, or the owner's reserve, whichever is most. Amortised O(1). Where there is no memory for the
// smaller array, the array stays as it is.
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
    // The array stays as it is, which is correct, too.
  }
}

/// To be called after a removal. `reserved` is the capacity that reserve() asked for.
template <class T>
void shrink(std::vector<T>& array, std::size_t reserved) noexcept {
  constexpr std::size_t smallest = 1024;  // a smaller array is not shrunk
  const std::size_t capacity = array.capacity();
  if (array.size() > capacity / 4 || capacity <= std::max(smallest, reserved)) [[likely]]
    return;
  move_to_smaller_array(array, std::max(capacity / 2, reserved));
}

}  // namespace foliot::detail
