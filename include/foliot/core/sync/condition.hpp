// A condition variable: threads wait, under a mutex, until another thread notifies them.
//
// Thread safety: a caller of any member must hold the mutex. All waits on one condition must use the same mutex.
#pragma once

#include <cstdint>

#include <foliot/core/annotations.hpp>
#include <foliot/core/export.h>
#include <foliot/core/seam/sync.hpp>
#include <foliot/core/seam/system.hpp>
#include <foliot/core/sync/mutex.hpp>

namespace foliot::inline core {

/// A condition variable of foliot's mutex. No thread may wait when it is destroyed.
class FOLIOT_EXPORT condition {
 public:
  condition() noexcept = default;
  condition(const condition&) = delete;
  condition& operator=(const condition&) = delete;

  /// Unlocks the mutex, sleeps until a notify_all() that comes after the unlock, and locks the mutex again. May also
  /// return spuriously, so the caller must test in a loop whether what it waits for has happened.
  void wait(mutex& held) noexcept FOLIOT_REQUIRES(held) { wait_until(held, instant::never()); }
  /// As wait(), at most until the monotonic clock shows `deadline`. There is no result: a caller that must know whether
  /// the deadline has passed reads the clock.
  void wait_until(mutex& held, instant deadline) noexcept FOLIOT_REQUIRES(held);
  /// Wakes all waiting threads. The caller must hold the mutex that they wait under. Costs one load if none waits.
  void notify_all() noexcept;

 private:
  // Counts notifications. Written under the mutex. A waiting thread reads it under the mutex, and the kernel compares
  // it again before the sleep, so that a notification in between makes the wait return at once. Relaxed: the mutex
  // publishes everything else.
  seam::atomic<std::uint32_t> epoch_{0};
  // How many threads are inside wait(), of the at most 2^22 that Linux allows. Read and written under the mutex.
  seam::plain<std::uint32_t> waiters_ = 0;
};

}  // namespace foliot::inline core
