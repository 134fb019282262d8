// Memory for coroutines, the states of tasks, contexts and callbacks: pieces of a few sizes. Each thread keeps pieces
// that were given back for its next allocations: tasks come and go a thousand at a time, and a general allocator keeps
// only a handful of pieces of a size for each thread.
//
// Thread safety: all functions from any thread. A piece may be given back by another thread than the one that took it;
// that thread then keeps it. A thread keeps at most 1 MiB of each size, and frees them when it ends. Under sanitizers,
// which must see each piece being freed, threads keep none.
// Complexity: O(1).
#pragma once

#include <foliot/core/language.hpp>

#include <cstddef>
#include <type_traits>

#include <foliot/core/export.h>

namespace foliot::runtime::detail {

/// Whether an object of type T may be in a coroutine's frame, or in a piece; true if T is a reference or void. Pieces
/// have the alignment that operator new gives, and neither g++ 12 nor clang 19 aligns objects in a frame more strictly.
template <class T>
inline constexpr bool fits_in_frame =
    alignof(std::conditional_t<std::is_object_v<T>, T, char>) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__;

/// Memory for `size` bytes. Throws std::bad_alloc.
[[nodiscard]] FOLIOT_EXPORT void* take_piece(std::size_t size);
/// Gives a piece back. `size` must be the size that it was taken with.
FOLIOT_EXPORT void give_back(void* piece, std::size_t size) noexcept;

/// The base of classes whose objects are allocated in pieces.
class pooled {
 public:
  static void* operator new(std::size_t size) { return take_piece(size); }
  static void operator delete(void* piece, std::size_t size) noexcept { give_back(piece, size); }

 protected:
  pooled() noexcept = default;
  ~pooled() = default;
};

}  // namespace foliot::runtime::detail
