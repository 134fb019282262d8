// Threads that wait, under a mutex, for something that another thread will do.
//
// `wait` leaves the mutex, sleeps until a `notify_all` that comes after it let go, and takes the mutex
// again; it may also return for no reason, so it stands in a loop over what is waited for. A notify
// with nobody waiting costs one load.
#pragma once

#include <cstdint>

#include <foliot/core/annotations.hpp>
#include <foliot/core/export.h>
#include <foliot/core/seam/sync.hpp>
#include <foliot/core/seam/system.hpp>
#include <foliot/core/sync/mutex.hpp>

namespace foliot::inline core {

class FOLIOT_EXPORT condition {
 public:
  condition() noexcept = default;
  condition(const condition&) = delete;
  condition& operator=(const condition&) = delete;

  void wait(mutex& held) noexcept FOLIOT_REQUIRES(held) { wait_until(held, instant::never()); }
  /// The same, at most until the monotonic clock shows `deadline`; who waits looks at the clock.
  void wait_until(mutex& held, instant deadline) noexcept FOLIOT_REQUIRES(held);
  /// The caller holds the mutex that the waiters wait under.
  void notify_all() noexcept;

 private:
  // Counts notifications. Written under the mutex; read by a waiter under it, then compared by the
  // kernel: a notification in between changes the word, and the wait returns at once. Relaxed, since
  // everything else is published by the mutex.
  seam::atomic<std::uint32_t> epoch_{0};
  // How many threads are inside wait(). Written and read under the mutex only.
  seam::plain<std::uint32_t> waiters_ = 0;
};

}  // namespace foliot::inline core
