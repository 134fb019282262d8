// A note: one thread sleeps on it, at most until a deadline, and any thread may wake it, once.
//
// The wake-up sticks: one that comes before the sleep ends that sleep at once, so nothing is lost
// between deciding to sleep and sleeping. `clear` makes the note new; only the sleeper calls it, and
// before it tells anybody that it is going to sleep. This is the runtime note of Go (lock_futex.go)
// with one difference: waking twice is allowed.
#pragma once

#include <cstdint>

#include <foliot/core/export.h>
#include <foliot/core/instant.hpp>
#include <foliot/core/seam/sync.hpp>

namespace foliot::inline core {

class FOLIOT_EXPORT note {
 public:
  note() noexcept = default;
  note(const note&) = delete;
  note& operator=(const note&) = delete;

  /// Forgets an earlier wake-up.
  void clear() noexcept;
  /// Ends the sleep on this note, now or as soon as it begins. Everything the caller did before is
  /// seen by the sleeper after it.
  void wake() noexcept;
  /// Sleeps until woken, or until the monotonic clock shows `deadline` (never: until woken). Returns
  /// whether it was woken; false means that the deadline has come. Interruptions are slept through.
  bool sleep_until(instant deadline) noexcept;
  /// Whether it was woken since it was cleared. The sleeper's: what the waker did before is then seen.
  // acquire: pairs with the exchange in wake().
  [[nodiscard]] bool woken() const noexcept { return key_.load(seam::acquire) == called; }

 private:
  static constexpr std::uint32_t quiet = 0;
  static constexpr std::uint32_t called = 1;

  // quiet -> called by wake(), called -> quiet by clear(). Publishes what the waker did before.
  seam::atomic<std::uint32_t> key_{quiet};
};

}  // namespace foliot::inline core
