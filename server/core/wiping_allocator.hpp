// An allocator whose memory is wiped before it is given back: for buffers that may hold a secret, also where they grow
// and leave copies behind.
//
//   std::vector<char, wiping_allocator<char>> buffer;
//
// It wipes what is given back, not what a container merely forgets: clear() leaves the bytes where they are.
//
// Thread safety: as std::allocator.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <string>

namespace foliot::program {

template <class T>
class wiping_allocator {
 public:
  using value_type = T;

  wiping_allocator() noexcept = default;
  template <class Other>
  wiping_allocator(const wiping_allocator<Other>&) noexcept {}  // NOLINT(google-explicit-constructor): as others'

  [[nodiscard]] T* allocate(std::size_t count) { return std::allocator<T>().allocate(count); }
  void deallocate(T* at, std::size_t count) noexcept {
    ::explicit_bzero(static_cast<void*>(at), count * sizeof(T));
    std::allocator<T>().deallocate(at, count);
  }

  friend bool operator==(const wiping_allocator&, const wiping_allocator&) noexcept = default;
};

/// A text that leaves nothing behind when it grows or ends.
using wiped_string = std::basic_string<char, std::char_traits<char>, wiping_allocator<char>>;

/// Wipes the bytes of a text, whose length stays as it is.
template <class Text>
void wipe(Text& text) noexcept {
  ::explicit_bzero(text.data(), text.size());
}

}  // namespace foliot::program
