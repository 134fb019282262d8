#include <foliot/core/sync/mutex.hpp>

namespace foliot::inline core {

std::array<seam::atomic<std::uint32_t>, seam::lock_table_size> mutex::sleepers_{};

void mutex::lock_slowly() noexcept {
  for (int spin = 0; spin < seam::spins_before_sleep; ++spin) {
    seam::spin_pause();
    std::uint32_t expected = free;
    // Looked at before it is tried, so that spinners share the line instead of fighting for it.
    if (word_.load(seam::relaxed) == free &&
        word_.compare_exchange_strong(expected, held, seam::acquire, seam::relaxed)) {
      return;
    }
  }
  seam::atomic<std::uint32_t>& sleeping = sleepers();
  // relaxed: the barrier orders it before the looks at the word.
  sleeping.fetch_add(1, seam::relaxed);
  seam::heavy_barrier();
  // acquire: pairs with the release in release(). The futex compares once more, so that an unlock between the
  // exchange and the sleep ends it at once.
  while (word_.exchange(held, seam::acquire) != free) {
    static_cast<void>(seam::futex_wait(word_, held, instant::never()));
  }
  // relaxed: a count that is too high for a while costs a wake-up for nothing.
  sleeping.fetch_sub(1, seam::relaxed);
}

}  // namespace foliot::inline core
