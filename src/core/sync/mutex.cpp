#include <foliot/core/sync/mutex.hpp>

namespace foliot::inline core {

std::array<seam::atomic<std::uint32_t>, seam::lock_table_size> mutex::sleepers_{};

constinit const bool mutex::checks_ranks_ = FOLIOT_ASSERTIONS != 0;

void mutex::lock_slowly() noexcept {
  if (checks_ranks_) {
    std::uint32_t& ranks = seam::this_thread().held_ranks;
    FOLIOT_ASSERT(ranks < bit(), "locks must be taken in the order of lock_rank");
    ranks |= bit();
    if (try_acquire()) return;
  }
  contend();
}

void mutex::unlock_checked() noexcept {
  seam::this_thread().held_ranks &= ~bit();
  release();
}

void mutex::contend() noexcept {
  for (int spin = 0; spin < seam::spins_before_sleep; ++spin) {
    seam::spin_pause();
    // The load comes before the exchange, so that spinning threads share the cache line instead of contending for it.
    if (word_.load(seam::relaxed) == free && try_acquire()) return;
  }
  seam::atomic<std::uint32_t>& sleeping = sleepers();
  // relaxed: the barrier orders it before the loads of the word.
  sleeping.fetch_add(1, seam::relaxed);
  seam::heavy_barrier();
  // acquire: pairs with the release in release(). The futex compares the word again, so that an unlock between the
  // exchange and the sleep makes futex_wait return at once.
  while (word_.exchange(held, seam::acquire) != free) {
    static_cast<void>(seam::futex_wait(word_, held, instant::never()));
  }
  // relaxed: as long as another thread sees the old, too high count, its unlocks make one needless wake-up each.
  sleeping.fetch_sub(1, seam::relaxed);
}

}  // namespace foliot::inline core
