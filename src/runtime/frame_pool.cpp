#include <foliot/runtime/detail/frame_pool.hpp>

#include <array>
#include <cstddef>
#include <new>

#include <foliot/core/seam/sync.hpp>

namespace foliot::runtime::detail {

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(FOLIOT_THREAD_SANITIZER) || \
    defined(FOLIOT_ADDRESS_SANITIZER) || defined(FOLIOT_SEAM_SYNC)
constexpr bool keeps = false;
#else
constexpr bool keeps = true;
#endif

constexpr std::size_t unit = 32;
constexpr std::size_t largest = 1024;
constexpr std::size_t most_kept = 1024 * 1024;  // in bytes, for each size

/// The pieces that one thread keeps.
class shelf {
 public:
  ~shelf() {
    for (kept_pieces& each : sizes_) {
      while (each.first != nullptr) ::operator delete(each.take());
    }
  }

  [[nodiscard]] void* take(std::size_t index) noexcept {
    return sizes_[index].first == nullptr ? nullptr : sizes_[index].take();
  }
  [[nodiscard]] bool keep(void* piece, std::size_t index) noexcept {
    kept_pieces& all = sizes_[index];
    if (all.count * (index + 1) * unit >= most_kept) return false;
    all.first = new (piece) free_piece{all.first};
    ++all.count;
    return true;
  }

 private:
  struct free_piece {
    free_piece* next;
  };
  struct kept_pieces {
    free_piece* first = nullptr;
    std::size_t count = 0;

    [[nodiscard]] void* take() noexcept {
      free_piece* const taken = first;
      first = taken->next;
      --count;
      return taken;
    }
  };

  std::array<kept_pieces, largest / unit> sizes_;
};

// A coroutine may be destroyed at the end of the thread, after the shelf.
thread_local constinit bool ended = false;

struct own_shelf : shelf {
  ~own_shelf() { ended = true; }
};

[[gnu::noinline]] shelf& this_thread_shelf() noexcept {
  thread_local own_shelf mine;
  return mine;
}

constexpr std::size_t index_of(std::size_t size) noexcept { return (size - 1) / unit; }

}  // namespace

void* take_piece(std::size_t size) {
  if (!keeps || size > largest) return ::operator new(size);
  const std::size_t index = index_of(size);
  if (!ended) {
    if (void* const kept = this_thread_shelf().take(index)) return kept;
  }
  return ::operator new((index + 1) * unit);
}

void give_back(void* piece, std::size_t size) noexcept {
  if (keeps && size <= largest && !ended && this_thread_shelf().keep(piece, index_of(size))) return;
  ::operator delete(piece);
}

}  // namespace foliot::runtime::detail
