// How a processor's worker sleeps, and how it is woken: one word decides.
//
//   awake ──begin(way)──► asleep in that way ──notify──► notified ──end──► awake
//     └───────────────notify────────────────────────────────┘
//
// A wake-up that comes before the sleep prevents the sleep. A worker sleeps on the word itself (futex), or in the
// poller; the exchange in notify() that wakes it also returns which, so no wake-up goes to a sleep that has ended or
// not begun. (H1 of Go's timers: a wake-up between the worker's last look for work and its sleep.)
//
// Thread safety: notify() from any thread; every other function by the worker.
#pragma once

#include <cstdint>

#include <foliot/core/instant.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/core/seam/system.hpp>

namespace foliot::runtime::detail {

class parker {
 public:
  enum class way : std::uint32_t { on_the_word = 1, in_the_poller = 2 };

  /// Begins a sleep. Returns false if the worker has been notified, and must not sleep; the notification is consumed.
  [[nodiscard]] bool begin(way how) noexcept {
    std::uint32_t seen = awake;
    // release: a thread that finds the worker asleep sees what it published before. relaxed on failure: see below.
    if (word_.compare_exchange_strong(seen, static_cast<std::uint32_t>(how), seam::release, seam::relaxed)) return true;
    // acquire: pairs with the release in notify(). An exchange, since it may be notified once more before it.
    static_cast<void>(word_.exchange(awake, seam::acquire));
    return false;
  }
  /// After begin(on_the_word): sleeps until notified, or until the monotonic clock shows the deadline.
  void sleep_until(instant deadline) noexcept {
    constexpr auto asleep = static_cast<std::uint32_t>(way::on_the_word);
    while (word_.load(seam::relaxed) == asleep) {  // end() pairs with notify()
      if (seam::futex_wait(word_, asleep, deadline) == seam::wait_status::timed_out) return;
    }
  }
  /// Ends a sleep, or takes the place of one. Returns whether the worker was notified.
  // acquire: pairs with the release in notify(): what the waker did before is seen.
  bool end() noexcept { return word_.exchange(awake, seam::acquire) == notified; }

  enum class must : std::uint8_t { nothing, break_the_poll };
  /// Ends the present sleep, or else the next one. If this returns break_the_poll, the caller must break the poller's
  /// wait.
  [[nodiscard]] must notify() noexcept {
    // release: pairs with end() and begin(). acquire: what the worker published before it slept is seen.
    const std::uint32_t was = word_.exchange(notified, seam::acq_rel);
    if (was == static_cast<std::uint32_t>(way::on_the_word)) seam::futex_wake(word_, 1);
    return was == static_cast<std::uint32_t>(way::in_the_poller) ? must::break_the_poll : must::nothing;
  }

 private:
  static constexpr std::uint32_t awake = 0;
  static constexpr std::uint32_t notified = 3;

  // awake -> asleep -> awake by the worker; any state -> notified by any thread.
  seam::atomic<std::uint32_t> word_{awake};
};

}  // namespace foliot::runtime::detail
