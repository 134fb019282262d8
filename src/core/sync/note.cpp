#include <foliot/core/sync/note.hpp>

#include <foliot/core/seam/system.hpp>

namespace foliot::inline core {

// relaxed: only the sleeper clears, and it publishes the cleared note through the lock under which it
// says that it is going to sleep.
void note::clear() noexcept { key_.store(quiet, seam::relaxed); }

void note::wake() noexcept {
  // release: pairs with the acquire loads in sleep_until(), so that the sleeper sees why it was woken.
  if (key_.exchange(called, seam::release) == quiet) seam::futex_wake(key_, 1);
}

bool note::sleep_until(instant deadline) noexcept {
  // acquire: pairs with the exchange in wake(). Checked again after every return of the wait: an
  // interruption, a wake-up for no reason and the deadline itself all end here, and a wake-up that
  // came together with the deadline still counts as one.
  while (key_.load(seam::acquire) == quiet) {
    if (seam::futex_wait(key_, quiet, deadline) == seam::wait_status::timed_out) {
      return key_.load(seam::acquire) == called;
    }
  }
  return true;
}

}  // namespace foliot::inline core
