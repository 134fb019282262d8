#include <foliot/core/sync/condition.hpp>

#include <limits>

namespace foliot::inline core {

void condition::wait_until(mutex& held, instant deadline) noexcept {
  const std::uint32_t epoch = epoch_.load(seam::relaxed);
  ++waiters_;
  held.unlock();
  static_cast<void>(seam::futex_wait(epoch_, epoch, deadline));
  held.lock();
  --waiters_;
}

void condition::notify_all() noexcept {
  if (waiters_ == 0) return;
  epoch_.fetch_add(1, seam::relaxed);
  seam::futex_wake(epoch_, std::numeric_limits<int>::max());
}

}  // namespace foliot::inline core
