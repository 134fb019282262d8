// Memory for coroutines, the states of tasks, contexts and callbacks: pieces of a few sizes, which each thread keeps
// some of for the next. Tasks come and go a thousand at a time; an allocator for everything keeps no more than a
// handful at hand.
//
// Thread safety: all from any thread; a piece may be given back by another thread than the one it was taken by, which
// then keeps it. A thread keeps at most most_kept bytes of each size, and gives them back when it ends. Under
// sanitizers, which must see what has been freed, it keeps nothing.
// Complexity: O(1).
#pragma once

#include <foliot/core/language.hpp>

#include <cstddef>
#include <type_traits>

#include <foliot/core/export.h>

namespace foliot::runtime::detail {

/// Whether an object of that type may lie in a coroutine's frame, or in a piece; of a reference or void always. Pieces
/// are aligned as what operator new gives, and neither g++ 12 nor clang 19 aligns anything in a frame more strictly.
template <class T>
inline constexpr bool fits_in_frame =
    alignof(std::conditional_t<std::is_object_v<T>, T, char>) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__;

/// Throws std::bad_alloc.
[[nodiscard]] FOLIOT_EXPORT void* take_piece(std::size_t size);
/// `size` is what it was taken with.
FOLIOT_EXPORT void give_back(void* piece, std::size_t size) noexcept;

/// What derives from this lies in such pieces.
class pooled {
 public:
  static void* operator new(std::size_t size) { return take_piece(size); }
  static void operator delete(void* piece, std::size_t size) noexcept { give_back(piece, size); }

 protected:
  pooled() noexcept = default;
  ~pooled() = default;
};

}  // namespace foliot::runtime::detail
