#include <foliot/core/sync/note.hpp>

#include <foliot/core/seam/system.hpp>

namespace foliot::inline core {

// relaxed: only the sleeping thread clears, and it publishes the cleared note by the lock under which it announces that
// it is going to sleep.
void note::clear() noexcept { key_.store(quiet, seam::relaxed); }

void note::wake() noexcept {
  // release: pairs with the acquire loads in sleep_until(): the sleeping thread sees what this one did before.
  if (key_.exchange(called, seam::release) == quiet) seam::futex_wake(key_, 1);
}

bool note::sleep_until(instant deadline) noexcept {
  // acquire: pairs with the exchange in wake(). The key is checked after every return of the wait, which signals and
  // spurious wake-ups end as well; and once more after a timeout, because a wake-up may have come together with it.
  while (key_.load(seam::acquire) == quiet) {
    if (seam::futex_wait(key_, quiet, deadline) == seam::wait_status::timed_out) {
      return key_.load(seam::acquire) == called;
    }
  }
  return true;
}

}  // namespace foliot::inline core
