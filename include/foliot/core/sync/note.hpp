// A one-shot wake-up: one thread sleeps on a note, at most until a deadline, and any thread may wake it.
//
// A wake-up is not lost: if it comes before the sleep, the sleep returns at once. `clear` makes the note ready for the
// next sleep; the sleeping thread must call it before it announces that it is going to sleep. This is the note of Go's
// runtime (lock_futex.go), except that a note may be woken twice.
#pragma once

#include <cstdint>

#include <foliot/core/export.h>
#include <foliot/core/instant.hpp>
#include <foliot/core/seam/sync.hpp>

namespace foliot::inline core {

/// A one-shot wake-up for one sleeping thread.
class FOLIOT_EXPORT note {
 public:
  note() noexcept = default;
  note(const note&) = delete;
  note& operator=(const note&) = delete;

  /// Discards an earlier wake-up. Called by the sleeping thread only.
  void clear() noexcept;
  /// Ends the sleep on this note, now or as soon as it begins. The sleeping thread then sees everything that the caller
  /// did before. From any thread.
  void wake() noexcept;
  /// Sleeps until woken, or until the monotonic clock shows `deadline` (never: until woken). Returns whether the note
  /// was woken; false means that the deadline has come. Signals do not end the sleep.
  bool sleep_until(instant deadline) noexcept;
  /// Whether the note was woken since the last clear(). If so, the caller sees everything that the waking thread did
  /// before. Called by the sleeping thread only.
  // acquire: pairs with the exchange in wake().
  [[nodiscard]] bool woken() const noexcept { return key_.load(seam::acquire) == called; }

 private:
  static constexpr std::uint32_t quiet = 0;
  static constexpr std::uint32_t called = 1;

  // quiet -> called by wake(), called -> quiet by clear(). Publishes what the waking thread did before.
  seam::atomic<std::uint32_t> key_{quiet};
};

}  // namespace foliot::inline core
