#include <foliot/core/sync/mutex.hpp>

namespace foliot::inline core {

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
  // From here on the word says `contended` whenever this thread gets it: it cannot know whether it was
  // the last sleeper, and one wake-up too many is better than one too few.
  // acquire: pairs with the release in unlock().
  while (word_.exchange(contended, seam::acquire) != free) {
    static_cast<void>(seam::futex_wait(word_, contended, instant::never()));
  }
}

}  // namespace foliot::inline core
